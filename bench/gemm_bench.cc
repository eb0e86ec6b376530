// The fp32 matrix product: B packed beforehand, B packed on the fly, and packing itself.
#include <fmt/format.h>

#include "kernels/gemm.h"
#include "measured.h"

namespace trunnion::bench {
namespace {

using namespace kernels;

enum class B : uint8_t { packed, plain, transposed };

void product(const char* name, B kind, Activation activation, int64_t m, int64_t n, int64_t k) {
  const double macs = static_cast<double>(m * n * k);
  const Work work{2 * macs, 4.0 * static_cast<double>(m * k + k * n + m * n)};
  add(fmt::format("{}/{}x{}x{}", name, m, n, k), work, [=] {
    const auto a = random_floats(m * k), b = random_floats(k * n), c = random_floats(m * n), bias = random_floats(n);
    const auto packed = random_floats(kind == B::packed ? gemm_packed_b_size(k, n) : 0);
    const auto scratch = random_bytes(gemm_scratch_size(n, k));
    GemmArgs g;
    g.m = m, g.n = n, g.k = k, g.a = a.get(), g.a_row_stride = k, g.c = c.get(), g.ldc = n;
    g.b_k_stride = kind == B::transposed ? 1 : n;
    g.b_n_stride = kind == B::transposed ? k : 1;
    g.epilogue.bias_col = bias.get();
    g.epilogue.activation = activation;
    if (kind == B::packed) {
      gemm_pack_b(b.get(), g.b_k_stride, g.b_n_stride, k, n, 0, gemm_panel_count(n), packed.get());
      g.packed_b = packed.get();
    } else {
      g.b = b.get();
    }
    return [=] {
      static_cast<void>(a), static_cast<void>(b), static_cast<void>(c), static_cast<void>(bias);
      static_cast<void>(packed);
      gemm_tile(g, 0, m, 0, n, static_cast<float*>(scratch.get()));
    };
  });
}

void pack(int64_t n, int64_t k, bool transposed) {
  const Work work{0, 8.0 * static_cast<double>(n * k)};
  add(fmt::format("pack_b{}/{}x{}", transposed ? "_transposed" : "", n, k), work, [=] {
    const auto b = random_floats(k * n), packed = random_floats(gemm_packed_b_size(k, n));
    return [=] {
      gemm_pack_b(b.get(), transposed ? 1 : n, transposed ? k : 1, k, n, 0, gemm_panel_count(n), packed.get());
    };
  });
}

}  // namespace

void suite() {
  constexpr int64_t kShapes[][3] = {
      {128, 768, 768}, {128, 3072, 768}, {128, 768, 3072}, {512, 512, 512}, {1024, 1024, 1024}, {64, 384, 384},
      {3136, 64, 64},  {12544, 16, 32},  {12544, 96, 16},  {3136, 24, 144}, {196, 256, 1024},   {16, 768, 768},
      {17, 768, 768},  {8, 768, 768},    {4, 768, 768},    {2, 768, 768},   {1, 768, 768},      {1, 1000, 2048},
      {1, 10, 512},    {1, 16, 16},      {1, 64, 64},      {4, 32, 32},     {1000, 1, 768}};
  for (const auto& s : kShapes) product("gemm", B::packed, Activation::none, s[0], s[1], s[2]);
  product("gemm_gelu", B::packed, Activation::gelu, 128, 3072, 768);
  constexpr int64_t kPlain[][3] = {{128, 128, 64}, {128, 64, 128}, {512, 512, 512}, {1, 768, 768}};
  for (const auto& s : kPlain) product("gemm_unpacked", B::plain, Activation::none, s[0], s[1], s[2]);
  constexpr int64_t kTransposed[][3] = {{128, 128, 64}, {512, 512, 64}, {1, 768, 768}};
  for (const auto& s : kTransposed) product("gemm_transposed", B::transposed, Activation::none, s[0], s[1], s[2]);
  pack(768, 768, false), pack(768, 768, true), pack(1000, 2048, true);
}

}  // namespace trunnion::bench
