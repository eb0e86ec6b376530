// GroupQueryAttention (com.microsoft 1): causal attention with fewer heads of keys than of queries, rotary positions
// and a cache that is a growing tensor, a buffer of fixed size, or a sliding window; in floats or in 8 or 4 bits.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/norm.h"
#include "ops/contrib/kv_cache_detail.h"
#include "ops/nn/attention_detail.h"
#include "ops/nn/rotary_detail.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

enum Input {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths,
  kTotal,
  kCos,
  kSin,
  kPositions,
  kScoreBias,
  kSinks,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm,
  kQueryLengths
};

struct Params {
  int64_t heads, kv_heads;
  float scale, softcap;
  bool rotary, interleaved, smooth, causal, sliding;
  int64_t window;  // -1: none
  int64_t qk_output;
  float q_epsilon, k_epsilon;
};

Result<Params> read(const ir::Node& n) {
  const float epsilon = n.attr("qk_norm_epsilon", 1e-6f);
  const Params p{n.attr("num_heads", 0),           n.attr("kv_num_heads", 0),   n.attr("scale", 0.0f),
                 n.attr("softcap", 0.0f),          n.attr("do_rotary", 0) == 1, n.attr("rotary_interleaved", 0) == 1,
                 n.attr("smooth_softmax", 0) == 1, n.attr("causal", 1) != 0,    n.attr("sliding_window_cache", 0) != 0,
                 n.attr("local_window_size", -1),  n.attr("qk_output", 0),      n.attr("q_norm_epsilon", epsilon),
                 n.attr("k_norm_epsilon", epsilon)};
  if (p.heads < 1 || p.kv_heads < 1 || p.heads % p.kv_heads != 0)
    return invalid_argument("num_heads {} must be a multiple of kv_num_heads {}", p.heads, p.kv_heads);
  if (p.qk_output < 0 || p.qk_output > 2) return invalid_argument("attribute qk_output is {}", p.qk_output);
  if (p.window == 0 || p.window < -1)
    return invalid_argument("attribute local_window_size is {}, expected -1 or a positive number", p.window);
  if (!p.causal && p.window != -1) return invalid_argument("local_window_size needs causal = 1");
  if (p.sliding && p.window < 1) return invalid_argument("sliding_window_cache needs a local_window_size");
  return p;
}

