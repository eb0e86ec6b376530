// Turns lines of output pixels into pointers to what their taps read; for elements of any type.
#pragma once
#include "kernels/conv_geometry.h"

namespace trunnion::kernels {

// The first input index of every tap that a phase has in one dimension.
struct TapFirsts {
  const int64_t* at;
  int64_t count;
};

inline TapFirsts list_firsts(const TapLine& line, int64_t* out) {
  int64_t n = 0;
  for (int64_t k = 0; k < line.kernel; ++k) {
    if (line.has(k)) out[n++] = line.first(k);
  }
  return {out, n};
}

// A line is one row of output pixels of a phase; lines count batch, z, y.
template <class T>
struct TapWalk {
  // firsts_memory holds kernel[0] + kernel[1] + kernel[2] numbers; `outside` is what taps outside of the input read.
  TapWalk(const ConvShape& shape, int64_t phase, const T* input, int64_t stride, const T* padding,
          int64_t* firsts_memory)
      : s(shape),
        lines(tap_lines(shape, phase)),
        in(input),
        pixel_stride(stride),
        outside(padding),
        z(list_firsts(lines.z, firsts_memory)),
        y(list_firsts(lines.y, firsts_memory + s.kernel[0])),
        x(list_firsts(lines.x, firsts_memory + s.kernel[0] + s.kernel[1])) {}

  // Output pixel j of a line, in pixels from the start of the output.
  int64_t out_pixel(int64_t line, int64_t j) const {
    const int64_t ny = lines.y.outputs(), nz = lines.z.outputs();
    const int64_t oy = line % ny * lines.y.step() + lines.y.phase;
    const int64_t oz = line / ny % nz * lines.z.step() + lines.z.phase;
    return ((line / ny / nz * s.out[0] + oz) * s.out[1] + oy) * s.out[2] + j * lines.x.step() + lines.x.phase;
  }

  // The input line that tap (z, y) of an output line reads, or null where it is padding.
  const T* input_line(int64_t line, int64_t first_z, int64_t first_y) const {
    const int64_t ny = lines.y.outputs(), nz = lines.z.outputs();
    const int64_t iy = first_y + line % ny * lines.y.advance(), iz = first_z + line / ny % nz * lines.z.advance();
    if (iy < 0 || iy >= s.in[1] || iz < 0 || iz >= s.in[0]) return nullptr;
    return in + ((line / ny / nz * s.in[0] + iz) * s.in[1] + iy) * s.in[2] * pixel_stride;
  }

  // rows[tap * slots + i]: where tap of pixel j + i of a line reads, i < n.
  void point(int64_t line, int64_t j, int64_t n, int64_t slots, const T** rows) const {
    const int64_t advance = lines.x.advance(), step = advance * pixel_stride;
    for (int64_t a = 0; a < z.count; ++a) {
      for (int64_t b = 0; b < y.count; ++b) {
        const T* from = input_line(line, z.at[a], y.at[b]);
        for (int64_t c = 0; c < x.count; ++c, rows += slots) {
          int64_t i = 0;
          if (from) {
            const int64_t ix = x.at[c] + j * advance;
            for (; i < n && ix + i * advance < 0; ++i) rows[i] = outside;
            const T* p = from + (ix + i * advance) * pixel_stride;
            int64_t inside = ix < s.in[2] ? conv_ceil_div(s.in[2] - ix, advance) : 0;
            if (inside > n) inside = n;
            for (; i < inside; ++i, p += step) rows[i] = p;
          }
          for (; i < n; ++i) rows[i] = outside;
        }
      }
    }
  }

  const ConvShape& s;
  const TapLines lines;
  const T* const in;
  const int64_t pixel_stride;
  const T* const outside;
  const TapFirsts z, y, x;
};

}  // namespace trunnion::kernels
