// Tree walks in plain code: eight at a time, so that their memory accesses overlap.
#include "kernels/tree_walk.h"

#include "base/cpu_info.h"
#include "kernels/tree_walk_avx512.h"

namespace trunnion::kernels {
namespace {

constexpr int kLanes = 8;
constexpr int kGroup = 4;  // steps between looks at whether all have arrived

template <bool kNan, class T, class Link>
inline uint32_t step(const T* threshold, const Link* link, const T* x, uint32_t k) {
  constexpr int kBits = kTreeFeatureBits<Link>;
  const Link l = link[k];
  const T v = x[l & ((Link{1} << kBits) - 1)];
  uint32_t second = v > threshold[k];
  if (kNan) second |= static_cast<uint32_t>(v != v) & static_cast<uint32_t>(l >> kBits & 1);
  return static_cast<uint32_t>(l >> (kBits + 1)) + second;
}

// Lane i starts at node 0 of threshold[i], link[i] and reads x[i].
template <bool kNan, int kCount, class T, class Link>
inline void walk(const T* const* threshold, const Link* const* link, const T* const* x, int steps, uint32_t* k) {
  for (int i = 0; i < kCount; ++i) k[i] = 0;
  for (; steps > 0; steps -= kGroup) {
    for (int s = 0; s < kGroup - 1; ++s)
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i) k[i] = step<kNan>(threshold[i], link[i], x[i], k[i]);
    uint32_t moved = 0;
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) {
      const uint32_t to = step<kNan>(threshold[i], link[i], x[i], k[i]);
      moved |= to ^ k[i];
      k[i] = to;
    }
    if (moved == 0) return;
  }
}

// Lanes behind the last row read that one again.
template <bool kNan, class T, class Link>
inline void walk_rows(const T* threshold, const Link* link, const T* x, int64_t stride, int64_t count, int steps,
                      uint32_t* slot) {
  const T* thresholds[kLanes];
  const Link* links[kLanes];
  const T* rows[kLanes];
  for (int64_t i = 0; i < kLanes; ++i)
    thresholds[i] = threshold, links[i] = link, rows[i] = x + (i < count ? i : count - 1) * stride;
  if (count >= kLanes) return walk<kNan, kLanes>(thresholds, links, rows, steps, slot);
  uint32_t all[kLanes];
  walk<kNan, kLanes>(thresholds, links, rows, steps, all);
  for (int64_t i = 0; i < count; ++i) slot[i] = all[i];
}

template <class T, class Link>
void rows(const T* threshold, const Link* link, const T* x, int64_t stride, int64_t count, int steps, bool has_nan,
          uint32_t* slot) {
  for (int64_t r = 0; r < count; r += kLanes)
    has_nan ? walk_rows<true>(threshold, link, x + r * stride, stride, count - r, steps, slot + r)
            : walk_rows<false>(threshold, link, x + r * stride, stride, count - r, steps, slot + r);
}

template <int kCount, class T, class Link>
inline void walk_trees(const T* threshold, const Link* link, const uint32_t* first, const T* x, int steps, bool has_nan,
                       uint32_t* slot) {
  const T* thresholds[kCount];
  const Link* links[kCount];
  const T* rows[kCount];
  for (int i = 0; i < kCount; ++i) thresholds[i] = threshold + first[i], links[i] = link + first[i], rows[i] = x;
  has_nan ? walk<true, kCount>(thresholds, links, rows, steps, slot)
          : walk<false, kCount>(thresholds, links, rows, steps, slot);
  for (int i = 0; i < kCount; ++i) slot[i] += first[i];
}

template <class T, class Link>
void trees(const T* threshold, const Link* link, const uint32_t* first, int64_t count, const T* x, int steps,
           bool has_nan, uint32_t* slot) {
  int64_t t = 0;
  for (; t + kLanes <= count; t += kLanes) walk_trees<kLanes>(threshold, link, first + t, x, steps, has_nan, slot + t);
  for (; t < count; ++t) walk_trees<1>(threshold, link, first + t, x, steps, has_nan, slot + t);
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
