#include "ops/contrib/multi_head_detail.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/contrib/self_attention_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

struct Params {
  int64_t heads;
  float scale, filter;  // scale 0: 1 / sqrt(head size)
  bool causal;
};
Result<Params> read(const ir::Node& n) {
  const Params p{n.attr("num_heads", 0), n.attr("scale", 0.0f), n.attr("mask_filter_value", -10000.0f),
                 n.attr("unidirectional", 0) == 1};
  if (p.heads < 1) return invalid_argument("attribute num_heads is {}, expected 1 or more", p.heads);
  return p;
}

Status expect_same(const Dim& a, const Dim& b, const char* what) {
  if (a.is_int() && b.is_int() && !(a == b)) return invalid_argument("{}: {} against {}", what, a.value(), b.value());
  return {};
}
Result<Dim> divided(const Dim& d, int64_t by, const char* what) {
  if (d.is_int() && d.value() % by)
    return invalid_argument("the {} size {} does not divide by {}", what, d.value(), by);
  return floor_div(d, Dim(by));
}

// How Q, K and V come.
enum class Layout {
  separate,    // [B, S, N H], [B, L, N H], [B, L, N Hv]
  packed_kv,   // [B, S, N H], [B, L, N, 2, H]
  packed_qkv,  // [B, S, N, 3, H]
  joined,      // [B, S, N H + N H + N H] and no keys
  blocks,      // keys and values of an encoder: [B, N, L, H]
};

struct Sizes {
  Layout layout = Layout::separate;
  Dim batch, queries, fresh, head, v_head;
};
Result<Sizes> sizes(const Params& p, const SymShape& q, const SymShape* k, const SymShape* v) {
  Sizes s;
  s.batch = q.empty() ? Dim() : q[0];
  if (q.size() == 5) {
    if (k || v) return invalid_argument("query of shape {} has keys and values in it already", shape_text(q));
    TRN_TRY(expect_same(q[2], Dim(p.heads), "heads of the query"));
    TRN_TRY(expect_same(q[3], Dim(3), "dimension 3 of the query"));
    s.layout = Layout::packed_qkv;
    s.queries = s.fresh = q[1];
    s.head = s.v_head = q[4];
    return s;
  }
  if (q.size() != 3) return invalid_argument("query has shape {}, needs 3 or 5 dimensions", shape_text(q));
  s.queries = q[1];
  if (!k) {
    if (v) return invalid_argument("there is a value, but no key");
    s.layout = Layout::joined;
    s.fresh = q[1];
    TRN_ASSIGN(s.head, divided(q[2], 3 * p.heads, "query"));
    s.v_head = s.head;
    return s;
  }
  TRN_ASSIGN(s.head, divided(q[2], p.heads, "query"));
  TRN_TRY(expect_same(q[0], k->empty() ? Dim() : (*k)[0], "batch sizes of query and key"));
  if (k->size() == 5) {
    if (v) return invalid_argument("key of shape {} has values in it already", shape_text(*k));
    TRN_TRY(expect_same((*k)[2], Dim(p.heads), "heads of the key"));
    TRN_TRY(expect_same((*k)[3], Dim(2), "dimension 3 of the key"));
    TRN_TRY(expect_same((*k)[4], s.head, "head sizes of key and query"));
    s.layout = Layout::packed_kv;
    s.fresh = (*k)[1];
    s.v_head = s.head;
    return s;
  }
  if (!v || v->size() != k->size() || (k->size() != 3 && k->size() != 4))
    return invalid_argument("key and value have shapes {} and {}: both need 3 or both need 4 dimensions",
                            shape_text(*k), v ? shape_text(*v) : "(none)");
  TRN_TRY(expect_same(q[0], (*v)[0], "batch sizes of query and value"));
  if (k->size() == 4) {
    s.layout = Layout::blocks;
    for (const SymShape* t : {k, v}) TRN_TRY(expect_same((*t)[1], Dim(p.heads), "heads of key and value"));
    TRN_TRY(expect_same((*k)[2], (*v)[2], "lengths of key and value"));
    TRN_TRY(expect_same((*k)[3], s.head, "head sizes of key and query"));
    s.fresh = (*k)[2];
    s.v_head = (*v)[3];
    return s;
  }
  TRN_TRY(expect_same((*k)[2], q[2], "sizes of key and query"));
  TRN_TRY(expect_same((*k)[1], (*v)[1], "lengths of key and value"));
  s.fresh = (*k)[1];
  TRN_ASSIGN(s.v_head, divided((*v)[2], p.heads, "value"));
  return s;
}

