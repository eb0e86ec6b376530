// What the micro-benchmarks share: buffers of random numbers, and a benchmark that reports its rates and how near they
// come to what this CPU can do. TRUNNION_CPU=avx2 or baseline measures a lower rung, against that rung's peaks.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

namespace trunnion::bench {

struct Work {        // of one call
  double flops = 0;  // a multiply and an add are two
  double bytes = 0;  // read and written
  bool int8 = false;
  bool bfloat16 = false;
};

// `make` prepares the data and gives the call that is timed; it runs only when the benchmark is chosen.
using Make = std::function<std::function<void()>()>;
void add(const std::string& name, const Work& work, Make make);

struct Free {
  void operator()(void* p) const { std::free(p); }
};
template <class T>
using Buffer = std::shared_ptr<T>;  // shared, so that the timed call can hold it

Buffer<void> random_bytes(size_t bytes);                                           // readable for 64 bytes more
Buffer<float> random_floats(int64_t count, float low = -1.0f, float high = 1.0f);  // likewise
template <class T>
Buffer<T> buffer(int64_t count) {  // of random bits
  return std::static_pointer_cast<T>(random_bytes(static_cast<size_t>(count) * sizeof(T)));
}

// Registers the benchmarks of a suite; each program has one.
void suite();

}  // namespace trunnion::bench
