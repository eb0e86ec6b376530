#include "ops/random/random_detail.h"

#include <cmath>

namespace trunnion::ops {

double RandomStream::uniform() {
  const uint32_t high = static_cast<uint32_t>(twister_()) >> 5, low = static_cast<uint32_t>(twister_()) >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

double RandomStream::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  double a, b, square;
  do {
    a = 2 * uniform() - 1;
    b = 2 * uniform() - 1;
    square = a * a + b * b;
  } while (square >= 1 || square == 0);
  const double factor = std::sqrt(-2 * std::log(square) / square);
  spare_ = factor * a;
  has_spare_ = true;
  return factor * b;
}

SeedSource::SeedSource(const ir::Node& node) {
  const ir::Attr* a = node.find_attr("seed");
  const float* f = a ? a->get<float>() : nullptr;
  const int64_t* i = a ? a->get<int64_t>() : nullptr;
  if (f && std::isfinite(*f))
    seed_ = static_cast<uint32_t>(static_cast<int64_t>(std::fmod(*f, 0x1p62)));
  else
    seed_ = i ? static_cast<uint32_t>(*i) : std::random_device()();
}

RandomStream SeedSource::next() const {
  return RandomStream(seed_ + runs_.fetch_add(1, std::memory_order_relaxed) * 0x9e3779b9u);
}

}  // namespace trunnion::ops
