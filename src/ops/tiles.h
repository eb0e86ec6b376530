// Work in tiles with scratch of its own for every thread.
#pragma once
#include <algorithm>
#include <atomic>

#include "ops/op.h"

namespace trunnion::ops {

// How many pieces of scratch for_each_tile needs.
inline int64_t tile_slots(int64_t tiles, int threads) {
  return std::max<int64_t>(1, std::min<int64_t>(tiles, threads));
}

// fn(tile, scratch) for tiles [0, tiles), claimed one by one; slot s uses scratch + s * stride. Tiles are bigger than a
// claim costs, and which thread runs which does not matter to the result.
template <class F>
void for_each_tile(KernelContext& ctx, int64_t tiles, std::byte* scratch, size_t stride, F&& fn) {
  const int64_t slots = tile_slots(tiles, ctx.threads());
  if (slots == 1) {
    for (int64_t t = 0; t < tiles; ++t) fn(t, scratch);
    return;
  }
  std::atomic<int64_t> next{0};
  ctx.parallel_for(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s)
      for (int64_t t; (t = next.fetch_add(1, std::memory_order_relaxed)) < tiles;)
        fn(t, scratch + static_cast<size_t>(s) * stride);
  });
}

}  // namespace trunnion::ops
