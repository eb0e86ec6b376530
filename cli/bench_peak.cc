// Loops that keep one unit of the CPU busy. Each rung's loop has its instruction set as an attribute, so that the file
// runs on any CPU; only what best_rung allows is called.
#include "bench_peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "bench_peak_loops.h"

#ifdef __linux__
#include <unistd.h>
#endif

namespace trunnion::peak {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Starts `threads` threads together and gives the time from the first start to the last end.
double together(int threads, const std::function<void(int)>& work) {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::vector<double> begin(static_cast<size_t>(threads)), end(begin.size());
  const auto one = [&](int i) {
    ++ready;
    while (!go.load(std::memory_order_acquire)) {
    }
    begin[static_cast<size_t>(i)] = now();
    work(i);
    end[static_cast<size_t>(i)] = now();
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(one, i);
  while (ready.load() < threads - 1) {
  }
  go.store(true, std::memory_order_release);
  one(0);
  for (std::thread& t : others) t.join();
  return *std::ranges::max_element(end) - *std::ranges::min_element(begin);
}

// The best of some tries, as neighbours and clocks only ever slow a loop down.
double best_rate(int threads, double work_per_thread, const std::function<void(int)>& work) {
  double shortest = 1e30;
  for (int i = 0; i < 15; ++i) shortest = std::min(shortest, together(threads, work));
  return work_per_thread * threads / shortest;
}

double arithmetic_rate(const Loop& loop, int threads) {
  if (!loop.run) return 0;
  long rounds = 1000;  // as many as take about 2 ms
  for (double t = 0; t < 1e-3 && rounds < (1l << 40); rounds *= 2) {
    const double start = now();
    keep(loop.run(rounds));
    t = now() - start;
    if (t >= 1e-3) rounds = static_cast<long>(static_cast<double>(rounds) * 2e-3 / t / 2) + 1;
  }
  return best_rate(threads, static_cast<double>(rounds) * loop.operations, [&](int) { keep(loop.run(rounds)); });
}

struct Free {
  void operator()(float* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<float, Free>;

double read_rate(const Loops& loops, int threads, size_t bytes) {
  bytes = std::max<size_t>(bytes / 4096, 1) * 4096;
  std::vector<Buffer> buffers(static_cast<size_t>(threads));
  for (Buffer& b : buffers) {
    b.reset(static_cast<float*>(std::aligned_alloc(4096, bytes)));
    if (!b) return 0;
    std::memset(b.get(), 0, bytes);
  }
  const size_t count = bytes / sizeof(float);
  const long passes = std::max<long>(1, static_cast<long>((16 << 20) / bytes));
  return best_rate(threads, static_cast<double>(bytes) * static_cast<double>(passes), [&](int i) {
    for (long p = 0; p < passes; ++p) keep(loops.read(buffers[static_cast<size_t>(i)].get(), count));
  });
}

Rates measure(Rung rung, int threads, const std::function<void(const char*)>& tell) {
  const auto say = [&](const char* what) {
    if (tell) tell(what);
  };
  const Loops loops = loops_of(rung);
  const Caches c = caches();
  const auto share = static_cast<size_t>(threads);
  Rates r;
  r.rung = rung;
  r.threads = threads;
  say("arithmetic");
  r.float32 = arithmetic_rate(loops.float32, threads);
  r.float64 = r.float32 / 2;
  r.int8 = arithmetic_rate(loops.int8, threads);
  r.bfloat16 = arithmetic_rate(loops.bfloat16, threads);
  say("the caches");
  r.l1 = read_rate(loops, threads, c.l1 / 2);
  r.l2 = read_rate(loops, threads, c.l2 / 2);
  // What the system calls the L3 may be shared with neighbours: not more than eight times the L2 is asked of it.
  r.l3 = read_rate(loops, threads, std::clamp<size_t>(c.l3 / 2 / share, c.l2 + c.l2 / 2, 8 * c.l2));
  say("the memory");
  r.dram = read_rate(loops, threads, (size_t{256} << 20) / share);
  r.l2 = std::min(r.l2, r.l1), r.l3 = std::min(r.l3, r.l2), r.dram = std::min(r.dram, r.l3);
  return r;
}

#ifdef __linux__
size_t cache_size(int name, size_t otherwise) {
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<size_t>(bytes) : otherwise;
}
#endif

}  // namespace

Rung best_rung() {
  Rung best = Rung::baseline;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) best = Rung::avx2;
  if (best == Rung::avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    best = Rung::avx512;
#endif
  const char* forced = std::getenv("TRUNNION_CPU");
  return forced && *forced ? std::min(best, rung_of_name(forced)) : best;
}

const char* rung_name(Rung rung) { return rung == Rung::avx512 ? "avx512" : rung == Rung::avx2 ? "avx2" : "baseline"; }

Rung rung_of_name(std::string_view name) {
  return name == "avx512" ? Rung::avx512 : name == "avx2" ? Rung::avx2 : Rung::baseline;
}

std::string cpu_name() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/cpuinfo", "r"), std::fclose);
  char line[512], name[256];
  while (file && std::fgets(line, sizeof(line), file.get()))
    if (std::sscanf(line, "model name : %255[^\n]", name) == 1) return name;
  return {};
}

Caches caches() {
  Caches c;
#ifdef __linux__
  c.l1 = cache_size(_SC_LEVEL1_DCACHE_SIZE, c.l1);
  c.l2 = cache_size(_SC_LEVEL2_CACHE_SIZE, c.l2);
  c.l3 = cache_size(_SC_LEVEL3_CACHE_SIZE, c.l3);
#endif
  return c;
}

const Rates& rates(Rung rung, int threads, const std::function<void(const char*)>& tell) {
  static std::mutex mutex;
  static std::map<std::pair<Rung, int>, Rates> known;
  const std::lock_guard guard(mutex);
  const auto key = std::make_pair(rung, std::max(threads, 1));
  auto it = known.find(key);
  if (it == known.end()) it = known.emplace(key, measure(key.first, key.second, tell)).first;
  return it->second;
}

double bandwidth(double bytes, const Rates& r) {
  static const Caches c = caches();
  const auto holds = [&](size_t size, int times) { return bytes <= static_cast<double>(size) * times; };
  if (holds(c.l1, r.threads)) return r.l1;
  if (holds(c.l2, r.threads)) return r.l2;
  return holds(std::min(c.l3, size_t{64} << 20), 1) ? r.l3 : r.dram;
}

double least_seconds(const Work& w, double flop_rate, const Rates& r) {
  const auto time = [](double amount, double rate) { return amount > 0 && rate > 0 ? amount / rate : 0; };
  const double weights = std::max(w.all_weights, w.weight_bytes);
  const double moving =
      time(w.activation_bytes, bandwidth(w.activation_bytes, r)) + time(w.weight_bytes, bandwidth(weights, r));
  return std::max(time(w.flops, flop_rate), moving);
}

}  // namespace trunnion::peak