struct Past {
  Dim length = Dim(0);  // keys that count
  Dim rows;             // of the present
  bool shared = false;  // a buffer of fixed size
};

}  // namespace

Status infer_multi_head(const ir::Node& n, ir::Facts& f, const MultiHeadInputs& in) {
  TRN_ASSIGN(const Params p, read(n));
  for (int i = 0; i < 4; ++i) f.set(i, f.dtype(0));
  if (!f.has_rank(0) || (f.has(1) && !f.has_rank(1)) || (f.has(2) && !f.has_rank(2))) return {};
  TRN_ASSIGN(const Sizes s,
             sizes(p, f.in(0).shape(), f.has(1) ? &f.in(1).shape() : nullptr, f.has(2) ? &f.in(2).shape() : nullptr));
  f.set(0, f.dtype(0), SymShape{s.batch, s.queries, s.v_head * Dim(p.heads)});
  if (f.has_rank(in.bias)) {
    TRN_TRY(expect_rank(f, in.bias, 1));
    const Dim want = (s.head + s.head + s.v_head) * Dim(p.heads);
    TRN_TRY(expect_same(f.in(in.bias).dim(0), want, "elements of the bias and of Q, K and V"));
  }
  if (f.has(in.past_key) != f.has(in.past_value))
    return invalid_argument("past keys and past values must be both there or both absent");
  Past past;
  past.rows = s.fresh;
  if (f.has(in.past_key)) {
    if (s.layout == Layout::blocks) return invalid_argument("keys of 4 dimensions do not go with past keys");
    past = {Dim(), Dim(), f.has(in.past_length)};
    for (int i : {in.past_key, in.past_value}) {
      if (!f.has_rank(i)) continue;
      TRN_TRY(expect_rank(f, i, 4));
      TRN_TRY(expect_same(f.in(i).dim(0), s.batch, "batch size of the past"));
      TRN_TRY(expect_same(f.in(i).dim(1), Dim(p.heads), "heads of the past"));
      TRN_TRY(expect_same(f.in(i).dim(3), i == in.past_key ? s.head : s.v_head, "head size of the past"));
      if (past.rows.is_int()) TRN_TRY(expect_same(f.in(i).dim(2), past.rows, "lengths of past keys and values"));
      past.rows = f.in(i).dim(2);
    }
    past.length = past.rows;
    if (past.shared) {
      past.length = Dim();
      if (const auto v = f.ints(in.past_length); v && v->size() == 1) past.length = Dim((*v)[0]);
      if (past.length.is_int() && s.fresh.is_int() && past.rows.is_int() &&
          (past.length.value() < 0 || past.length.value() + s.fresh.value() > past.rows.value()))
        return invalid_argument("past_sequence_length is {}: a buffer of {} positions does not take {} more",
                                past.length.value(), past.rows.value(), s.fresh.value());
    } else {
      past.rows = past.rows + s.fresh;
    }
  }
  const Dim total = past.length + s.fresh;
  f.set(1, f.dtype(0), SymShape{s.batch, Dim(p.heads), past.rows, s.head});
  f.set(2, f.dtype(0), SymShape{s.batch, Dim(p.heads), past.rows, s.v_head});
  f.set(3, f.dtype(0), SymShape{s.batch, Dim(p.heads), s.queries, total});
  if (f.has_rank(in.mask)) TRN_TRY(check_key_mask(f.in(in.mask).shape(), s.batch, s.queries, total));
  if (f.has_rank(in.attention_bias)) {
    TRN_TRY(expect_rank(f, in.attention_bias, 4));
    const SymShape& b = f.in(in.attention_bias).shape();
    const SymShape want{b[0].is_int(1) ? b[0] : s.batch, b[1].is_int(1) ? b[1] : Dim(p.heads), s.queries, total};
    for (size_t i = 0; i < 4; ++i)
      if (b[i].is_int() && want[i].is_int() && !(b[i] == want[i]))
        return invalid_argument("attention_bias has shape {}, expected {}", shape_text(b), shape_text(want));
  }
  return {};
}

