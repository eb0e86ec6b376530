// The vector steps of a selection by 32-bit keys.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/top_k.simd.cc"
#include <cstring>
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/top_k_table.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DU = hn::ScalableTag<uint32_t>;
using DI = hn::ScalableTag<int32_t>;
using D64 = hn::ScalableTag<uint64_t>;

uint32_t KeyOf(float v, bool largest) {
  uint32_t bits;
  std::memcpy(&bits, &v, sizeof(bits));
  uint32_t up = bits >> 31 ? ~bits : bits | 0x80000000u;
  if (v == 0) up = 0x80000000u;
  if (v != v) up = 0xffffffffu;
  return largest ? ~up : up;
}

void F32Keys(const float* x, uint32_t* keys, int64_t n, bool largest) {
  const DF d;
  const DU du;
  const DI di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto flip = hn::Set(du, largest ? 0xffffffffu : 0u), sign = hn::Set(du, 0x80000000u);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::Add(hn::LoadU(d, x + i), hn::Zero(d));  // -0 becomes 0
    const auto bits = hn::BitCast(du, v);
    const auto negative = hn::BitCast(du, hn::ShiftRight<31>(hn::BitCast(di, v)));  // all ones or 0
    auto up = hn::Xor(bits, hn::Or(negative, sign));
    up = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), hn::Set(du, 0xffffffffu), up);
    hn::StoreU(hn::Xor(up, flip), du, keys + i);
  }
  for (; i < n; ++i) keys[i] = KeyOf(x[i], largest);
}

void GroupBest(const uint32_t* keys, int64_t n, int64_t groups, uint32_t* best) {
  const DU d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  std::memcpy(best, keys, static_cast<size_t>(groups) * sizeof(uint32_t));
  int64_t at = groups;
  for (; at + groups <= n; at += groups) {
    for (int64_t g = 0; g < groups; g += lanes)
      hn::StoreU(hn::Min(hn::LoadU(d, best + g), hn::LoadU(d, keys + at + g)), d, best + g);
  }
  int64_t g = 0;
  for (; at + g + lanes <= n; g += lanes)
    hn::StoreU(hn::Min(hn::LoadU(d, best + g), hn::LoadU(d, keys + at + g)), d, best + g);
  for (; at + g < n; ++g) best[g] = keys[at + g] < best[g] ? keys[at + g] : best[g];
}

// Bit by bit from the highest: how many keys stand at or below the number with that bit 0 and all lower ones 1?
uint32_t KthSmallest(const uint32_t* keys, int64_t n, int64_t k) {
  const DU d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  uint32_t result = 0;
  for (int bit = 31; bit >= 0; --bit) {
    const uint32_t limit = result | ((1u << bit) - 1);
    const auto v = hn::Set(d, limit);
    auto more = hn::Zero(d);  // counts down by lane
    for (int64_t i = 0; i < n; i += lanes)
      more = hn::Add(more, hn::VecFromMask(d, hn::Not(hn::Gt(hn::LoadU(d, keys + i), v))));
    const auto count = static_cast<int64_t>(0u - hn::GetLane(hn::SumOfLanes(d, more)));
    if (count < k) result |= 1u << bit;
  }
  return result;
}

int64_t Collect(const uint32_t* keys, int64_t n, uint32_t limit, uint64_t* to) {
  const DU d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto v = hn::Set(d, limit);
  int64_t count = 0, i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto m = hn::Not(hn::Gt(hn::LoadU(d, keys + i), v));
    if (HWY_LIKELY(hn::AllFalse(d, m))) continue;
    uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, m, bytes);
    uint64_t bits;
    std::memcpy(&bits, bytes, sizeof(bits));
    for (; bits; bits &= bits - 1) {
      const int64_t at = i + __builtin_ctzll(bits);
      to[count++] = uint64_t{keys[at]} << 32 | static_cast<uint64_t>(at);
    }
  }
  for (; i < n; ++i)
    if (keys[i] <= limit) to[count++] = uint64_t{keys[i]} << 32 | static_cast<uint64_t>(i);
  return count;
}

// The place of an entry is the number of smaller ones.
void RankSort(uint64_t* from, int64_t n, int64_t k, uint64_t* to) {
  const D64 d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t padded = (n + lanes - 1) / lanes * lanes;
  for (int64_t i = n; i < padded; ++i) from[i] = ~uint64_t{0};
  HWY_ALIGN uint64_t ranks[HWY_LANES(uint64_t)];
  for (int64_t i = 0; i < padded; i += lanes) {
    const auto v = hn::LoadU(d, from + i);
    auto even = hn::Zero(d), odd = even;  // count down by lane
    int64_t j = 0;
    for (; j + 2 <= n; j += 2) {
      even = hn::Add(even, hn::VecFromMask(d, hn::Lt(hn::Set(d, from[j]), v)));
      odd = hn::Add(odd, hn::VecFromMask(d, hn::Lt(hn::Set(d, from[j + 1]), v)));
    }
    if (j < n) even = hn::Add(even, hn::VecFromMask(d, hn::Lt(hn::Set(d, from[j]), v)));
    hn::Store(hn::Sub(hn::Zero(d), hn::Add(even, odd)), d, ranks);
    for (int64_t l = 0; l < lanes && i + l < n; ++l)
      if (static_cast<int64_t>(ranks[l]) < k) to[ranks[l]] = from[i + l];
  }
}

}  // namespace

constexpr TopKTable kTable = {&F32Keys, &GroupBest, &KthSmallest, &Collect, &RankSort};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const TopKTable& top_k_table() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