struct Sizes {
  bool packed = false;  // Q, K and V in one row
  Dim batch, queries, fresh, head;
};
Result<Sizes> sizes(const Params& p, const SymShape& q, const SymShape* k, const SymShape* v) {
  if (q.size() != 3) return invalid_argument("query has shape {}, needs 3 dimensions", shape_text(q));
  Sizes s{k == nullptr, q[0], q[1], q[1], {}};
  const int64_t heads = s.packed ? p.heads + 2 * p.kv_heads : p.heads;
  if (q[2].is_int() && q[2].value() % heads != 0)
    return invalid_argument("query has rows of {} elements, which do not divide into {} heads", q[2].value(), heads);
  s.head = floor_div(q[2], Dim(heads));
  if ((k == nullptr) != (v == nullptr)) return invalid_argument("key and value must be both there or both absent");
  if (!k) return s;
  const SymShape want{s.batch, Dim(), s.head * Dim(p.kv_heads)};
  for (const SymShape* t : {k, v}) {
    bool fits = t->size() == 3;
    for (size_t i = 0; fits && i < 3; ++i) fits = !(*t)[i].is_int() || !want[i].is_int() || (*t)[i] == want[i];
    if (!fits) return invalid_argument("key or value has shape {}, expected {}", shape_text(*t), shape_text(want));
  }
  if ((*k)[1].is_int() && (*v)[1].is_int() && !((*k)[1] == (*v)[1]))
    return invalid_argument("key and value have lengths {} and {}", (*k)[1].value(), (*v)[1].value());
  s.fresh = (*k)[1];
  return s;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  const DType key_type = f.has(kPastKey) ? f.dtype(kPastKey) : f.dtype(kQuery);
  const DType value_type = f.has(kPastValue) ? f.dtype(kPastValue) : f.dtype(kQuery);
  f.set(0, f.dtype(kQuery));
  f.set(1, key_type);
  f.set(2, value_type);
  f.set(3, f.dtype(kQuery));
  if (f.has(kPastKey) != f.has(kPastValue))
    return invalid_argument("past keys and past values must be both there or both absent");
  if (p.sliding && !f.has(kPastKey)) return invalid_argument("sliding_window_cache needs past keys and values");
  if (f.has(kCos) != f.has(kSin)) return invalid_argument("cos_cache and sin_cache must be both there or both absent");
  if (p.rotary && !f.has(kCos)) return invalid_argument("do_rotary needs cos_cache and sin_cache");
  if (f.has(kQueryNorm) != f.has(kKeyNorm))
    return invalid_argument("q_norm_weight and k_norm_weight must be both there or both absent");
  TRN_ASSIGN(const CacheCode key_code, read_cache_code(n, "k_quant_type", f.dtype(kPastKey)));
  TRN_ASSIGN(const CacheCode value_code, read_cache_code(n, "v_quant_type", f.dtype(kPastValue)));
  if ((key_code.bits && !f.has(kKeyScale)) || (value_code.bits && !f.has(kValueScale)))
    return invalid_argument("a quantized cache needs k_scale and v_scale");
  if (!f.has_rank(kQuery) || (f.has(kKey) && !f.has_rank(kKey)) || (f.has(kValue) && !f.has_rank(kValue))) return {};
  TRN_ASSIGN(const Sizes s, sizes(p, f.in(kQuery).shape(), f.has(kKey) ? &f.in(kKey).shape() : nullptr,
                                  f.has(kValue) ? &f.in(kValue).shape() : nullptr));
  Dim total, rows;
  if (const auto t = f.dims(kTotal); t && t->size() == 1) total = (*t)[0];
  if (total.is_int() && (total.value() < 1 || total.value() > INT32_MAX))
    return invalid_argument("total_sequence_length is {}", total.value());
  rows = total;
  const auto stored = [&](const CacheCode& c) { return c.bits == 4 ? floor_div(s.head + Dim(1), Dim(2)) : s.head; };
  if (f.has(kPastKey)) {
    const Dim old = f.has_rank(kPastKey) && f.in(kPastKey).rank() == 4 ? f.in(kPastKey).dim(2) : Dim();
    TRN_TRY(expect_shape(f, kPastKey, {s.batch, Dim(p.kv_heads), Dim(), stored(key_code)}));
    TRN_TRY(expect_shape(f, kPastValue, {s.batch, Dim(p.kv_heads), old, stored(value_code)}));
    rows = p.sliding ? old : dim_max(total, old);
    if (p.sliding && old.is_int() && old.value() < p.window)
      return invalid_argument("a cache of {} positions is shorter than local_window_size {}", old.value(), p.window);
  }
  TRN_TRY(expect_shape(f, kLengths, {s.batch}));
  TRN_TRY(expect_shape(f, kQueryLengths, {s.batch}));
  TRN_TRY(expect_shape(f, kSinks, {Dim(p.heads)}));
  for (const auto& [input, code] : {std::pair{kKeyScale, &key_code}, std::pair{kValueScale, &value_code}}) {
    const auto have = code->bits && f.has_rank(input) ? f.in(input).concrete() : std::nullopt;
    if (!have || (code->by_channel && !s.head.is_int())) continue;
    const int64_t want = code->by_channel ? p.kv_heads * s.head.value() : 1;
    if (product(*have) != want)
      return invalid_argument("input {} has shape {}, it must have {} elements", static_cast<int>(input),
                              shape_text(*have), want);
  }
  for (int i : {kQueryNorm, kKeyNorm}) TRN_TRY(expect_shape(f, i, {s.head}));
  if (f.has_rank(kScoreBias)) {
    const SymShape& b = f.in(kScoreBias).shape();
    TRN_TRY(expect_rank(f, kScoreBias, 4));
    TRN_TRY(expect_shape(f, kScoreBias,
                         {b[0].is_int(1) ? b[0] : s.batch, b[1].is_int(1) ? b[1] : Dim(p.heads), s.queries, total}));
  }
  f.set(0, f.dtype(kQuery), SymShape{s.batch, s.queries, s.head * Dim(p.heads)});
  f.set(1, key_type, SymShape{s.batch, Dim(p.kv_heads), rows, stored(key_code)});
  f.set(2, value_type, SymShape{s.batch, Dim(p.kv_heads), rows, stored(value_code)});
  f.set(3, f.dtype(kQuery), SymShape{s.batch, Dim(p.heads), s.queries, total});
  return {};
}

