#include "ops/nn/attention_detail.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/gemm.h"
#include "kernels/softmax.h"
#include "kernels/unary.h"
#include "ops/tiles.h"

namespace trunnion::ops {
namespace {

constexpr int64_t kRows = 64;  // query rows of a block
constexpr float kMasked = -std::numeric_limits<float>::infinity();

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }
int64_t block_rows(const AttentionShape& s) { return std::min(kRows, std::max<int64_t>(s.queries, 1)); }
int64_t tiles(const AttentionShape& s) { return s.batch * s.heads * ((s.queries + block_rows(s) - 1) / block_rows(s)); }
size_t score_bytes(const AttentionShape& s) {
  return aligned(static_cast<size_t>(block_rows(s) * s.keys) * sizeof(float));
}
size_t stride(const AttentionShape& s) {
  return score_bytes(s) + aligned(std::max(kernels::gemm_scratch_size(s.keys, s.head_size),
                                           kernels::gemm_scratch_size(s.v_head_size, s.keys)));
}

struct Block {
  int64_t batch, head, row, rows;
};

// Keys [first, last) that row i may look at.
struct KeyRange {
  int64_t first, last;
};
KeyRange key_range(const AttentionShape& s, const AttentionArgs& a, int64_t batch, int64_t i) {
  KeyRange r{0, s.keys};
  int64_t offset = a.offset;
  if (a.key_counts) {
    const int64_t count = std::clamp<int64_t>(a.key_counts[batch], 0, s.keys);
    r.last = count;
    if (a.offset_by_count) offset = count - s.queries;
  }
  const int64_t at = offset + i;
  if (a.causal) r.last = std::min(r.last, at + 1);
  if (a.right >= 0 && a.right < s.keys) r.last = std::min(r.last, at + a.right + 1);
  if (a.left >= 0 && a.left <= at) r.first = std::max(r.first, at - a.left);
  if (a.bias || a.allowed) r.last = std::min(r.last, a.mask_keys);
  r.last = std::max<int64_t>(r.last, 0);
  r.first = std::min(r.first, r.last);
  return r;
}

void add_bias(const AttentionArgs& a, const Block& b, int64_t i, KeyRange range, float* row) {
  const int64_t at = b.batch * a.mask_batch + b.head * a.mask_head + i * a.mask_row;
  if (a.bias)
    for (int64_t j = range.first; j < range.last; ++j) row[j] += a.bias[at + j];
  if (a.allowed)
    for (int64_t j = range.first; j < range.last; ++j) row[j] = a.allowed[at + j] ? row[j] : kMasked;
}

// Rows of the scores [.., keys] of which `cols` columns exist go to args.scores; the columns behind were never computed
// because they are left out.
void store(const AttentionShape& s, const AttentionArgs& a, const Block& b, const float* scores) {
  float* to = a.scores + ((b.batch * s.heads + b.head) * s.queries + b.row) * s.keys;
  std::memcpy(to, scores, static_cast<size_t>(b.rows * s.keys) * sizeof(float));
}

void run_block(const AttentionShape& s, const AttentionArgs& a, const Block& b, float* scores, std::byte* scratch) {
  const int64_t kv_head = b.head / (s.heads / s.kv_heads);
  // Columns that no row of the block looks at are not computed, unless somebody wants to see them.
  int64_t cols = 0;
  for (int64_t i = 0; i < b.rows; ++i) cols = std::max(cols, key_range(s, a, b.batch, b.row + i).last);
  if (a.scores) cols = s.keys;
  const auto at = [&](const AttentionRows& r, int64_t head) {
    return r.data + b.batch * r.batch_step + head * r.head_step;
  };
  kernels::GemmArgs g;
  g.m = b.rows;
  g.n = cols;
  g.k = s.head_size;
  g.a = at(a.q, b.head) + b.row * a.q.row_step;
  g.a_row_stride = a.q.row_step;
  g.b = at(a.k, kv_head);
  g.b_k_stride = 1;
  g.b_n_stride = a.k.row_step;
  g.c = scores;
  g.ldc = s.keys;
  g.epilogue.alpha = a.scale;
  kernels::gemm_tile(g, 0, g.m, 0, g.n, scratch);
  if (a.scores && a.stage == 0) store(s, a, b, scores);
  if (a.softcap != 0)
    for (int64_t i = 0; i < b.rows; ++i)
      kernels::unary(kernels::UnaryOp::scaled_tanh, kernels::Elem::f32)(
          scores + i * s.keys, scores + i * s.keys, static_cast<size_t>(cols),
          {static_cast<double>(a.softcap), 1 / static_cast<double>(a.softcap)});
  if (a.scores && a.stage == 1) store(s, a, b, scores);
  for (int64_t i = 0; i < b.rows; ++i) {
    float* row = scores + i * s.keys;
    const KeyRange r = key_range(s, a, b.batch, b.row + i);
    std::fill(row, row + std::min(r.first, cols), kMasked);
    std::fill(row + std::min(r.last, cols), row + cols, kMasked);
    add_bias(a, b, b.row + i, r, row);
  }
  if (a.scores && a.stage == 2) store(s, a, b, scores);
  if (cols > 0) kernels::softmax().attention(scores, nullptr, b.rows, cols, s.keys, 0, 1.0f);
  if (a.scores && a.stage == 3) store(s, a, b, scores);
  g = {};
  g.m = b.rows;
  g.n = s.v_head_size;
  g.k = cols;
  g.a = scores;
  g.a_row_stride = s.keys;
  g.b = at(a.v, kv_head);
  g.b_k_stride = a.v.row_step;
  g.b_n_stride = 1;
  g.c = a.y + b.batch * a.y_batch + b.head * a.y_head + b.row * a.y_row;
  g.ldc = a.y_row;
  kernels::gemm_tile(g, 0, g.m, 0, g.n, scratch);
}

}  // namespace

size_t attention_scratch(const AttentionShape& s, int threads) {
  return stride(s) * static_cast<size_t>(tile_slots(tiles(s), threads));
}

void attention(KernelContext& ctx, const AttentionShape& s, const AttentionArgs& args, std::byte* scratch) {
  const int64_t rows = block_rows(s), per_head = (s.queries + rows - 1) / rows;
  for_each_tile(ctx, tiles(s), scratch, stride(s), [&](int64_t t, std::byte* own) {
    const int64_t row = t % per_head * rows;
    const Block block{t / per_head / s.heads, t / per_head % s.heads, row, std::min(rows, s.queries - row)};
    run_block(s, args, block, reinterpret_cast<float*>(own), own + score_bytes(s));
  });
}

}  // namespace trunnion::ops
