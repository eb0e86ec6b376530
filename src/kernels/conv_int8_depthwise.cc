// Depthwise 8-bit integer convolution: which taps of a pixel are inside the input.
#include "kernels/conv_int8_depthwise.h"

#include <cstring>

#include "base/cpu_info.h"
#include "kernels/conv_geometry.h"
#include "kernels/conv_int8_depthwise_lines.h"

namespace trunnion::kernels {

void conv_int8_depthwise(const ConvShape& s, const ConvInt8Args& args, int64_t line_begin, int64_t line_end,
                         void* scratch) {
  const Int8DepthwiseTable& table = int8_depthwise_table();
  const TapLines lines = tap_lines(s, 0);
  int64_t* x_offset = static_cast<int64_t*>(scratch);
  int64_t* w_offset = x_offset + conv_taps(s);
  Int8DepthwisePixel g;
  g.x_signed = args.x_signed;
  g.w = static_cast<const int16_t*>(args.packed);
  g.x_offset = x_offset;
  g.w_offset = w_offset;
  g.channels = s.cout;
  g.x_zero = args.x_zero;
  g.w_zero = args.w_zero;
  g.w_zero_per_channel = args.w_zero_per_channel;
  const auto inside = [](const TapLine& l, int64_t k, int64_t j) {
    const int64_t at = l.first(k) + j * l.advance();
    return at >= 0 && at < l.in;
  };
  for (int64_t line = line_begin; line < line_end; ++line) {
    const int64_t batch = line / s.out[1] / s.out[0], jz = line / s.out[1] % s.out[0], jy = line % s.out[1];
    int64_t known = -1;  // the pixel that the offsets were made for
    for (int64_t j = 0; j < s.out[2]; ++j) {
      const bool interior = inside(lines.x, 0, j) && inside(lines.x, s.kernel[2] - 1, j);
      if (known < 0 || !interior) {
        g.taps = 0;
        for (int64_t z = 0; z < s.kernel[0]; ++z) {
          for (int64_t y = 0; y < s.kernel[1]; ++y) {
            if (!inside(lines.z, z, jz) || !inside(lines.y, y, jy)) continue;
            for (int64_t x = 0; x < s.kernel[2]; ++x) {
              if (!inside(lines.x, x, j)) continue;
              const int64_t iz = lines.z.first(z) + jz * lines.z.advance(),
                            iy = lines.y.first(y) + jy * lines.y.advance();
              x_offset[g.taps] =
                  (((batch * s.in[0] + iz) * s.in[1] + iy) * s.in[2] + lines.x.first(x)) * args.x_pixel_stride;
              w_offset[g.taps] = ((z * s.kernel[1] + y) * s.kernel[2] + x) * s.cout;
              ++g.taps;
            }
          }
        }
        known = interior ? j : -1;
      }
      g.x = static_cast<const uint8_t*>(args.x) + j * lines.x.advance() * args.x_pixel_stride;
      g.y = args.y + (line * s.out[2] + j) * args.y_pixel_stride;
      table.pixel(g);
    }
  }
}

namespace {
int64_t groups_of(const ConvShape& s) { return conv_ceil_div(conv_taps(s), 4); }
int64_t whole_lines(int64_t bytes) { return conv_round_up(bytes, 64); }
}  // namespace

bool int8_depthwise_by_four() {
#if defined(__x86_64__)
  return active_avx512_vnni();
#else
  return false;
#endif
}

int64_t int8_depthwise_packed_size(const ConvShape& s) {
  return int8_depthwise_pack_units(s) * int8_depthwise_block_bytes(groups_of(s));
}

int64_t int8_depthwise_pack_units(const ConvShape& s) { return conv_ceil_div(s.cout, 64); }

// Pointers and steps of the taps, and a pixel of zero points.
int64_t int8_depthwise_scratch_size(const ConvShape& s) { return whole_lines(conv_taps(s) * 16) + whole_lines(s.cout); }

void int8_depthwise_pack(const ConvShape& s, const uint8_t* weights, bool w_signed, int64_t unit, void* packed) {
  const int64_t groups = groups_of(s), taps = conv_taps(s);
  uint8_t* out = static_cast<uint8_t*>(packed) + unit * int8_depthwise_block_bytes(groups);
  std::memset(out, 0, static_cast<size_t>(int8_depthwise_block_bytes(groups)));
  for (int64_t i = 0; i < 64 && unit * 64 + i < s.cout; ++i) {
    const int64_t place = i % 16 / 4 * 16 + i / 16 * 4 + i % 4;
    int32_t sum = 0;
    for (int64_t t = 0; t < taps; ++t) {
      const uint8_t byte = weights[(unit * 64 + i) * taps + t];
      const int8_t w = static_cast<int8_t>(w_signed ? byte : byte ^ 0x80);
      out[t / 4 * 256 + place * 4 + t % 4] = static_cast<uint8_t>(w);
      sum += w;
    }
    std::memcpy(out + groups * 256 + place * 4, &sum, sizeof(sum));
  }
}

void conv_int8_depthwise_by_four(const ConvShape& s, const ConvInt8Args& args, int64_t line_begin, int64_t line_end,
                                 void* scratch) {
#if defined(__x86_64__)
  const TapLines lines = tap_lines(s, 0);
  const int64_t taps = conv_taps(s);
  const unsigned char** at = static_cast<const unsigned char**>(scratch);
  int64_t* steps = static_cast<int64_t*>(scratch) + taps;
  unsigned char* outside = static_cast<unsigned char*>(scratch) + whole_lines(taps * 16);
  std::memset(outside, args.x_zero & 255, static_cast<size_t>(s.cout));
  Int8DepthwiseRun g;
  g.taps = at;
  g.steps = steps;
  g.x_signed = args.x_signed;
  g.packed = static_cast<const unsigned char*>(args.packed);
  g.tap_count = taps;
  g.channels = s.cout;
  g.x_zero = args.x_zero + (args.x_signed ? 128 : 0);
  g.w_shift = args.w_signed ? 0 : -128;
  const int32_t none = 0;
  bool zeros = !args.w_zero && g.w_shift != 0;
  for (int64_t c = 0; args.w_zero && c < (args.w_zero_per_channel ? s.cout : 1); ++c)
    zeros |= args.w_zero[c] + g.w_shift != 0;
  if (zeros) g.w_zero = args.w_zero ? args.w_zero : &none;
  g.w_zero_per_channel = args.w_zero && args.w_zero_per_channel;
  g.y_step = args.y_pixel_stride;
  const auto inside = [](const TapLine& l, int64_t k, int64_t j) {
    const int64_t i = l.first(k) + j * l.advance();
    return i >= 0 && i < l.in;
  };
  for (int64_t line = line_begin; line < line_end; ++line) {
    const int64_t batch = line / s.out[1] / s.out[0], jz = line / s.out[1] % s.out[0], jy = line % s.out[1];
    for (int64_t j = 0; j < s.out[2];) {
      const auto whole = [&](int64_t i) { return inside(lines.x, 0, i) && inside(lines.x, s.kernel[2] - 1, i); };
      g.pixels = 1;
      if (whole(j)) {
        while (j + g.pixels < s.out[2] && whole(j + g.pixels)) ++g.pixels;
      }
      int64_t t = 0;
      for (int64_t z = 0; z < s.kernel[0]; ++z) {
        for (int64_t y = 0; y < s.kernel[1]; ++y) {
          const bool row = inside(lines.z, z, jz) && inside(lines.y, y, jy);
          const int64_t iz = lines.z.first(z) + jz * lines.z.advance(), iy = lines.y.first(y) + jy * lines.y.advance();
          for (int64_t x = 0; x < s.kernel[2]; ++x, ++t) {
            at[t] = outside;
            steps[t] = 0;
            if (!row || !inside(lines.x, x, j)) continue;
            const int64_t ix = lines.x.first(x) + j * lines.x.advance();
            at[t] = static_cast<const unsigned char*>(args.x) +
                    (((batch * s.in[0] + iz) * s.in[1] + iy) * s.in[2] + ix) * args.x_pixel_stride;
            steps[t] = lines.x.advance() * args.x_pixel_stride;
          }
        }
      }
      g.same_steps = true;
      for (t = 1; t < taps; ++t) g.same_steps &= steps[t] == steps[0];
      g.y = args.y + (line * s.out[2] + j) * args.y_pixel_stride;
      avx512vnni::kInt8DepthwiseRun(g);
      j += g.pixels;
    }
  }
#else
  (void)s, (void)args, (void)line_begin, (void)line_end, (void)scratch;
#endif
}

}  // namespace trunnion::kernels