// How many of `total` positions a sliding cache of that capacity still holds.
int64_t resident(int64_t total, int64_t capacity, int64_t window) {
  if (total <= capacity || capacity < window) return total;
  const int64_t step = capacity - window + 1;
  return total - step * ((total - capacity + step - 1) / step);
}

struct State final : KernelState {
  AttentionShape shape;  // keys: as many as there can be
  bool packed = false;
  int64_t fresh = 0, old_rows = 0, rows = 0;  // rows: of the present
  int64_t work_rows = 0;                      // of keys and values while attention reads them
  size_t q_at = 0, k_at = 0, v_at = 0, tables_at = 0, attention_at = 0;
};

// A cache of f16 or bf16 stays as it is but for the rows that are needed; one that slides is widened as a whole.
bool has_half_cache(const ir::Node& n) {
  const auto half = [&](int i) { return !n.input(i) || is_half(n.input(i)->fact.dtype()); };
  return n.input(kQuery) && half(kQuery) && half(kPastKey) && half(kPastValue) &&
         n.attr("sliding_window_cache", 0) == 0;
}

// By batch entry.
struct Tables {
  int64_t *keys, *past, *fresh, *offsets, *base, *limits;
};

class GroupQueryKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const Params p, read(n));
    const auto type = [&](int i) { return n.input(i) ? n.input(i)->fact.dtype() : DType::undefined; };
    TRN_ASSIGN(CacheCode k, read_cache_code(n, "k_quant_type", type(kPastKey)));
    TRN_ASSIGN(CacheCode v, read_cache_code(n, "v_quant_type", type(kPastValue)));
    if (has_half_cache(n)) {
      k = {.bits = 16, .half = type(n.input(kPastKey) ? kPastKey : kQuery)};
      v = {.bits = 16, .half = type(n.input(kPastValue) ? kPastValue : kQuery)};
    }
    if (p.sliding && (k.bits || v.bits)) return not_implemented("a sliding cache that is quantized");
    if (p.sliding && (p.qk_output || (n.outputs().size() > 3 && n.output(3))))
      return not_implemented("the output of scores over a sliding cache");
    return std::unique_ptr<Kernel>(new GroupQueryKernel(p, k, v));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto st = std::make_unique<State>();
    SymShape shapes[3];
    for (int i = 0; i < 3; ++i)
      if (ctx.has_in(i)) shapes[i] = to_symbolic(ctx.in(i).shape());
    TRN_ASSIGN(const Sizes s,
               sizes(p_, shapes[0], ctx.has_in(1) ? &shapes[1] : nullptr, ctx.has_in(2) ? &shapes[2] : nullptr));
    st->packed = s.packed;
    st->fresh = s.fresh.value();
    st->old_rows = ctx.has_in(kPastKey) ? ctx.in(kPastKey).dim(2) : 0;
    st->rows = ctx.has_out(1) ? ctx.out(1).dim(2) : ctx.has_out(2) ? ctx.out(2).dim(2) : st->old_rows + st->fresh;
    st->work_rows = p_.sliding ? st->old_rows + st->fresh : st->rows;
    AttentionShape& z = st->shape;
    z = {s.batch.value(), p_.heads, p_.kv_heads, s.queries.value(), st->work_rows, s.head.value(), s.head.value()};
    size_t end = 0;
    const auto take = [&end](int64_t elements, size_t size) {
      const size_t at = end;
      end += (static_cast<size_t>(elements) * size + 63) / 64 * 64;
      return at;
    };
    if (rotates_queries(ctx)) st->q_at = take(z.batch * z.heads * z.queries * z.head_size, sizeof(float));
    const int64_t cache = z.batch * z.kv_heads * st->work_rows * z.head_size;
    if (!in_place(ctx, 1)) st->k_at = take(cache, sizeof(float));
    if (!in_place(ctx, 2)) st->v_at = take(cache, sizeof(float));
    st->tables_at = take(6 * z.batch, sizeof(int64_t));
    st->attention_at = end;
    ctx.request_scratch(end + attention_scratch(z, ctx.threads()));
    return std::unique_ptr<KernelState>(std::move(st));
  }

  Status run(KernelContext& ctx) const override {
    const State& st = *ctx.state<State>();
    AttentionShape z = st.shape;
    auto* numbers = reinterpret_cast<int64_t*>(ctx.scratch() + st.tables_at);
    const int64_t b = z.batch;
    const Tables t{numbers, numbers + b, numbers + 2 * b, numbers + 3 * b, numbers + 4 * b, numbers + 5 * b};
    if (z.batch == 0) return {};
    TRN_TRY(fill_tables(ctx, st, t));
    const int64_t total = *ctx.in(kTotal).as<const int32_t>();
    z.keys = ctx.has_out(3) ? total : *std::max_element(t.keys, t.keys + b);
    if (z.keys > st.work_rows)
      return invalid_argument("total_sequence_length is {}, but there are {} keys", total, st.work_rows);

    const int64_t h = z.head_size, row = (p_.heads + (st.packed ? 2 * p_.kv_heads : 0)) * h;
    const int64_t kv_row = st.packed ? row : p_.kv_heads * h;
    const auto* query = ctx.in(kQuery).as<const float>();
    AttentionArgs a;
    a.q = {query, z.queries * row, h, row};
    AttentionRows k{query + p_.heads * h, z.queries * row, h, row};
    AttentionRows v{query + (p_.heads + p_.kv_heads) * h, z.queries * row, h, row};
    if (!st.packed) {
      k = {ctx.in(kKey).as<const float>(), st.fresh * kv_row, h, kv_row};
      v = {ctx.in(kValue).as<const float>(), st.fresh * kv_row, h, kv_row};
    }
    if (rotates_queries(ctx)) {
      AppendRows append;
      append.batch = b;
      append.heads = p_.heads;
      append.size = h;
      append.fresh = a.q;
      append.to = reinterpret_cast<float*>(ctx.scratch() + st.q_at);
      append.rows = append.count = z.queries;
      a.q = append_rows(ctx, append);
      position(ctx, st, t, append.to, p_.heads, z.queries, nullptr, t.limits, kQueryNorm, p_.q_epsilon, true);
    }
    a.k = gather(ctx, st, t, k, 1, k_code_);
    a.v = gather(ctx, st, t, v, 2, v_code_);
    attend(ctx, st, z, t, a);
    if (p_.sliding) {
      keep_window(ctx, st, t, a.k.data, 1);
      keep_window(ctx, st, t, a.v.data, 2);
    }
    return {};
  }

 private:
  GroupQueryKernel(Params p, CacheCode k, CacheCode v) : p_(p), k_code_(k), v_code_(v) {}

  template <class Context>
  bool rotates_queries(Context& ctx) const {
    return p_.rotary || ctx.has_in(kQueryNorm);
  }
  // Whether keys (1) or values (2) are put together in the output itself.
  template <class Context>
  bool in_place(Context& ctx, int i) const {
    return ctx.has_out(i) && !p_.sliding && (i == 1 ? k_code_ : v_code_).bits == 0;
  }

  Status fill_tables(KernelContext& ctx, const State& st, const Tables& t) const {
    const int64_t b = st.shape.batch, s = st.shape.queries;
    if (ctx.in(kLengths).count != b || ctx.in(kTotal).count != 1)
      return invalid_argument("seqlens_k and total_sequence_length have {} and {} elements for a batch of {}",
                              ctx.in(kLengths).count, ctx.in(kTotal).count, b);
    const int64_t total = *ctx.in(kTotal).as<const int32_t>();
    const bool lengths = ctx.has_in(kQueryLengths);
    const TensorView* cos = p_.rotary ? &ctx.in(kCos) : nullptr;
    if (cos && (cos->rank != 2 || ctx.in(kSin).rank != 2 || ctx.in(kSin).dim(1) != cos->dim(1) ||
                2 * cos->dim(1) > st.shape.head_size))
      return invalid_argument("cos_cache and sin_cache have shapes {} and {} for heads of {} elements",
                              shape_text(cos->shape()), shape_text(ctx.in(kSin).shape()), st.shape.head_size);
    if (p_.rotary && ctx.has_in(kPositions) && ctx.in(kPositions).count != b * s &&
        (!reads_one_position(ctx, s, total) || ctx.in(kPositions).count < 1))
      return invalid_argument("position_ids has {} elements for {} tokens", ctx.in(kPositions).count, b * s);
    for (int64_t i = 0; i < b; ++i) {
      const int64_t keys = int64_t{ctx.in(kLengths).as<const int32_t>()[i]} + 1;
      if (keys < 1 || keys > total)
        return invalid_argument("seqlens_k[{}] is {}, expected 0 to {}", i, keys - 1, total - 1);
      int64_t valid = std::min(s, keys);
      if (lengths) valid = ctx.in(kQueryLengths).as<const int32_t>()[i];
      if (valid < 0 || valid > std::min(s, keys))
        return invalid_argument("query_seqlens[{}] is {}, expected 0 to {}", i, valid, std::min(s, keys));
      const int64_t fresh = st.fresh == s ? valid : std::min(st.fresh, keys), past = keys - fresh;
      const int64_t held = p_.sliding ? resident(past, st.old_rows, p_.window) : past;
      if (held > st.old_rows || held + fresh > st.work_rows)
        return invalid_argument("seqlens_k[{}] is {}: {} old and {} new keys do not fit a past of {} and {} in all", i,
                                keys - 1, held, fresh, st.old_rows, st.work_rows);
      t.base[i] = past - held;
      t.past[i] = held;
      t.fresh[i] = fresh;
      t.keys[i] = held + fresh;
      t.offsets[i] = keys - valid - t.base[i];
      t.limits[i] = valid;
      if (!cos) continue;
      for (int64_t r = 0; r < valid; ++r)
        if (const int64_t at = token_position(ctx, st, t, i, r);
            at < 0 || at >= std::min(cos->dim(0), ctx.in(kSin).dim(0)))
          return invalid_argument("token {} of entry {} has position {}, but the caches have {} rows", r, i, at,
                                  std::min(cos->dim(0), ctx.in(kSin).dim(0)));
    }
    return {};
  }

  // A first prompt does: its tokens follow the first one.
  static bool reads_one_position(KernelContext& ctx, int64_t queries, int64_t total) {
    return queries == total && !ctx.has_in(kQueryLengths);
  }

  int64_t token_position(KernelContext& ctx, const State& st, const Tables& t, int64_t batch, int64_t r) const {
    if (!ctx.has_in(kPositions)) return t.base[batch] + t.offsets[batch] + r;
    const auto* ids = ctx.in(kPositions).as<const int64_t>();
    const int64_t s = st.shape.queries;
    if (reads_one_position(ctx, s, *ctx.in(kTotal).as<const int32_t>()))
      return std::min(ids[0], int64_t{INT32_MAX}) + r;
    return ids[batch * s + r];
  }

  // Normalizes and rotates rows [first[b], first[b] + count[b]) of blocks of `rows` rows.
  void position(KernelContext& ctx, const State& st, const Tables& t, float* x, int64_t heads, int64_t rows,
                const int64_t* first, const int64_t* count, int norm, float epsilon, bool queries) const {
    const int64_t h = st.shape.head_size;
    const bool rotary = p_.rotary && (queries || st.fresh == st.shape.queries);
    const float* weight = ctx.has_in(norm) ? ctx.in(norm).as<const float>() : nullptr;
    if (!rotary && !weight) return;
    const int64_t half = p_.rotary ? ctx.in(kCos).dim(1) : 0;
    const Rotation rotation{2 * half, h, p_.interleaved};
    ctx.parallel_for(st.shape.batch * heads, 16384 / std::max<int64_t>(st.shape.queries * h, 1) + 1,
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         const int64_t batch = i / heads;
                         float* row = x + (i * rows + (first ? first[batch] : 0)) * h;
                         for (int64_t r = 0; r < count[batch]; ++r, row += h) {
                           if (weight) kernels::norm().rms(row, weight, row, nullptr, 1, h, epsilon);
                           if (!rotary) continue;
                           const int64_t at = token_position(ctx, st, t, batch, r) * half;
                           rotate(rotation, row, row, ctx.in(kCos).as<const float>() + at,
                                  ctx.in(kSin).as<const float>() + at);
                         }
                       }
                     });
  }

  // Keys (i = 1) or values (2): old and fresh ones in one place, and in the output.
  AttentionRows gather(KernelContext& ctx, const State& st, const Tables& t, const AttentionRows& fresh, int i,
                       const CacheCode& code) const {
    const AttentionShape& z = st.shape;
    const int past = i == 1 ? kPastKey : kPastValue;
    const size_t scratch_at = i == 1 ? st.k_at : st.v_at;
    AppendRows append;
    append.batch = z.batch;
    append.heads = p_.kv_heads;
    append.size = z.head_size;
    append.fresh = fresh;
    append.to = in_place(ctx, i) ? ctx.out(i).as<float>() : reinterpret_cast<float*>(ctx.scratch() + scratch_at);
    append.rows = st.work_rows;
    append.pasts = t.past;
    append.counts = t.fresh;
    if (ctx.has_in(past) && code.bits == 0) append.old = ctx.in(past).as<const float>();
    if (code.bits) append.old = append.to;  // the old rows come from their codes
    append.old_rows = st.old_rows;
    const AttentionRows all = append_rows(ctx, append);
    if (i == 1)
      position(ctx, st, t, append.to, p_.kv_heads, st.work_rows, t.past, t.fresh, kKeyNorm, p_.k_epsilon, false);
    if (code.bits) recode(ctx, st, t, append.to, i, code);
    return all;
  }

  // Old codes become numbers; fresh numbers become codes, and what those stand for.
  void recode(KernelContext& ctx, const State& st, const Tables& t, float* x, int i, const CacheCode& code) const {
    const AttentionShape& z = st.shape;
    const int64_t h = z.head_size, bytes = code.row_bytes(h);
    const int past_input = i == 1 ? kPastKey : kPastValue;
    const float* scales = code.bits == 16 ? nullptr : ctx.in(i == 1 ? kKeyScale : kValueScale).as<const float>();
    const auto* old = ctx.has_in(past_input) ? ctx.in(past_input).as<const uint8_t>() : nullptr;
    auto* out = ctx.has_out(i) ? ctx.out(i).as<uint8_t>() : nullptr;
    ctx.parallel_for(z.batch * p_.kv_heads, 16384 / std::max<int64_t>(z.keys * h, 1) + 1,
                     [&](int64_t begin, int64_t end) {
                       std::vector<uint8_t> own;  // for codes that nobody wants
                       for (int64_t block = begin; block < end; ++block) {
                         const int64_t batch = block / p_.kv_heads, past = t.past[batch], fresh = t.fresh[batch];
                         const float* scale = scales + (code.by_channel ? block % p_.kv_heads * h : 0);
                         float* rows = x + block * st.work_rows * h;
                         const uint8_t* from = old + block * st.old_rows * bytes;
                         uint8_t* to = out ? out + block * st.rows * bytes : nullptr;
                         if (past > 0) decode_rows(code, from, scale, past, h, rows);
                         if (to && to != from) {
                           if (past > 0) std::memcpy(to, from, static_cast<size_t>(past * bytes));
                           std::fill(to + (past + fresh) * bytes, to + st.rows * bytes, uint8_t{0});
                         }
                         if (!to) own.resize(static_cast<size_t>(fresh * bytes));
                         uint8_t* codes = to ? to + past * bytes : own.data();
                         encode_rows(code, rows + past * h, scale, fresh, h, codes);
                         decode_rows(code, codes, scale, fresh, h, rows + past * h);
                       }
                     });
  }

  void attend(KernelContext& ctx, const State& st, const AttentionShape& z, const Tables& t, AttentionArgs a) const {
    a.y = ctx.out(0).as<float>();
    a.y_row = p_.heads * z.v_head_size;
    a.y_batch = z.queries * a.y_row;
    a.y_head = z.v_head_size;
    a.scale = p_.scale != 0 ? p_.scale : 1 / std::sqrt(static_cast<float>(z.head_size));
    a.softcap = p_.softcap;
    a.causal = p_.causal;
    a.left = p_.window > 0 ? p_.window - 1 : -1;
    a.offsets = t.offsets;
    a.key_counts = t.keys;
    a.smooth = p_.smooth;
    if (ctx.has_in(kSinks)) a.sinks = ctx.in(kSinks).as<const float>();
    if (ctx.has_out(3)) {
      a.scores = ctx.out(3).as<float>();
      a.stage = p_.qk_output == 2 ? 3 : 2;
      a.zero_left_out = true;
    }
    if (ctx.has_in(kScoreBias)) set_score_bias(ctx.in(kScoreBias), a);
    if (ctx.out(0).count == 0) return;
    if (!p_.sliding || !a.bias) return attention(ctx, z, a, ctx.scratch() + st.attention_at);
    // The bias counts positions from the start, the keys from the first one that is still there.
    AttentionShape one = z;
    one.batch = 1;
    for (int64_t b = 0; b < z.batch; ++b) {
      AttentionArgs c = a;
      c.q.data += b * a.q.batch_step;
      c.k.data += b * a.k.batch_step;
      c.v.data += b * a.v.batch_step;
      c.y += b * a.y_batch;
      c.offsets += b;
      c.key_counts += b;
      c.bias += b * a.mask_batch + t.base[b];
      c.mask_keys -= t.base[b];
      attention(ctx, one, c, ctx.scratch() + st.attention_at);
    }
  }

  void keep_window(KernelContext& ctx, const State& st, const Tables& t, const float* x, int i) const {
    if (!ctx.has_out(i)) return;
    const int64_t h = st.shape.head_size;
    auto* to = ctx.out(i).as<float>();
    for (int64_t block = 0; block < st.shape.batch * p_.kv_heads; ++block) {
      const int64_t batch = block / p_.kv_heads, end = t.keys[batch];
      const int64_t kept = resident(t.base[batch] + end, st.rows, p_.window);
      const float* from = x + (block * st.work_rows + end - kept) * h;
      float* rows = to + block * st.rows * h;
      std::copy(from, from + kept * h, rows);
      std::fill(rows + kept * h, rows + st.rows * h, 0.0f);
    }
  }

  Params p_;
  CacheCode k_code_, v_code_;
};