namespace {

// Rows of an operand inside an input.
struct Source {
  int input = 0;
  int64_t offset = 0;
  AttentionRows steps;
  AttentionRows of(const KernelContext& ctx) const {
    AttentionRows r = steps;
    r.data = ctx.in(input).as<const float>() + offset;
    return r;
  }
};

struct State final : KernelState {
  AttentionShape shape;  // keys: of the present
  Layout layout{};
  int64_t fresh = 0, old_rows = 0;
  bool past = false, shared = false;
  Source q, k, v;
  size_t q_at = 0, k_at = 0, v_at = 0, beam_k_at = 0, beam_v_at = 0, mask_at = 0, attention_at = 0;
};

class MultiHeadKernel final : public Kernel {
 public:
  MultiHeadKernel(Params p, MultiHeadInputs in) : p_(p), in_(in) {}

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto st = std::make_unique<State>();
    SymShape shapes[3];
    for (int i = 0; i < 3; ++i)
      if (ctx.has_in(i)) shapes[i] = to_symbolic(ctx.in(i).shape());
    TRN_ASSIGN(const Sizes s,
               sizes(p_, shapes[0], ctx.has_in(1) ? &shapes[1] : nullptr, ctx.has_in(2) ? &shapes[2] : nullptr));
    st->layout = s.layout;
    st->fresh = s.fresh.value();
    st->past = ctx.has_in(in_.past_key);
    st->shared = st->past && ctx.has_in(in_.past_length);
    st->old_rows = st->past ? ctx.in(in_.past_key).dim(2) : 0;
    const int64_t rows = st->shared ? st->old_rows : st->old_rows + st->fresh;
    AttentionShape& z = st->shape;
    z = {s.batch.value(), p_.heads, p_.heads, s.queries.value(), rows, s.head.value(), s.v_head.value()};
    set_sources(*st);
    size_t end = 0;
    const auto take = [&end](int64_t floats) {
      const size_t at = end;
      end += (static_cast<size_t>(floats) * sizeof(float) + 63) / 64 * 64;
      return at;
    };
    const int64_t blocks = z.batch * z.heads;
    const bool bias = ctx.has_in(in_.bias);
    if (bias) st->q_at = take(blocks * z.queries * z.head_size);
    if (copies(ctx, *st, 1) && !ctx.has_out(1)) st->k_at = take(blocks * rows * z.head_size);
    if (copies(ctx, *st, 2) && !ctx.has_out(2)) st->v_at = take(blocks * rows * z.v_head_size);
    if (ctx.has_in(in_.indirection)) {
      st->beam_k_at = take(blocks * rows * z.head_size);
      st->beam_v_at = take(blocks * rows * z.v_head_size);
    }
    if (ctx.has_in(in_.mask)) st->mask_at = take(z.batch * std::max<int64_t>(z.queries, 1) * rows);
    st->attention_at = end;
    ctx.request_scratch(end + attention_scratch(z, ctx.threads()));
    return std::unique_ptr<KernelState>(std::move(st));
  }

