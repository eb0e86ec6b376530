// Depthwise 8-bit integer convolution: which taps of a pixel are inside the input.
#include "kernels/conv_int8_depthwise.h"

#include "kernels/conv_geometry.h"

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

}  // namespace trunnion::kernels
