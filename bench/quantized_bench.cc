// Arithmetic on 8 bits and on 4-bit weights, and the ways into and out of it.
#include <fmt/format.h>

#include "kernels/conv_int8.h"
#include "kernels/gemm_bits.h"
#include "kernels/gemm_int8.h"
#include "kernels/quant.h"
#include "kernels/quant_bytes.h"
#include "kernels/requantize.h"
#include "measured.h"

namespace trunnion::bench {
namespace {

using namespace kernels;

void product(int64_t m, int64_t n, int64_t k, bool a_signed) {
  const Work work{2.0 * static_cast<double>(m * n * k), static_cast<double>(m * k + k * n + 4 * m * n), true};
  add(fmt::format("gemm_{}/{}x{}x{}", a_signed ? "i8" : "u8", m, n, k), work, [=] {
    const auto a = buffer<uint8_t>(m * k), b = buffer<uint8_t>(k * n);
    const auto c = buffer<int32_t>(m * n);
    const auto packed = random_bytes(static_cast<size_t>(int8_gemm_packed_b_size(k, n)));
    const auto scratch = random_bytes(int8_gemm_scratch_size(n, k));
    int8_gemm_pack_b(b.get(), true, n, 1, k, n, 0, int8_gemm_panel_count(n), packed.get());
    return [=] {
      const int32_t zero = 7;
      Int8GemmArgs g;
      g.m = m, g.n = n, g.k = k, g.a = a.get(), g.a_signed = a_signed, g.a_row_stride = k;
      g.packed_b = packed.get(), g.b_signed = true, g.c = c.get(), g.ldc = n, g.a_zero = &zero;
      int8_gemm_tile(g, 0, m, 0, n, scratch.get());
    };
  });
}

void convolution(const char* name, int64_t cin, int64_t cout, int64_t size, int64_t kernel, int64_t groups) {
  ConvShape s;
  s.rank = 2, s.cin = cin, s.cout = cout, s.groups = groups;
  for (int i = 0; i < 2; ++i)
    s.in[i] = s.out[i] = size, s.kernel[i] = kernel, s.stride[i] = 1, s.pad_begin[i] = kernel / 2;
  const int64_t pixels = size * size, weights = kernel * kernel * cin / groups * cout;
  const Work work{2.0 * static_cast<double>(pixels * weights),
                  static_cast<double>(pixels * cin + 4 * pixels * cout + weights), true};
  add(fmt::format("conv/{}", name), work, [=] {
    const ConvInt8Plan plan = conv_int8_plan(s, 1);
    const auto x = buffer<uint8_t>(pixels * cin), w = buffer<uint8_t>(weights);
    const auto y = buffer<int32_t>(pixels * cout);
    const auto packed = random_bytes(static_cast<size_t>(plan.packed_size)), scratch = random_bytes(plan.scratch_size);
    conv_int8_pack(plan, w.get(), true, 0, plan.pack_units, packed.get());
    return [=] {
      ConvInt8Args args;
      args.x = x.get(), args.x_pixel_stride = cin, args.packed = packed.get(), args.w_signed = true;
      args.y = y.get(), args.y_pixel_stride = cout, args.x_zero = 128;
      conv_int8_tile(plan, args, 0, plan.tiles, scratch.get());
    };
  });
}

// Rows of floats with a matrix of 4-bit codes in blocks of 32, by floats and by 8-bit integers.
void bits_product(int rows, int64_t n, int64_t k) {
  constexpr int64_t kBlock = 32;
  const int64_t blocks = k / kBlock, panels = n / kBitsPanel, panel_bytes = bits_panel_bytes(4, k);
  const double bytes = static_cast<double>(panels * panel_bytes + n * blocks * 4 + rows * (k + n) * 4);
  for (const bool int8 : {false, true}) {
    const GemmBitsInt8Fn by_bytes = gemm_bits_int8(4);
    if (int8 && !by_bytes) continue;
    const Work work{2.0 * static_cast<double>(rows * n * k), bytes, int8};
    add(fmt::format("bits4{}/{}x{}x{}", int8 ? "_by_int8" : "", rows, n, k), work, [=] {
      const auto codes = buffer<uint8_t>(panels * panel_bytes), row_codes = buffer<uint8_t>(rows * k);
      const auto scales = random_floats(n * blocks, 0.01f, 0.02f), a = random_floats(rows * k),
                 y = random_floats(rows * n), sums = random_floats(rows * blocks),
                 row_scales = random_floats(rows * blocks);
      const auto row_sums = buffer<int32_t>(rows * blocks);
      return [=] {
        const GemmBitsKernels& kernels = gemm_bits();
        const BitsRows quantized{reinterpret_cast<int8_t*>(row_codes.get()), k, row_scales.get(), row_sums.get()};
        if (int8)
          kernels.quantize_rows(a.get(), k, rows, k, kBlock, quantized);
        else
          kernels.block_sums(a.get(), k, rows, k, kBlock, sums.get());
        for (int64_t p = 0; p < panels; ++p) {
          const BitsPanel panel{
              4, k, kBlock, codes.get() + p * panel_bytes, scales.get() + p * blocks * kBitsPanel, nullptr, 8};
          float* to = y.get() + p * kBitsPanel;
          if (int8)
            by_bytes(panel, quantized, rows, nullptr, kBitsPanel, to, n);
          else
            kernels.rows(panel, a.get(), k, rows, sums.get(), nullptr, kBitsPanel, to, n);
        }
      };
    });
  }
}

void conversions() {
  constexpr int64_t kCount = 401408;
  const auto add_one = [&](const char* name, double bytes, auto run) {
    add(name, {0, bytes * kCount}, [=] {
      const auto x = random_floats(kCount), y = random_floats(kCount), z = random_floats(kCount);
      return [=] { run(x.get(), y.get(), z.get()); };
    });
  };
  add_one("quantize_u8", 5, [](float* x, float* y, float*) { quantize(Elem::u8)(x, y, kCount, 0.01f, 128); });
  add_one("dequantize_u8", 5, [](float* x, float* y, float*) { dequantize(Elem::u8)(x, y, kCount, 0.01f, 128); });
  add_one("min_max", 4, [](float* x, float* y, float*) { min_max(x, kCount, y, y + 1); });
  add_one("requantize_u8", 5, [](float* x, float* y, float* z) {
    const RequantizeArgs args{reinterpret_cast<const int32_t*>(x), 64, kCount / 64, 64, nullptr, z, true};
    requantize().to_u8(args, reinterpret_cast<uint8_t*>(y), 64, 128);
  });
  add_one("add_u8", 3, [](float* x, float* y, float* z) {
    quant_bytes().add[0][0](x, z, y, kCount, {{0.01f, 128}, {0.02f, 127}, {0.03f, 120}});
  });
  add_one("look_up_u8", 2, [](float* x, float* y, float* z) {
    look_up(reinterpret_cast<const uint8_t*>(z), reinterpret_cast<const uint8_t*>(x), reinterpret_cast<uint8_t*>(y),
            kCount);
  });
}

}  // namespace

void suite() {
  for (const bool is_signed : {false, true})
    product(128, 768, 768, is_signed), product(64, 384, 1536, is_signed), product(1, 768, 768, is_signed);
  convolution("3x3_64_64_56", 64, 64, 56, 3, 1), convolution("3x3_256_256_14", 256, 256, 14, 3, 1);
  convolution("1x1_96_24_56", 96, 24, 56, 1, 1), convolution("dw3x3_144_56", 144, 144, 56, 3, 144);
  for (const int rows : {1, 4}) bits_product(rows, 4096, 1024);
  conversions();
}

}  // namespace trunnion::bench
