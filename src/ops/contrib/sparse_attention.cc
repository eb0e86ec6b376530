// SparseAttention (com.microsoft 1): causal attention of grouped heads in which a block of positions looks only at
// blocks that a sparse layout lists, over a cache of fixed size.
#include <algorithm>
#include <cmath>

#include "ops/nn/attention_detail.h"
#include "ops/nn/rotary_detail.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

enum Input { kQuery, kKey, kValue, kPastKey, kPastValue, kRowIndices, kColumns, kTotal, kLengths, kCos, kSin };

struct Params {
  int64_t heads, kv_heads, block;
  float scale;
  bool rotary, interleaved;
};
Result<Params> read(const ir::Node& n) {
  const Params p{n.attr("num_heads", 0), n.attr("kv_num_heads", 0),   n.attr("sparse_block_size", 0),
                 n.attr("scale", 0.0f),  n.attr("do_rotary", 0) != 0, n.attr("rotary_interleaved", 0) != 0};
  if (p.heads < 1 || p.kv_heads < 1 || p.heads % p.kv_heads != 0)
    return invalid_argument("num_heads {} must be a multiple of kv_num_heads {}", p.heads, p.kv_heads);
  if (p.block < 1 || p.block > INT32_MAX) return invalid_argument("attribute sparse_block_size is {}", p.block);
  return p;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  for (int i = 0; i < 3; ++i) f.set(i, f.dtype(kQuery));
  for (int i : {1, 2})
    if (f.has_rank(i + 2)) f.set(i, f.dtype(kQuery), f.in(i + 2).shape());
  if (f.has(kKey) != f.has(kValue)) return invalid_argument("key and value must be both there or both absent");
  if (p.rotary && (!f.has(kCos) || !f.has(kSin))) return invalid_argument("do_rotary needs cos_cache and sin_cache");
  for (int i : {kRowIndices, kColumns}) TRN_TRY(expect_rank(f, i, 2));
  TRN_TRY(expect_rank(f, kQuery, 3));
  if (!f.has_rank(kQuery)) return {};
  const SymShape& q = f.in(kQuery).shape();
  const int64_t heads = f.has(kKey) ? p.heads : p.heads + 2 * p.kv_heads;
  if (q[2].is_int() && q[2].value() % heads != 0)
    return invalid_argument("query has rows of {} elements, which do not divide into {} heads", q[2].value(), heads);
  const Dim head = floor_div(q[2], Dim(heads));
  for (int i : {kKey, kValue}) TRN_TRY(expect_shape(f, i, {q[0], q[1], head * Dim(p.kv_heads)}));
  const Dim rows = f.has_rank(kPastKey) && f.in(kPastKey).rank() == 4 ? f.in(kPastKey).dim(2) : Dim();
  for (int i : {kPastKey, kPastValue}) TRN_TRY(expect_shape(f, i, {q[0], Dim(p.kv_heads), rows, head}));
  TRN_TRY(expect_shape(f, kLengths, {q[0]}));
  f.set(0, f.dtype(kQuery), SymShape{q[0], q[1], head * Dim(p.heads)});
  return {};
}

struct State final : KernelState {
  AttentionShape shape;  // keys: of the cache
  bool packed = false;
  size_t q_at = 0, k_at = 0, v_at = 0, tables_at = 0, allowed_at = 0, attention_at = 0;
};

class SparseCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const Params p, read(n));
    return std::unique_ptr<Kernel>(new SparseCpu(p));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    const TensorView& q = ctx.in(kQuery);
    s->packed = !ctx.has_in(kKey);
    const int64_t head = q.dim(2) / (s->packed ? p_.heads + 2 * p_.kv_heads : p_.heads);
    const int64_t rows = ctx.in(kPastKey).dim(2), layouts = ctx.in(kRowIndices).dim(0);
    if (layouts < 1 || p_.heads % layouts != 0 || ctx.in(kColumns).dim(0) != layouts)
      return invalid_argument("{} and {} layouts for {} heads", layouts, ctx.in(kColumns).dim(0), p_.heads);
    AttentionShape& z = s->shape;
    z = {q.dim(0), p_.heads, p_.kv_heads, q.dim(1), rows, head, head};
    size_t end = 0;
    const auto take = [&end](int64_t elements, size_t size) {
      const size_t at = end;
      end += (static_cast<size_t>(elements) * size + 63) / 64 * 64;
      return at;
    };
    if (p_.rotary) s->q_at = take(z.batch * z.heads * z.queries * head, sizeof(float));
    if (!ctx.has_out(1)) s->k_at = take(z.batch * z.kv_heads * rows * head, sizeof(float));
    if (!ctx.has_out(2)) s->v_at = take(z.batch * z.kv_heads * rows * head, sizeof(float));
    s->tables_at = take(3 * z.batch, sizeof(int64_t));
    s->allowed_at = take(z.batch * layouts * z.queries * rows, sizeof(bool));
    s->attention_at = end;
    ctx.request_scratch(end + attention_scratch(z, ctx.threads()));
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const AttentionShape& z = s.shape;
    if (z.batch == 0) return {};
    auto* past = reinterpret_cast<int64_t*>(ctx.scratch() + s.tables_at);
    int64_t *fresh = past + z.batch, *keys = fresh + z.batch;
    if (ctx.in(kLengths).count != z.batch)
      return invalid_argument("key_total_sequence_lengths has {} elements for a batch of {}", ctx.in(kLengths).count,
                              z.batch);
    for (int64_t b = 0; b < z.batch; ++b) {
      keys[b] = ctx.in(kLengths).as<const int32_t>()[b];
      if (keys[b] < 1 || keys[b] > z.keys)
        return invalid_argument("key_total_sequence_lengths[{}] is {}, expected 1 to {}", b, keys[b], z.keys);
      fresh[b] = std::min(z.queries, keys[b]);
      past[b] = keys[b] - fresh[b];
    }
    if (p_.rotary) {
      const TensorView &cos = ctx.in(kCos), &sin = ctx.in(kSin);
      if (cos.rank != 2 || sin.rank != 2 || cos.dim(1) != sin.dim(1) || 2 * cos.dim(1) > z.head_size ||
          std::min(cos.dim(0), sin.dim(0)) < *std::max_element(keys, keys + z.batch))
        return invalid_argument(
            "cos_cache and sin_cache have shapes {} and {} for {} positions of heads of {} elements",
            shape_text(cos.shape()), shape_text(sin.shape()), *std::max_element(keys, keys + z.batch), z.head_size);
    }
    const int64_t h = z.head_size, row = (s.packed ? p_.heads + 2 * p_.kv_heads : p_.heads) * h;
    const int64_t kv_row = p_.kv_heads * h;
    const auto* query = ctx.in(kQuery).as<const float>();
    AttentionArgs a;
    a.q = {query, z.queries * row, h, row};
    AttentionRows k{query + p_.heads * h, z.queries * row, h, row};
    AttentionRows v{query + (p_.heads + p_.kv_heads) * h, z.queries * row, h, row};
    if (!s.packed) {
      k = {ctx.in(kKey).as<const float>(), z.queries * kv_row, h, kv_row};
      v = {ctx.in(kValue).as<const float>(), z.queries * kv_row, h, kv_row};
    }
    if (p_.rotary) {
      AppendRows append;
      append.batch = z.batch;
      append.heads = p_.heads;
      append.size = h;
      append.fresh = a.q;
      append.to = reinterpret_cast<float*>(ctx.scratch() + s.q_at);
      append.rows = append.count = z.queries;
      a.q = append_rows(ctx, append);
      turn(ctx, z, append.to, p_.heads, z.queries, nullptr, past, fresh);
    }
    a.k = gather(ctx, s, k, 1, s.k_at, past, fresh);
    if (p_.rotary) turn(ctx, z, const_cast<float*>(a.k.data), p_.kv_heads, z.keys, past, past, fresh);
    a.v = gather(ctx, s, v, 2, s.v_at, past, fresh);
    a.y = ctx.out(0).as<float>();
    a.y_row = p_.heads * h;
    a.y_batch = z.queries * a.y_row;
    a.y_head = h;
    a.scale = p_.scale != 0 ? p_.scale : 1 / std::sqrt(static_cast<float>(h));
    a.causal = true;
    a.offsets = past;
    a.key_counts = keys;
    TRN_TRY(spread_layouts(ctx, s, past, keys, a));
    if (ctx.out(0).count > 0) attention(ctx, z, a, ctx.scratch() + s.attention_at);
    return {};
  }

 private:
  explicit SparseCpu(Params p) : p_(p) {}

  AttentionRows gather(KernelContext& ctx, const State& s, const AttentionRows& fresh, int i, size_t scratch_at,
                       const int64_t* pasts, const int64_t* counts) const {
    AppendRows append;
    append.batch = s.shape.batch;
    append.heads = p_.kv_heads;
    append.size = s.shape.head_size;
    append.old = ctx.in(i + 2).as<const float>();
    append.old_rows = append.rows = s.shape.keys;
    append.fresh = fresh;
    append.to = ctx.has_out(i) ? ctx.out(i).as<float>() : reinterpret_cast<float*>(ctx.scratch() + scratch_at);
    append.pasts = pasts;
    append.counts = counts;
    return append_rows(ctx, append);
  }

  void turn(KernelContext& ctx, const AttentionShape& z, float* x, int64_t heads, int64_t rows, const int64_t* first,
            const int64_t* positions, const int64_t* counts) const {
    const int64_t half = ctx.in(kCos).dim(1), h = z.head_size;
    const Rotation rotation{2 * half, h, p_.interleaved};
    ctx.parallel_for(z.batch * heads, 16384 / std::max<int64_t>(z.queries * h, 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t batch = i / heads;
        float* row = x + (i * rows + (first ? first[batch] : 0)) * h;
        for (int64_t r = 0; r < counts[batch]; ++r, row += h) {
          const int64_t at = (positions[batch] + r) * half;
          rotate(rotation, row, row, ctx.in(kCos).as<const float>() + at, ctx.in(kSin).as<const float>() + at);
        }
      }
    });
  }

  // From rows of blocks to what every query may look at, by batch and layout.
  Status spread_layouts(KernelContext& ctx, const State& s, const int64_t* past, const int64_t* keys,
                        AttentionArgs& a) const {
    const AttentionShape& z = s.shape;
    const TensorView &rows = ctx.in(kRowIndices), &columns = ctx.in(kColumns);
    const int64_t layouts = rows.dim(0), blocks = rows.dim(1) - 1, listed = columns.dim(1);
    auto* allowed = reinterpret_cast<bool*>(ctx.scratch() + s.allowed_at);
    for (int64_t l = 0; l < layouts; ++l)
      for (int64_t r = 0; r <= blocks; ++r)
        if (const int32_t at = rows.as<const int32_t>()[l * (blocks + 1) + r]; at < 0 || at > listed)
          return invalid_argument("block_row_indices[{},{}] is {}, expected 0 to {}", l, r, at, listed);
    const int64_t most = *std::max_element(keys, keys + z.batch);
    if (most > blocks * p_.block)
      return invalid_argument("{} positions, but the layout has {} blocks of {}", most, blocks, p_.block);
    ctx.parallel_for(z.batch * layouts * z.queries, 16384 / z.keys + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t query = i % z.queries, l = i / z.queries % layouts, b = i / z.queries / layouts;
        bool* row = allowed + i * z.keys;
        std::fill(row, row + z.keys, false);
        const int64_t block = std::min((past[b] + query) / p_.block, blocks - 1);
        const auto* index = rows.as<const int32_t>() + l * (blocks + 1) + block;
        for (int64_t at = index[0]; at < index[1]; ++at) {
          const int64_t column = columns.as<const int32_t>()[l * listed + at];
          if (column < 0 || column >= blocks) continue;
          const int64_t first = std::min(column * p_.block, z.keys), last = std::min(first + p_.block, z.keys);
          std::fill(row + first, row + last, true);
        }
      }
    });
    a.allowed = allowed;
    a.mask_row = a.mask_keys = z.keys;
    a.mask_head = z.queries * z.keys;
    a.mask_heads = layouts;
    a.mask_batch = layouts * a.mask_head;
    return {};
  }

  Params p_;
};

constexpr OpDef kDefs[] = {
    {"SparseAttention",
     infer,
     cpu_widened<SparseCpu>(DType::f32 | DType::f16 | DType::bf16),
     {.reviewed = 1, .in_place = {{1, 3}, {2, 4}}},
     "com.microsoft",
     "com.microsoft::SparseAttention 1 (query:T, key?:T, value?:T, past_key:T, past_value:T, block_row_indices:M, "
     "block_col_indices:M, total_sequence_length:M, key_total_sequence_lengths:M, cos_cache?:T, sin_cache?:T) -> "
     "(output:T, present_key:T, present_value:T) {num_heads!:i, kv_num_heads!:i, scale:f, sparse_block_size!:i, "
     "do_rotary:i, rotary_interleaved:i} T=f32|f16|bf16 M=i32"},
};

}  // namespace

TRUNNION_OPS(sparse_attention, kDefs);

}  // namespace trunnion::ops
