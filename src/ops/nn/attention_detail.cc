#include "ops/nn/attention_detail.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/checked_math.h"
#include "kernels/binary.h"
#include "kernels/gemm.h"
#include "kernels/softmax.h"
#include "kernels/unary.h"
#include "ops/tiles.h"

namespace trunnion::ops {
namespace {

constexpr int64_t kRows = 64;                  // query rows of a block, ...
constexpr int64_t kScores = int64_t{1} << 16;  // ... less where so many rows of scores would leave the cache

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Blocks of nearly equal length that the queries of a head are cut into. The shape decides, not the threads.
int64_t block_count(const AttentionShape& s) {
  const int64_t most = std::clamp(kScores / std::max<int64_t>(s.keys, 1), kRows / 2, kRows);
  return ceil_div(std::max<int64_t>(s.queries, 1), most);
}
int64_t block_rows(const AttentionShape& s) { return ceil_div(s.queries, block_count(s)); }

// A tile is a run of blocks of one head. Few heads are cut so that every thread has some.
int64_t tiles_per_head(const AttentionShape& s, int threads) {
  const int64_t heads = s.batch * s.heads;
  if (threads <= 1 || heads == 0 || heads >= 4 * int64_t{threads}) return 1;
  return std::min(block_count(s), ceil_div(4 * int64_t{threads}, heads));
}
int64_t tiles(const AttentionShape& s, int threads) { return s.batch * s.heads * tiles_per_head(s, threads); }

// Floats from one row of scores to the next: an odd number of cache lines, so that rows do not share their sets.
int64_t score_stride(const AttentionShape& s) { return (s.keys + 16) / 16 * 16 | 16; }

// What lies where in the scratch of a tile: scores, the packed keys and values, what a product needs. Sizes in bytes.
struct Room {
  size_t scores, keys, values, product;
  size_t total() const { return scores + keys + values + product; }
};
Room room(const AttentionShape& s) {
  const auto floats = [](int64_t n) { return aligned(static_cast<size_t>(n) * sizeof(float)); };
  const bool pack = block_count(s) > 1;
  return {floats(block_rows(s) * score_stride(s)), pack ? floats(kernels::gemm_packed_b_size(s.head_size, s.keys)) : 0,
          pack ? floats(kernels::gemm_packed_b_size(s.keys, s.v_head_size)) : 0,
          aligned(std::max(kernels::gemm_scratch_size(s.keys, s.head_size),
                           kernels::gemm_scratch_size(s.v_head_size, s.keys)))};
}

struct Block {
  int64_t batch, head, row, rows;
  const float *packed_k, *packed_v;  // null: read where they are
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

// Whether every query looks at all keys.
bool is_unbounded(const AttentionShape& s, const AttentionArgs& a) {
  return !a.causal && !a.key_counts && !(a.right >= 0 && a.right < s.keys) && a.left < 0 &&
         !((a.bias || a.allowed) && a.mask_keys < s.keys);
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

// Leaves out the keys in [begin, end) that the mask does not allow.
void select(const AttentionArgs& a, const Block& b, int64_t i, float* row, int64_t begin, int64_t end) {
  const bool* allowed = a.allowed + mask_at(a, b, i);
  for (int64_t j = begin; j < end; ++j) row[j] = allowed[j] != a.allowed_is_inverted ? row[j] : a.left_out;
}

// Leaves keys out and adds what is to be added; one of the terms may be left to the softmax, which adds it on its way.
AttentionBias apply_masks(const AttentionShape& s, const AttentionArgs& a, const Block& b, float* scores, int64_t cols,
                          int64_t stride) {
  const bool unbounded = is_unbounded(s, a);
  // A finite score of keys left out must stay as it is.
  bool later = !a.scores && !(a.allowed && !a.select_before_bias && a.padding.data);
  for (int64_t i = 0; later && !unbounded && std::isfinite(a.left_out) && i < b.rows; ++i) {
    const KeyRange r = key_range(s, a, b.batch, b.row + i);
    later = r.first == 0 && r.last >= cols;
  }
  const bool add_padding = a.padding.data && !later, add_bias = a.bias && (!later || a.padding.data);
  for (int64_t i = 0; i < b.rows && (!unbounded || add_padding || add_bias || a.allowed); ++i) {
    float* row = scores + i * stride;
    const KeyRange r = key_range(s, a, b.batch, b.row + i);
    const int64_t first = std::min(r.first, cols), last = std::min(r.last, cols);
    std::fill(row, row + first, a.left_out);
    std::fill(row + last, row + cols, a.left_out);
    if (a.allowed && a.select_before_bias) select(a, b, b.row + i, row, first, last);
    if (add_bias) add(row, bias_row(a, b, b.row + i), first, last);
    if (add_padding) add(row, padding_row(a, b, b.row + i), first, last);
    if (a.allowed && !a.select_before_bias) select(a, b, b.row + i, row, first, last);
  }
  if (!later) return {};
  if (a.padding.data) return {padding_row(a, b, b.row), 0, 0, a.padding.row_step};
  if (a.bias) return {bias_row(a, b, b.row), 0, 0, a.mask_row};
  return {};
}

const float* at(const AttentionRows& r, int64_t batch, int64_t head) {
  return r.data + batch * r.batch_step + head * r.head_step;
}

// Rows that the softmax made 0 because all their scores are -inf.
void empty_rows_to_nan(float* scores, int64_t rows, int64_t cols, int64_t stride) {
  for (int64_t i = 0; i < rows; ++i) {
    float* row = scores + i * stride;
    if (std::all_of(row, row + cols, [](float p) { return p == 0; }))
      std::fill(row, row + cols, std::numeric_limits<float>::quiet_NaN());
  }
}

void run_block(const AttentionShape& s, const AttentionArgs& a, const Block& b, float* scores, std::byte* scratch) {
  const int64_t kv_head = b.head / (s.heads / s.kv_heads), stride = score_stride(s);
  const bool sink = a.smooth || a.sinks, unbounded = is_unbounded(s, a);
  // Columns that no row of the block looks at are not computed, unless somebody wants to see them.
  int64_t used = unbounded ? s.keys : 0;
  for (int64_t i = 0; !unbounded && i < b.rows; ++i) used = std::max(used, key_range(s, a, b.batch, b.row + i).last);
  const int64_t cols = a.scores ? s.keys : used;
  // The softmax scales on its way, unless something else comes first.
  const bool scale_later =
      unbounded && !a.scores && !sink && a.softcap == 0 && !a.allowed && !(a.bias && a.padding.data);
  kernels::GemmArgs g;
  g.m = s.queries;  // of which these are some: a product's bits depend on its shape
  g.n = s.keys;
  g.k = s.head_size;
  g.a = at(a.q, b.batch, b.head) + b.row * a.q.row_step;
  g.a_row_stride = a.q.row_step;
  g.a_k_stride = a.q.elem_step;
  g.packed_b = b.packed_k;
  g.b = at(a.k, b.batch, kv_head);
  g.b_k_stride = a.k.elem_step;
  g.b_n_stride = a.k.row_step;
  g.c = scores;
  g.ldc = stride;
  if (!scale_later) g.epilogue.alpha = a.scale;
  const int64_t width = kernels::gemm_panel_width();
  kernels::gemm_tile(g, 0, b.rows, 0, std::min(s.keys, ceil_div(cols, width) * width), scratch);
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
    kernels::softmax().attention(scores, rest.data, b.rows, cols, stride, rest.row_step, scale_later ? a.scale : 1.0f);
    if (a.empty_is_nan) empty_rows_to_nan(scores, b.rows, cols, stride);
  }
  if (a.scores && a.stage == 3) store(s, a, b, scores, stride);
  g = {};
  g.m = s.queries;
  g.n = s.v_head_size;
  g.k = std::isfinite(a.left_out) ? cols : used;
  g.a = scores;
  g.a_row_stride = stride;
  g.packed_b = g.k == s.keys ? b.packed_v : nullptr;
  g.b = at(a.v, b.batch, kv_head);
  g.b_k_stride = a.v.row_step;
  g.b_n_stride = a.v.elem_step;
  g.c = a.y + b.batch * a.y_batch + b.head * a.y_head + b.row * a.y_row;
  g.ldc = a.y_row;
  kernels::gemm_tile(g, 0, b.rows, 0, g.n, scratch);
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
  return room(s).total() * static_cast<size_t>(tile_slots(tiles(s, threads), threads));
}

void attention(KernelContext& ctx, const AttentionShape& s, const AttentionArgs& args, std::byte* scratch) {
  const int64_t blocks = block_count(s), per_head = tiles_per_head(s, ctx.threads());
  const Room r = room(s);
  for_each_tile(ctx, tiles(s, ctx.threads()), scratch, r.total(), [&](int64_t t, std::byte* own) {
    const int64_t batch = t / per_head / s.heads, head = t / per_head % s.heads;
    const int64_t begin = t % per_head * blocks / per_head, end = (t % per_head + 1) * blocks / per_head;
    auto* scores = reinterpret_cast<float*>(own);
    Block block{batch, head, 0, 0, nullptr, nullptr};
    if (end - begin > 1) {
      const int64_t kv_head = head / (s.heads / s.kv_heads);
      auto* k = reinterpret_cast<float*>(own + r.scores);
      auto* v = reinterpret_cast<float*>(own + r.scores + r.keys);
      kernels::gemm_pack_b(at(args.k, batch, kv_head), args.k.elem_step, args.k.row_step, s.head_size, s.keys, 0,
                           kernels::gemm_panel_count(s.keys), k);
      block.packed_k = k;
      if (is_unbounded(s, args)) {  // else every block has a product of another length
        kernels::gemm_pack_b(at(args.v, batch, kv_head), args.v.row_step, args.v.elem_step, s.keys, s.v_head_size, 0,
                             kernels::gemm_panel_count(s.v_head_size), v);
        block.packed_v = v;
      }
    }
    for (int64_t i = begin; i < end; ++i) {
      block.row = i * s.queries / blocks;
      block.rows = (i + 1) * s.queries / blocks - block.row;
      run_block(s, args, block, scores, own + r.scores + r.keys + r.values);
    }
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
