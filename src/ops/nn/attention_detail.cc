#include "ops/nn/attention_detail.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/binary.h"
#include "kernels/gemm.h"
#include "kernels/softmax.h"
#include "kernels/unary.h"
#include "ops/tiles.h"

namespace trunnion::ops {
namespace {

constexpr int64_t kRows = 64;  // query rows of a block

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }
int64_t block_rows(const AttentionShape& s) { return std::min(kRows, std::max<int64_t>(s.queries, 1)); }
int64_t tiles(const AttentionShape& s) { return s.batch * s.heads * ((s.queries + block_rows(s) - 1) / block_rows(s)); }
size_t score_bytes(const AttentionShape& s) {
  return aligned(static_cast<size_t>(block_rows(s) * (s.keys + 1)) * sizeof(float));
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
  int64_t offset = a.offsets ? a.offsets[batch] : a.offset;
  if (a.key_counts) {
    const int64_t count = std::clamp<int64_t>(a.key_counts[batch], 0, s.keys);
    r.last = count;
    if (a.offset_by_count) offset = count - s.queries;
  }
  const int64_t at = offset + i;
  if (a.causal && !(a.last_is_free && i + 1 == s.queries)) r.last = std::min(r.last, at + 1);
  if (a.right >= 0 && a.right < s.keys) r.last = std::min(r.last, at + a.right + 1);
  if (a.left >= 0 && a.left <= at) r.first = std::max(r.first, at - a.left);
  if (a.bias || a.allowed) r.last = std::min(r.last, a.mask_keys);
  r.last = std::max<int64_t>(r.last, 0);
  r.first = std::min(r.first, r.last);
  return r;
}

void add(float* row, const float* what, int64_t begin, int64_t end) {
  const auto fn = kernels::binary(kernels::BinaryOp::add, kernels::Elem::f32, kernels::BinaryShape::vector_vector);
  if (begin < end) fn(row + begin, what + begin, row + begin, static_cast<size_t>(end - begin));
}

// Where the mask of query i begins.
int64_t mask_at(const AttentionArgs& a, const Block& b, int64_t i) {
  const int64_t head = a.mask_heads ? b.head % a.mask_heads : b.head;
  return b.batch * a.mask_batch + head * a.mask_head + i * a.mask_row;
}
const float* bias_row(const AttentionArgs& a, const Block& b, int64_t i) { return a.bias + mask_at(a, b, i); }
const float* padding_row(const AttentionArgs& a, const Block& b, int64_t i) {
  return a.padding.data + b.batch * a.padding.batch_step + b.head * a.padding.head_step + i * a.padding.row_step;
}

// Scores of the block, rows `stride` apart, go to args.scores.
void store(const AttentionShape& s, const AttentionArgs& a, const Block& b, const float* scores, int64_t stride) {
  float* to = a.scores + ((b.batch * s.heads + b.head) * s.queries + b.row) * s.keys;
  for (int64_t i = 0; i < b.rows; ++i, to += s.keys) {
    std::memcpy(to, scores + i * stride, static_cast<size_t>(s.keys) * sizeof(float));
    if (!a.zero_left_out) continue;
    const KeyRange r = key_range(s, a, b.batch, b.row + i);
    std::fill(to, to + r.first, 0.0f);
    std::fill(to + r.last, to + s.keys, 0.0f);
  }
}

// Leaves keys out and adds what is to be added; one of the terms may be left to the softmax, which adds it on its way.
AttentionBias apply_masks(const AttentionShape& s, const AttentionArgs& a, const Block& b, float* scores, int64_t cols,
                          int64_t stride) {
  // A finite score of keys left out must stay as it is.
  bool later = !a.scores;
  for (int64_t i = 0; later && std::isfinite(a.left_out) && i < b.rows; ++i) {
    const KeyRange r = key_range(s, a, b.batch, b.row + i);
    later = r.first == 0 && r.last >= cols;
  }
  const bool add_padding = a.padding.data && !later, add_bias = a.bias && (!later || a.padding.data);
  for (int64_t i = 0; i < b.rows; ++i) {
    float* row = scores + i * stride;
    const KeyRange r = key_range(s, a, b.batch, b.row + i);
    const int64_t first = std::min(r.first, cols), last = std::min(r.last, cols);
    std::fill(row, row + first, a.left_out);
    std::fill(row + last, row + cols, a.left_out);
    if (add_bias) add(row, bias_row(a, b, b.row + i), first, last);
    if (add_padding) add(row, padding_row(a, b, b.row + i), first, last);
    if (a.allowed) {
      const bool* allowed = a.allowed + mask_at(a, b, b.row + i);
      for (int64_t j = first; j < last; ++j) row[j] = allowed[j] ? row[j] : a.left_out;
    }
  }
  if (!later) return {};
  if (a.padding.data) return {padding_row(a, b, b.row), 0, 0, a.padding.row_step};
  if (a.bias) return {bias_row(a, b, b.row), 0, 0, a.mask_row};
  return {};
}

void run_block(const AttentionShape& s, const AttentionArgs& a, const Block& b, float* scores, std::byte* scratch) {
  const int64_t kv_head = b.head / (s.heads / s.kv_heads);
  const bool sink = a.smooth || a.sinks;
  const int64_t stride = s.keys + (sink ? 1 : 0);
  // Columns that no row of the block looks at are not computed, unless somebody wants to see them.
  int64_t used = 0;
  for (int64_t i = 0; i < b.rows; ++i) used = std::max(used, key_range(s, a, b.batch, b.row + i).last);
  const int64_t cols = a.scores ? s.keys : used;
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
  g.ldc = stride;
  g.epilogue.alpha = a.scale;
  kernels::gemm_tile(g, 0, g.m, 0, g.n, scratch);
  if (a.scores && a.stage == 0) store(s, a, b, scores, stride);
  if (a.softcap != 0)
    for (int64_t i = 0; i < b.rows; ++i)
      kernels::unary(kernels::UnaryOp::scaled_tanh, kernels::Elem::f32)(
          scores + i * stride, scores + i * stride, static_cast<size_t>(cols),
          {static_cast<double>(a.softcap), 1 / static_cast<double>(a.softcap)});
  if (a.scores && a.stage == 1) store(s, a, b, scores, stride);
  const AttentionBias rest = apply_masks(s, a, b, scores, cols, stride);
  if (a.scores && a.stage == 2) store(s, a, b, scores, stride);
  if (sink) {
    // The column that belongs to no key stands behind the others; whatever is left to add is not added to it.
    for (int64_t i = 0; i < b.rows; ++i) {
      float* row = scores + i * stride;
      if (rest.data) add(row, rest.data + i * rest.row_step, 0, cols);
      row[cols] = a.sinks ? a.sinks[b.head] : 0;
    }
    kernels::softmax().attention(scores, nullptr, b.rows, cols + 1, stride, 0, 1.0f);
  } else if (cols > 0) {
    kernels::softmax().attention(scores, rest.data, b.rows, cols, stride, rest.row_step, 1.0f);
  }
  if (a.scores && a.stage == 3) store(s, a, b, scores, stride);
  g = {};
  g.m = b.rows;
  g.n = s.v_head_size;
  g.k = std::isfinite(a.left_out) ? cols : used;
  g.a = scores;
  g.a_row_stride = stride;
  g.b = at(a.v, kv_head);
  g.b_k_stride = a.v.row_step;
  g.b_n_stride = 1;
  g.c = a.y + b.batch * a.y_batch + b.head * a.y_head + b.row * a.y_row;
  g.ldc = a.y_row;
  kernels::gemm_tile(g, 0, g.m, 0, g.n, scratch);
}

}  // namespace

