// Random numbers of the operators that draw some: the Mersenne twister with numpy's ways to uniform and normal numbers,
// so that a seeded first run gives what the specification's reference gives.
#pragma once
#include <atomic>
#include <random>

#include "ops/op.h"

namespace trunnion::ops {

class RandomStream {
 public:
  explicit RandomStream(uint32_t seed) : twister_(seed) {}
  double uniform();  // [0, 1), 53 bits
  double normal();   // mean 0, standard deviation 1

 private:
  std::mt19937 twister_;
  bool has_spare_ = false;
  double spare_ = 0;
};

// Attribute seed (a number, or absent: random). Every run of the kernel gets another stream; the first one is seeded
// with the attribute itself.
class SeedSource {
 public:
  explicit SeedSource(const ir::Node& node);
  RandomStream next() const;

 private:
  uint32_t seed_;
  mutable std::atomic<uint32_t> runs_{0};
};

}  // namespace trunnion::ops