  Status run(KernelContext& ctx) const override {
    const State& st = *ctx.state<State>();
    AttentionShape z = st.shape;
    int64_t past = st.old_rows;
    if (st.shared) {
      if (ctx.in(in_.past_length).count != 1)
        return invalid_argument("past_sequence_length has {} elements, expected one", ctx.in(in_.past_length).count);
      past = *ctx.in(in_.past_length).as<const int32_t>();
      if (past < 0 || past + st.fresh > st.old_rows)
        return invalid_argument("past_sequence_length is {}: a buffer of {} positions does not take {} more", past,
                                st.old_rows, st.fresh);
      z.keys = past + st.fresh;
    }
    const float* bias = ctx.has_in(in_.bias) ? ctx.in(in_.bias).as<const float>() : nullptr;
    const int64_t q_size = z.heads * z.head_size;
    AttentionArgs a;
    a.q = st.q.of(ctx);
    if (bias) {
      AppendRows append;
      append.batch = z.batch;
      append.heads = z.heads;
      append.size = z.head_size;
      append.fresh = a.q;
      append.bias = bias;
      append.to = at(ctx, st.q_at);
      append.rows = append.count = z.queries;
      a.q = append_rows(ctx, append);
    }
    const bool fresh_bias = bias && st.layout != Layout::blocks;
    a.k = operand(ctx, st, 1, past, st.k, fresh_bias ? bias + q_size : nullptr, z.head_size, in_.past_key, st.k_at);
    a.v = operand(ctx, st, 2, past, st.v, fresh_bias ? bias + 2 * q_size : nullptr, z.v_head_size, in_.past_value,
                  st.v_at);
    if (ctx.has_in(in_.indirection)) TRN_TRY(follow_beams(ctx, st, z, past, a));
    a.y = ctx.out(0).as<float>();
    a.y_row = z.heads * z.v_head_size;
    a.y_batch = z.queries * a.y_row;
    a.y_head = z.v_head_size;
    a.scale = p_.scale != 0 ? p_.scale : 1 / std::sqrt(static_cast<float>(z.head_size));
    a.causal = p_.causal;
    a.last_is_free = true;
    a.offset = past;
    a.left_out = std::numeric_limits<float>::lowest();
    if (ctx.has_in(in_.mask)) {
      TRN_ASSIGN(const KeyMask mask, KeyMask::of(ctx.in(in_.mask).shape(), z.batch, z.queries, z.keys));
      a.padding = mask.fill(ctx, ctx.in(in_.mask).as<const int32_t>(), p_.filter, at(ctx, st.mask_at));
    }
    if (ctx.has_in(in_.attention_bias)) {
      const TensorView& b = ctx.in(in_.attention_bias);
      if (b.rank != 4 || b.dim(2) != z.queries || b.dim(3) != z.keys)
        return invalid_argument("attention_bias has shape {} for {} queries and {} keys", shape_text(b.shape()),
                                z.queries, z.keys);
      set_score_bias(b, a);
    }
    if (ctx.has_out(3)) {
      if (ctx.out(3).count != z.batch * z.heads * z.queries * z.keys)
        return invalid_argument("output 3 has {} elements for {} keys", ctx.out(3).count, z.keys);
      a.scores = ctx.out(3).as<float>();
      a.stage = 2;
    }
    if (ctx.out(0).count > 0) attention(ctx, z, a, ctx.scratch() + st.attention_at);
    return {};
  }

 private:
  static float* at(KernelContext& ctx, size_t offset) { return reinterpret_cast<float*>(ctx.scratch() + offset); }

  // Whether keys (values) are put together in memory of their own: output i, or scratch.
  template <class Context>
  bool copies(Context& ctx, const State& st, int i) const {
    return st.past || ctx.has_out(i) || (ctx.has_in(in_.bias) && st.layout != Layout::blocks);
  }

  static void set_sources(State& st) {
    const AttentionShape& z = st.shape;
    const int64_t h = z.head_size, v = z.v_head_size, row = z.heads * h, v_row = z.heads * v;
    st.q.steps = {nullptr, z.queries * row, h, row};
    st.k = {1, 0, {nullptr, st.fresh * row, h, row}};
    st.v = {2, 0, {nullptr, st.fresh * v_row, v, v_row}};
    switch (st.layout) {
      case Layout::separate:
        break;
      case Layout::packed_kv:
        st.k.steps = st.v.steps = {nullptr, st.fresh * 2 * row, 2 * h, 2 * row};
        st.v.input = 1;
        st.v.offset = h;
        break;
      case Layout::packed_qkv:
        st.q.steps = st.k.steps = st.v.steps = {nullptr, st.fresh * 3 * row, 3 * h, 3 * row};
        st.k.input = st.v.input = 0;
        st.k.offset = h;
        st.v.offset = 2 * h;
        break;
      case Layout::joined:
        st.q.steps = st.k.steps = st.v.steps = {nullptr, st.fresh * 3 * row, h, 3 * row};
        st.k.input = st.v.input = 0;
        st.k.offset = row;
        st.v.offset = 2 * row;
        break;
      case Layout::blocks:
        st.k.steps = {nullptr, st.fresh * row, st.fresh * h, h};
        st.v.steps = {nullptr, st.fresh * v_row, st.fresh * v, v};
    }
  }

