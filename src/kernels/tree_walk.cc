// Tree walks in plain code: eight at a time, so that their memory accesses overlap.
#include "kernels/tree_walk.h"

#include <type_traits>

#include "base/cpu_info.h"
#include "kernels/tree_walk_avx512.h"

namespace trunnion::kernels {
namespace {

constexpr int kLanes = 8;
constexpr int kGroup = 4;  // steps between looks at whether all have arrived

// From node k of the tree at `base` to one of its children, for the row that begins at x.
template <bool kNan, class T, class Link>
inline uint32_t step(const T* threshold, const Link* link, const T* x, uint32_t base, uint32_t k) {
  constexpr int kBits = kTreeFeatureBits<Link>;
  const Link l = link[k];
  const T v = x[l & ((Link{1} << kBits) - 1)];
  uint32_t second = v > threshold[k];
  if (kNan) second |= static_cast<uint32_t>(v != v) & static_cast<uint32_t>(l >> kBits & 1);
  return base + static_cast<uint32_t>(l >> (kBits + 1)) + second;
}

// The lanes' nodes stay in registers: `to` is written at the end, as the compiler must take it for a part of `link`.
// next(i, k) is a step of lane i.
template <int kCount, class Next>
inline void walk(Next next, const uint32_t* from, int steps, uint32_t* to) {
  uint32_t k[kCount];
  for (int i = 0; i < kCount; ++i) k[i] = from[i];
  for (; steps > 0; steps -= kGroup) {
    for (int s = 0; s < kGroup - 1; ++s)
#pragma GCC unroll 16
      for (int i = 0; i < kCount; ++i) k[i] = next(i, k[i]);
    uint32_t moved = 0;
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      const uint32_t after = next(i, k[i]);
      moved |= after ^ k[i];
      k[i] = after;
    }
    if (moved == 0) break;
  }
  for (int i = 0; i < kCount; ++i) to[i] = k[i];
}

// Lanes behind the last row read that one again.
template <bool kNan, class T, class Link>
inline void walk_rows(const T* threshold, const Link* link, const T* x, int64_t stride, int64_t count, int steps,
                      uint32_t* slot) {
  const T* rows[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) rows[i] = x + (i < count ? i : count - 1) * stride;
  const auto next = [&](int i, uint32_t k) { return step<kNan>(threshold, link, rows[i], 0, k); };
  constexpr uint32_t kRoots[kLanes] = {};
  if (count >= kLanes) return walk<kLanes>(next, kRoots, steps, slot);
  uint32_t all[kLanes];
  walk<kLanes>(next, kRoots, steps, all);
  for (int64_t i = 0; i < count; ++i) slot[i] = all[i];
}

template <class T, class Link>
void rows(const T* threshold, const Link* link, const T* x, int64_t stride, int64_t count, int steps, bool has_nan,
          uint32_t* slot) {
  for (int64_t r = 0; r < count; r += kLanes)
    has_nan ? walk_rows<true>(threshold, link, x + r * stride, stride, count - r, steps, slot + r)
            : walk_rows<false>(threshold, link, x + r * stride, stride, count - r, steps, slot + r);
}

template <bool kNan, int kCount, class T, class Link>
inline void walk_trees(const T* threshold, const Link* link, const uint32_t* first, const T* x, int steps,
                       uint32_t* slot) {
  const auto next = [&](int i, uint32_t k) { return step<kNan>(threshold, link, x, first[i], k); };
  walk<kCount>(next, first, steps, slot);
}

template <class T, class Link>
void trees(const T* threshold, const Link* link, const uint32_t* first, int64_t count, const T* x, int steps,
           bool has_nan, uint32_t* slot) {
  const auto some = [&]<int kCount>(std::integral_constant<int, kCount>, int64_t t) {
    has_nan ? walk_trees<true, kCount>(threshold, link, first + t, x, steps, slot + t)
            : walk_trees<false, kCount>(threshold, link, first + t, x, steps, slot + t);
  };
  int64_t t = 0;
  for (; t + kLanes <= count; t += kLanes) some(std::integral_constant<int, kLanes>(), t);
  for (; t < count; ++t) some(std::integral_constant<int, 1>(), t);
}

template <class T>
bool find_nan(const T* x, int64_t n) {
  bool found = false;
  for (int64_t i = 0; i < n; ++i) found |= x[i] != x[i];
  return found;
}

template <class T, class Link>
constexpr TreeWalk<T, Link> kPlain = {&rows<T, Link>, &trees<T, Link>};

}  // namespace

const TreeWalk<float, uint32_t>& tree_walk_plain() { return kPlain<float, uint32_t>; }

template <>
const TreeWalk<float, uint32_t>& tree_walk() {
#if defined(__x86_64__)
  if (active_rung() == Rung::avx512) return avx512::kTreeWalk;
#endif
  return kPlain<float, uint32_t>;
}
template <>
const TreeWalk<float, uint64_t>& tree_walk() {
  return kPlain<float, uint64_t>;
}
template <>
const TreeWalk<double, uint32_t>& tree_walk() {
  return kPlain<double, uint32_t>;
}
template <>
const TreeWalk<double, uint64_t>& tree_walk() {
  return kPlain<double, uint64_t>;
}

bool any_nan(const float* x, int64_t n) { return find_nan(x, n); }
bool any_nan(const double* x, int64_t n) { return find_nan(x, n); }

}  // namespace trunnion::kernels
