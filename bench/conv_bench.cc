// Speed of the fp32 convolutions on one thread. Counter: multiply-adds counted as two.
// TRUNNION_CPU=avx2 or baseline measures a lower rung.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "kernels/conv.h"

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

struct Row {
  const char* name;
  int rank;
  int64_t cin, cout, height, width, kernel, stride, pad, groups;
  bool transposed;
};

void run(benchmark::State& state, const Row& r) {
  ConvShape s;
  s.rank = r.rank, s.cin = r.cin, s.cout = r.cout, s.groups = r.groups, s.transposed = r.transposed;
  int64_t in_pixels = 1, out_pixels = 1, taps = 1;
  for (int i = 0; i < r.rank; ++i) {
    s.in[i] = r.rank == 2 && i == 0 ? r.height : r.width;
    s.kernel[i] = r.kernel, s.stride[i] = r.stride, s.pad_begin[i] = r.pad;
    s.out[i] = r.transposed ? r.stride * (s.in[i] - 1) + r.kernel - 2 * r.pad
                            : (s.in[i] + 2 * r.pad - r.kernel) / r.stride + 1;
    in_pixels *= s.in[i], out_pixels *= s.out[i], taps *= r.kernel;
  }
  const ConvPlan plan = conv_plan(s, 1);
  const Floats x = random_floats(in_pixels * r.cin), y = random_floats(out_pixels * r.cout);
  const Floats w = random_floats(taps * r.cin / r.groups * r.cout), bias = random_floats(r.cout);
  const Floats packed = random_floats(plan.packed_size),
               scratch = random_floats(static_cast<int64_t>(plan.scratch_size / 4));
  conv_pack(plan, w.get(), 0, plan.pack_units, packed.get());
  ConvArgs args;
  args.x = x.get(), args.x_pixel_stride = r.cin, args.packed = packed.get(), args.y = y.get(),
  args.y_pixel_stride = r.cout;
  args.epilogue.bias_col = bias.get();
  args.epilogue.activation = Activation::relu;
  for (auto _ : state) {
    conv_tile(plan, args, 0, plan.tiles, scratch.get());
    benchmark::ClobberMemory();
  }
  const double work = static_cast<double>((r.transposed ? in_pixels : out_pixels) * taps * (r.cin / r.groups) * r.cout);
  state.counters["flop"] = benchmark::Counter(2.0 * work, benchmark::Counter::kIsIterationInvariantRate);
}

const Row kRows[] = {
    {"3x3_64_64_56", 2, 64, 64, 56, 56, 3, 1, 1, 1, false},
    {"3x3_32_32_112", 2, 32, 32, 112, 112, 3, 1, 1, 1, false},
    {"3x3_128_128_28", 2, 128, 128, 28, 28, 3, 1, 1, 1, false},
    {"3x3_256_256_14", 2, 256, 256, 14, 14, 3, 1, 1, 1, false},
    {"3x3_512_512_7", 2, 512, 512, 7, 7, 3, 1, 1, 1, false},
    {"3x3_s2_128_128_56", 2, 128, 128, 56, 56, 3, 2, 1, 1, false},
    {"3x3_18_18_56", 2, 18, 18, 56, 56, 3, 1, 1, 1, false},
    {"7x7_s2_3_64_224", 2, 3, 64, 224, 224, 7, 2, 3, 1, false},
    {"3x3_s2_3_32_224", 2, 3, 32, 224, 224, 3, 2, 1, 1, false},
    {"3x3_3_64_224", 2, 3, 64, 224, 224, 3, 1, 1, 1, false},
    {"1x1_64_256_56", 2, 64, 256, 56, 56, 1, 1, 0, 1, false},
    {"1x1_256_64_56", 2, 256, 64, 56, 56, 1, 1, 0, 1, false},
    {"1x1_24_144_56", 2, 24, 144, 56, 56, 1, 1, 0, 1, false},
    {"1x1_144_24_56", 2, 144, 24, 56, 56, 1, 1, 0, 1, false},
    {"1x1_s2_256_512_56", 2, 256, 512, 56, 56, 1, 2, 0, 1, false},
    {"1x1_1024_256_14", 2, 1024, 256, 14, 14, 1, 1, 0, 1, false},
    {"3x3_64_1_128", 2, 64, 1, 128, 128, 3, 1, 1, 1, false},
    {"dw3x3_144_56", 2, 144, 144, 56, 56, 3, 1, 1, 144, false},
    {"dw3x3_s2_96_112", 2, 96, 96, 112, 112, 3, 2, 1, 96, false},
    {"dw3x3_960_7", 2, 960, 960, 7, 7, 3, 1, 1, 960, false},
    {"dw5x5_240_28", 2, 240, 240, 28, 28, 5, 1, 2, 240, false},
    {"g32_128_128_56", 2, 128, 128, 56, 56, 3, 1, 1, 32, false},
    {"g32_256_256_28", 2, 256, 256, 28, 28, 3, 1, 1, 32, false},
    {"g4_256_256_28", 2, 256, 256, 28, 28, 3, 1, 1, 4, false},
    {"1d_80_512_1500_k3", 1, 80, 512, 1, 1500, 3, 1, 1, 1, false},
    {"1d_512_512_3000_k3s2", 1, 512, 512, 1, 3000, 3, 2, 1, 1, false},
    {"1d_1_512_16000_k10s5", 1, 1, 512, 1, 16000, 10, 5, 0, 1, false},
    {"3d_32_32_16", 3, 32, 32, 16, 16, 3, 1, 1, 1, false},
    {"t4x4_s2_128_64_28", 2, 128, 64, 28, 28, 4, 2, 1, 1, true},
    {"t2x2_s2_64_32_56", 2, 64, 32, 56, 56, 2, 2, 0, 1, true},
    {"tdw4x4_s2_64_28", 2, 64, 64, 28, 28, 4, 2, 1, 64, true},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Row& row : kRows) {
    benchmark::RegisterBenchmark((std::string("conv/") + row.name).c_str(),
                                 [&row](benchmark::State& s) { run(s, row); });
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