  AttentionRows operand(KernelContext& ctx, const State& st, int i, int64_t past, const Source& source,
                        const float* bias, int64_t size, int past_input, size_t scratch_at) const {
    const AttentionRows fresh = source.of(ctx);
    if (!copies(ctx, st, i)) return fresh;
    AppendRows append;
    append.batch = st.shape.batch;
    append.heads = st.shape.heads;
    append.size = size;
    append.old = st.past ? ctx.in(past_input).as<const float>() : nullptr;
    append.old_rows = st.old_rows;
    append.past = past;
    append.fresh = fresh;
    append.bias = bias;
    append.to = ctx.has_out(i) ? ctx.out(i).as<float>() : at(ctx, scratch_at);
    append.rows = st.shape.keys;
    append.count = st.fresh;
    return append_rows(ctx, append);
  }

  // Old keys of a beam may stand in the rows of another one: they are put in order.
  Status follow_beams(KernelContext& ctx, const State& st, const AttentionShape& z, int64_t past,
                      AttentionArgs& a) const {
    const TensorView& table = ctx.in(in_.indirection);
    int64_t width = table.rank == 3 ? table.dim(1) : 0;
    if (ctx.has_in(in_.beam_width) && ctx.in(in_.beam_width).count == 1)
      width = *ctx.in(in_.beam_width).as<const int32_t>();
    if (table.rank != 3 || width < 1 || table.dim(1) != width || z.batch % width != 0 ||
        table.dim(0) != z.batch / width || table.dim(2) < past)
      return invalid_argument("cache_indirection has shape {} for {} rows, a beam width of {} and {} positions",
                              shape_text(table.shape()), z.batch, width, past);
    const auto* from = table.as<const int32_t>();
    const int64_t positions = table.dim(2);
    for (int64_t i = 0; i < z.batch; ++i)
      for (int64_t t = 0; t < past; ++t)
        if (const int32_t beam = from[i * positions + t]; beam < 0 || beam >= width)
          return invalid_argument("cache_indirection[{},{},{}] is {}, expected 0 to {}", i / width, i % width, t, beam,
                                  width - 1);
    const auto gather = [&](AttentionRows& r, int64_t size, float* to) {
      const AttentionRows old = r;
      ctx.parallel_for(z.batch * z.heads, 65536 / std::max<int64_t>(z.keys * size, 1) + 1,
                       [&](int64_t begin, int64_t end) {
                         for (int64_t i = begin; i < end; ++i) {
                           const int64_t batch = i / z.heads, head = i % z.heads, first = batch / width * width;
                           for (int64_t t = 0; t < z.keys; ++t) {
                             const int64_t row = t < past ? first + from[batch * positions + t] : batch;
                             const float* x = old.data + row * old.batch_step + head * old.head_step + t * old.row_step;
                             std::copy(x, x + size, to + (i * z.keys + t) * size);
                           }
                         }
                       });
      r = {to, z.heads * z.keys * size, z.keys * size, size};
    };
    gather(a.k, z.head_size, at(ctx, st.beam_k_at));
    gather(a.v, z.v_head_size, at(ctx, st.beam_v_at));
    return {};
  }

  Params p_;
  MultiHeadInputs in_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_multi_head(const ir::Node& n, const MultiHeadInputs& in) {
  TRN_ASSIGN(const Params p, read(n));
  return std::unique_ptr<Kernel>(new MultiHeadKernel(p, in));
}

}  // namespace trunnion::ops
