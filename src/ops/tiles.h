// Work in tiles with scratch of its own for every thread.
#pragma once
#include <algorithm>

#include "base/work_shares.h"
#include "ops/op.h"

namespace trunnion::ops {

// How many pieces of scratch for_each_tile needs.
inline int64_t tile_slots(int64_t tiles, int threads) {
  return std::max<int64_t>(1, std::min<int64_t>(tiles, threads));
}

// fn(tile, scratch) for tiles [0, tiles), claimed `step` at a time; slot s uses scratch + s * stride and begins with
// the s-th part of the tiles. A claim should be longer than it costs, and which thread runs which does not matter to
// the result.
template <class F>
void for_each_tile(KernelContext& ctx, int64_t tiles, std::byte* scratch, size_t stride, F&& fn, int64_t step = 1) {
  step = std::max(step, tiles / WorkShares::kMostItems + 1);
  const int64_t claims = (tiles + step - 1) / step, slots = tile_slots(claims, ctx.threads());
  if (slots == 1) {
    for (int64_t t = 0; t < tiles; ++t) fn(t, scratch);
    return;
  }
  WorkShares shares;
  shares.reset(claims, static_cast<int>(slots));
  ctx.parallel_for(slots, 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s)
      for (int64_t c; (c = shares.take(static_cast<int>(s))) >= 0;)
        for (int64_t t = c * step; t < std::min((c + 1) * step, tiles); ++t)
          fn(t, scratch + static_cast<size_t>(s) * stride);
  });
}

}  // namespace trunnion::ops