// Shows the cache as 16-bit integers, so that it is not widened around the kernel like the other inputs and outputs.
class HalfCacheKernel final : public Kernel {
 public:
  explicit HalfCacheKernel(std::unique_ptr<Kernel> inner) : inner_(std::move(inner)) {}

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    SmallVector<TensorView, 8> views(4);
    SmallVector<const TensorView*, 24> in, out;
    for (int i = 0; i < ctx.inputs(); ++i) in.push_back(ctx.has_in(i) ? &ctx.in(i) : nullptr);
    for (int i = 0; i < ctx.outputs(); ++i) out.push_back(ctx.has_out(i) ? &ctx.out(i) : nullptr);
    for (size_t i = 0; i < 4; ++i) {
      const size_t place = i < 2 ? kPastKey + i : i - 1;
      auto& list = i < 2 ? in : out;
      if (place < list.size() && list[place]) list[place] = as_integers(*list[place], views[i]);
    }
    PrepareContext inner({in.data(), in.size()}, {out.data(), out.size()}, ctx.threads());
    TRN_ASSIGN(auto state, inner_->prepare(inner));
    ctx.request_scratch(inner.scratch_bytes());
    return state;
  }

  Status run(KernelContext& ctx) const override {
    SmallVector<TensorView, 8> views(4);
    SmallVector<const TensorView*, 24> in;
    SmallVector<TensorView*, 8> out;
    for (int i = 0; i < ctx.inputs(); ++i) in.push_back(ctx.has_in(i) ? &ctx.in(i) : nullptr);
    for (int i = 0; i < ctx.outputs(); ++i) out.push_back(ctx.has_out(i) ? &ctx.out(i) : nullptr);
    for (size_t i = 0; i < 2; ++i) {
      if (kPastKey + i < in.size() && in[kPastKey + i]) in[kPastKey + i] = as_integers(*in[kPastKey + i], views[i]);
      if (1 + i < out.size() && out[1 + i]) out[1 + i] = as_integers(*out[1 + i], views[2 + i]);
    }
    KernelContext inner = ctx;
    inner.in_ = in.data();
    inner.out_ = out.data();
    return inner_->run(inner);
  }

 private:
  static TensorView* as_integers(const TensorView& view, TensorView& to) {
    to = view;
    to.dtype = DType::u16;
    return &to;
  }
  std::unique_ptr<Kernel> inner_;
};

Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
  TRN_ASSIGN(auto kernel, make_widened<GroupQueryKernel>(n));
  if (!has_half_cache(n)) return std::unique_ptr<Kernel>(std::move(kernel));
  return std::unique_ptr<Kernel>(new HalfCacheKernel(std::move(kernel)));
}