AttentionRows append_rows(KernelContext& ctx, const AppendRows& a) {
  const int64_t block = a.rows * a.size;
  if (block > 0)
    ctx.parallel_for(a.batch * a.heads, 65536 / block + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t batch = i / a.heads, head = i % a.heads;
        const int64_t past = a.pasts ? a.pasts[batch] : a.past, count = a.counts ? a.counts[batch] : a.count;
        float *to = a.to + i * block, *fresh = to + past * a.size;
        if (a.old != a.to) {
          if (past > 0)
            std::memcpy(to, a.old + i * a.old_rows * a.size, static_cast<size_t>(past * a.size) * sizeof(float));
          std::fill(fresh + count * a.size, to + block, 0.0f);
        }
        const float* from = a.fresh.data + batch * a.fresh.batch_step + head * a.fresh.head_step;
        for (int64_t r = 0; r < count; ++r, from += a.fresh.row_step, fresh += a.size) {
          std::memcpy(fresh, from, static_cast<size_t>(a.size) * sizeof(float));
          if (a.bias) add(fresh, a.bias + head * a.size, 0, a.size);
        }
      }
    });
  return {a.to, a.heads * block, block, a.size};
}

void set_score_bias(const TensorView& bias, AttentionArgs& a) {
  const int64_t matrix = bias.dim(2) * bias.dim(3);
  a.bias = bias.as<const float>();
  a.mask_keys = a.mask_row = bias.dim(3);
  a.mask_head = bias.dim(1) == 1 ? 0 : matrix;
  a.mask_batch = bias.dim(0) == 1 ? 0 : bias.dim(1) * matrix;
}

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

Status expect_shape(const ir::Facts& f, int i, const SymShape& want) {
  if (!f.has_rank(i)) return {};
  const SymShape& have = f.in(i).shape();
  bool fits = have.size() == want.size();
  for (size_t d = 0; fits && d < have.size(); ++d) fits = !have[d].is_int() || !want[d].is_int() || have[d] == want[d];
  if (fits) return {};
  return invalid_argument("input {} has shape {}, expected {}", i, shape_text(have), shape_text(want));
}

}  // namespace trunnion::ops
