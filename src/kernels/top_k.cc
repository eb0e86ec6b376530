// Selection by keys. Few of many: the k-th best of the bests of groups bounds the k-th best of all, so that one pass
// finds little more than the k elements wanted. What is left is sorted by ranks (few entries) or by digits.
#include "kernels/top_k.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/top_k_table.h"

namespace trunnion::kernels {
namespace {

constexpr int64_t kSlack = kRankSorted + 64;  // entries behind n

// Sorts n entries that are in ascending order of their low halves by the high halves; returns where they are then.
uint64_t* sort_by_digits(uint64_t* from, uint64_t* other, int64_t n) {
  constexpr int kDigits = 4;
  uint32_t counts[kDigits][256] = {};
  for (int64_t i = 0; i < n; ++i)
    for (int d = 0; d < kDigits; ++d) ++counts[d][from[i] >> (32 + 8 * d) & 255];
  for (int d = 0; d < kDigits; ++d) {
    if (counts[d][from[0] >> (32 + 8 * d) & 255] == static_cast<uint64_t>(n)) continue;  // all the same
    uint32_t at = 0;
    for (uint32_t& c : counts[d]) at += std::exchange(c, at);
    for (int64_t i = 0; i < n; ++i) other[counts[d][from[i] >> (32 + 8 * d) & 255]++] = from[i];
    std::swap(from, other);
  }
  return from;
}

// All n entries in order of index; the k smallest in order.
const uint64_t* sort_entries(uint64_t* entries, uint64_t* other, int64_t n, int64_t k) {
  if (n <= kRankSorted) {
    top_k_table().rank_sort(entries, n, k, other);
    return other;
  }
  if (k <= n / 16) {  // sorting all by digits is cheaper until then
    std::nth_element(entries, entries + k, entries + n);
    n = k;
    if (n <= kRankSorted) {
      top_k_table().rank_sort(entries, n, k, other);
      return other;
    }
    std::sort(entries, entries + n);  // they are not in order of index any more
    return entries;
  }
  return sort_by_digits(entries, other, n);
}

}  // namespace

void f32_keys(const float* x, uint32_t* keys, int64_t n, bool largest) { top_k_table().f32_keys(x, keys, n, largest); }

size_t select_keys_bytes(int64_t n) { return 2 * static_cast<size_t>(n + kSlack) * sizeof(uint64_t); }

const uint64_t* select_keys(const uint32_t* keys, int64_t n, int64_t k, void* work) {
  auto* entries = static_cast<uint64_t*>(work);
  uint64_t* other = entries + n + kSlack;
  if (k == 0) return entries;
  const TopKTable& table = top_k_table();
  const int64_t groups = (5 * k / 2 + 63) / 64 * 64;
  uint32_t limit = 0xffffffffu;
  if (n >= 4 * groups) {
    auto* best = reinterpret_cast<uint32_t*>(other);
    table.group_best(keys, n, groups, best);
    limit = table.kth_smallest(best, groups, k);
  }
  return sort_entries(entries, other, table.collect(keys, n, limit, entries), k);
}

}  // namespace trunnion::kernels