constexpr OpDef kDefs[] = {
    {"GroupQueryAttention",
     infer,
     {DType::f32 | DType::f16 | DType::bf16, &make, kQuery},
     {.reviewed = 1, .in_place = {{1, 3}, {2, 4}}},
     "com.microsoft",
     "com.microsoft::GroupQueryAttention 1 (query:T, key?:T, value?:T, past_key?:T_CACHE, past_value?:T_CACHE, "
     "seqlens_k:M, total_sequence_length:M, cos_cache?:T, sin_cache?:T, position_ids?:i64, attention_bias?:T, "
     "head_sink?:T, k_scale?:T_KV_SCALE, v_scale?:T_KV_SCALE, q_norm_weight?:T, k_norm_weight?:T, query_seqlens?:M) -> "
     "(output:T, present_key?:T_CACHE, present_value?:T_CACHE, output_qk?:T) {num_heads!:i, kv_num_heads!:i, scale:f, "
     "softcap:f, local_window_size:i=-1, do_rotary:i, rotary_interleaved:i, smooth_softmax:i=-1, qk_output:i=0, "
     "k_quant_type:s='NONE', v_quant_type:s='NONE', kv_cache_bit_width:i, causal:i=1, sliding_window_cache:i=0, "
     "qk_norm_epsilon:f=1e-6, q_norm_epsilon:f, k_norm_epsilon:f} T=f32|f16|bf16 "
     "T_CACHE=f32|f16|bf16|u8|i8|f8e4m3fn T_KV_SCALE=f32 M=i32"},
};

}  // namespace

TRUNNION_OPS(group_query_attention, kDefs);

}  // namespace trunnion::ops
