// What top_k.simd.cc gives to top_k.cc.
#pragma once
#include "kernels/top_k.h"

namespace trunnion::kernels {

struct TopKTable {
  void (*f32_keys)(const float* x, uint32_t* keys, int64_t n, bool largest);
  // best[g] = the smallest of keys[g], keys[g + groups], ...; groups is a multiple of 64 and n >= groups.
  void (*group_best)(const uint32_t* keys, int64_t n, int64_t groups, uint32_t* best);
  // The k-th smallest of n keys; n is a multiple of 64.
  uint32_t (*kth_smallest)(const uint32_t* keys, int64_t n, int64_t k);
  // Writes key << 32 | index of every key <= limit, in order; returns their number.
  int64_t (*collect)(const uint32_t* keys, int64_t n, uint32_t limit, uint64_t* to);
  // to[r] = the r-th smallest of n different entries, for r < k; n <= kRankSorted. from has room for
  // kRankSorted + 16 entries, which may be overwritten from n on.
  void (*rank_sort)(uint64_t* from, int64_t n, int64_t k, uint64_t* to);
};
inline constexpr int64_t kRankSorted = 256;
const TopKTable& top_k_table();

}  // namespace trunnion::kernels
