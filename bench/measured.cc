#include "measured.h"

#include <benchmark/benchmark.h>

#include <random>
#include <utility>

#include "bench_peak.h"

namespace trunnion::bench {

void add(const std::string& name, const Work& work, Make make) {
  const auto run = [work, make = std::move(make)](benchmark::State& state) {
    const std::function<void()> call = make();
    for (auto _ : state) {
      call();
      benchmark::ClobberMemory();
    }
    using benchmark::Counter;
    const auto rate = Counter::kIsIterationInvariantRate;
    const peak::Rates& rates = peak::rates(peak::best_rung(), 1);
    if (work.flops > 0) state.counters[work.int8 ? "GOP/s" : "GFLOP/s"] = Counter(work.flops * 1e-9, rate);
    if (work.bytes > 0) state.counters["GB/s"] = Counter(work.bytes * 1e-9, rate);
    // Least time by time: 1 is what the machine can do.
    const double flop_rate = work.int8 && rates.int8 > 0           ? rates.int8
                             : work.bfloat16 && rates.bfloat16 > 0 ? rates.bfloat16
                                                                   : rates.float32;
    state.counters["roofline"] = Counter(peak::least_seconds({work.flops, work.bytes, 0, 0}, flop_rate, rates), rate);
  };
  benchmark::RegisterBenchmark(name.c_str(), run);
}

Buffer<void> random_bytes(size_t bytes) {
  const size_t size = (bytes + 127) / 64 * 64;
  Buffer<void> p(std::aligned_alloc(64, size), Free{});
  std::mt19937_64 random(1);
  auto* words = static_cast<uint64_t*>(p.get());
  for (size_t i = 0; i < size / 8; ++i) words[i] = random();
  return p;
}

Buffer<float> random_floats(int64_t count, float low, float high) {
  Buffer<float> p = buffer<float>(count);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> values(low, high);
  for (int64_t i = 0; i < count + 16; ++i) p.get()[i] = values(random);
  return p;
}

}  // namespace trunnion::bench

int main(int argc, char** argv) {
  using namespace trunnion;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  bench::suite();
  const peak::Rates& r = peak::rates(peak::best_rung(), 1);
  const auto giga = [](double rate) { return std::to_string(static_cast<int>(rate * 1e-9)); };
  benchmark::AddCustomContext("cpu", peak::cpu_name());
  benchmark::AddCustomContext("rung", peak::rung_name(r.rung));
  benchmark::AddCustomContext("peak GFLOP/s (fp32), GOP/s (int8)", giga(r.float32) + ", " + giga(r.int8));
  benchmark::AddCustomContext("peak GB/s (L1, L2, L3, memory)",
                              giga(r.l1) + ", " + giga(r.l2) + ", " + giga(r.l3) + ", " + giga(r.dram));
  benchmark::RunSpecifiedBenchmarks();
}
