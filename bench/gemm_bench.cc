// Speed of the fp32 GEMM on one thread: packed B, then B packed on the fly. Counter: multiply-adds counted as two.
// TRUNNION_CPU=avx2 or baseline measures a lower rung.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/gemm.h"
#include "kernels/gemm_int8.h"

namespace {

using namespace trunnion::kernels;

struct Free {
  void operator()(float* p) const { std::free(p); }
};
using Floats = std::unique_ptr<float[], Free>;

Floats random_floats(int64_t n) {
  Floats p(static_cast<float*>(std::aligned_alloc(64, (static_cast<size_t>(n) * 4 + 127) / 64 * 64)));
  std::mt19937 random(1);
  std::uniform_real_distribution<float> values(-1.0f, 1.0f);
  for (int64_t i = 0; i < n; ++i) p[static_cast<size_t>(i)] = values(random);
  return p;
}

void run(benchmark::State& state, bool packed, bool b_transposed, Activation activation) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  const Floats a = random_floats(m * k), b = random_floats(k * n), c = random_floats(m * n), bias = random_floats(n);
  const Floats packed_b = random_floats(gemm_packed_b_size(k, n));
  const Floats scratch = random_floats(static_cast<int64_t>(gemm_scratch_size(n, k) / 4));
  GemmArgs g;
  g.m = m, g.n = n, g.k = k, g.a = a.get(), g.a_row_stride = k, g.c = c.get(), g.ldc = n;
  g.b_k_stride = b_transposed ? 1 : n;
  g.b_n_stride = b_transposed ? k : 1;
  g.epilogue.bias_col = bias.get();
  g.epilogue.activation = activation;
  if (packed) {
    gemm_pack_b(b.get(), g.b_k_stride, g.b_n_stride, k, n, 0, gemm_panel_count(n), packed_b.get());
    g.packed_b = packed_b.get();
  } else {
    g.b = b.get();
  }
  for (auto _ : state) {
    gemm_tile(g, 0, m, 0, n, scratch.get());
    benchmark::ClobberMemory();
  }
  state.counters["flop"] =
      benchmark::Counter(2.0 * static_cast<double>(m * n * k), benchmark::Counter::kIsIterationInvariantRate);
}

void gemm_packed(benchmark::State& state) { run(state, true, false, Activation::none); }
void gemm_packed_gelu(benchmark::State& state) { run(state, true, false, Activation::gelu); }
void gemm_dynamic(benchmark::State& state) { run(state, false, false, Activation::none); }
void gemm_dynamic_transposed(benchmark::State& state) { run(state, false, true, Activation::none); }

void pack_b(benchmark::State& state) {
  const int64_t n = state.range(0), k = state.range(1);
  const bool transposed = state.range(2) != 0;
  const Floats b = random_floats(k * n), packed = random_floats(gemm_packed_b_size(k, n));
  for (auto _ : state) {
    gemm_pack_b(b.get(), transposed ? 1 : n, transposed ? k : 1, k, n, 0, gemm_panel_count(n), packed.get());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * k * n * 4);
}

void gemm_int8(benchmark::State& state) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  const Floats a = random_floats(m * k / 4 + 16), b = random_floats(k * n / 4 + 16), c = random_floats(m * n);
  const Floats packed = random_floats(int8_gemm_packed_b_size(k, n) / 4 + 16);
  const Floats scratch = random_floats(static_cast<int64_t>(int8_gemm_scratch_size(n, k) / 4));
  int8_gemm_pack_b(b.get(), true, n, 1, k, n, 0, int8_gemm_panel_count(n), packed.get());
  Int8GemmArgs g;
  g.m = m, g.n = n, g.k = k, g.a = a.get(), g.a_signed = state.range(3) != 0, g.a_row_stride = k;
  g.packed_b = packed.get(), g.b_signed = true, g.c = reinterpret_cast<int32_t*>(c.get()), g.ldc = n;
  const int32_t zero = 7;
  g.a_zero = &zero;
  for (auto _ : state) {
    int8_gemm_tile(g, 0, m, 0, n, scratch.get());
    benchmark::ClobberMemory();
  }
  state.counters["flop"] =
      benchmark::Counter(2.0 * static_cast<double>(m * n * k), benchmark::Counter::kIsIterationInvariantRate);
}

void shapes(benchmark::internal::Benchmark* b) {
  for (const auto& s : std::vector<std::vector<int64_t>>{
           {128, 768, 768}, {128, 3072, 768}, {128, 768, 3072}, {512, 512, 512}, {1024, 1024, 1024}, {64, 384, 384},
           {3136, 64, 64},  {12544, 16, 32},  {12544, 96, 16},  {3136, 24, 144}, {196, 256, 1024},   {16, 768, 768},
           {17, 768, 768},  {8, 768, 768},    {4, 768, 768},    {2, 768, 768},   {1, 768, 768},      {1, 1000, 2048},
           {1, 10, 512},    {1, 16, 16},      {1, 64, 64},      {4, 32, 32},     {1000, 1, 768}}) {
    b->Args(s);
  }
}

BENCHMARK(gemm_packed)->Apply(shapes);
BENCHMARK(gemm_packed_gelu)->Args({128, 3072, 768});
BENCHMARK(gemm_dynamic)->Args({128, 128, 64})->Args({128, 64, 128})->Args({512, 512, 512})->Args({1, 768, 768});
BENCHMARK(gemm_dynamic_transposed)->Args({128, 128, 64})->Args({512, 512, 64})->Args({1, 768, 768});
BENCHMARK(gemm_int8)
    ->Args({128, 768, 768, 0})
    ->Args({128, 768, 768, 1})
    ->Args({64, 384, 1536, 0})
    ->Args({1, 768, 768, 0});
BENCHMARK(pack_b)->Args({768, 768, 0})->Args({768, 768, 1})->Args({1000, 2048, 1});

}  // namespace

BENCHMARK_MAIN();
