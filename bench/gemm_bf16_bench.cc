// The matrix product of factors that are rounded to bfloat16, B packed beforehand. Empty on CPUs that do not gain by
// it.
#include <fmt/format.h>

#include "kernels/gemm_bf16.h"
#include "measured.h"

namespace trunnion::bench {
namespace {

using namespace kernels;

void product(int64_t m, int64_t n, int64_t k) {
  const auto macs = static_cast<double>(m * n * k);
  const Work work{2 * macs, static_cast<double>(4 * m * k + 2 * k * n + 4 * m * n), false, true};
  add(fmt::format("gemm_bf16/{}x{}x{}", m, n, k), work, [=] {
    const auto a = random_floats(m * k), b = random_floats(k * n), c = random_floats(m * n), bias = random_floats(n);
    const auto packed = buffer<uint16_t>(bf16_gemm_packed_b_size(k, n));
    const auto scratch = random_bytes(bf16_gemm_scratch_size(n, k));
    bf16_gemm_pack_b(b.get(), n, 1, k, n, 0, gemm_panel_count(n), packed.get());
    Bf16GemmArgs g;
    g.m = m, g.n = n, g.k = k, g.a = a.get(), g.a_row_stride = k, g.c = c.get(), g.ldc = n;
    g.packed_b = packed.get();
    g.epilogue.bias_col = bias.get();
    return [=] {
      static_cast<void>(a), static_cast<void>(c), static_cast<void>(bias), static_cast<void>(packed);
      bf16_gemm_tile(g, 0, m, 0, n, scratch.get());
    };
  });
}

void pack(int64_t n, int64_t k, bool transposed) {
  const Work work{0, 6.0 * static_cast<double>(n * k)};
  add(fmt::format("pack_b_bf16{}/{}x{}", transposed ? "_transposed" : "", n, k), work, [=] {
    const auto b = random_floats(k * n);
    const auto packed = buffer<uint16_t>(bf16_gemm_packed_b_size(k, n));
    return [=] {
      bf16_gemm_pack_b(b.get(), transposed ? 1 : n, transposed ? k : 1, k, n, 0, gemm_panel_count(n), packed.get());
    };
  });
}

}  // namespace

void suite() {
  if (!bf16_gemm_pays()) return;
  constexpr int64_t kShapes[][3] = {{128, 768, 768}, {128, 3072, 768}, {128, 768, 3072}, {512, 512, 512},
                                    {64, 384, 384},  {3136, 64, 64},   {12544, 16, 32},  {196, 256, 1024},
                                    {16, 768, 768},  {4, 768, 768},    {1, 768, 768},    {1, 1000, 2048},
                                    {1, 3072, 768}};
  for (const auto& s : kShapes) product(s[0], s[1], s[2]);
  pack(768, 768, false), pack(768, 768, true);
}

}  // namespace trunnion::bench
