// Attention (ai.onnx 23, 24, 25): scaled dot-product attention with masks, grouped heads, and a cache of keys and
// values.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/convert.h"
#include "ops/dispatch.h"
#include "ops/nn/attention_detail.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

struct Params {
  int64_t q_heads, kv_heads;  // 0: the inputs have 4 dimensions
  float scale, softcap;       // scale 0: 1 / sqrt(head size)
  bool causal;
  int64_t left, right;
  int stage;
};

Result<Params> read(const ir::Node& n) {
  Params p{n.attr("q_num_heads", 0),        n.attr("kv_num_heads", 0),
           n.attr("scale", 0.0f),           n.attr("softcap", 0.0f),
           n.attr("is_causal", 0) != 0,     n.attr("left_window_size", -1),
           n.attr("right_window_size", -1), 0};
  const int64_t stage = n.attr("qk_matmul_output_mode", 0);
  if (stage < 0 || stage > 3) return invalid_argument("attribute qk_matmul_output_mode is {}, expected 0 to 3", stage);
  p.stage = static_cast<int>(stage);
  if (p.left < -1 || p.right < -1)
    return invalid_argument("window sizes {} and {}: expected -1 or more", p.left, p.right);
  if (p.q_heads < 0 || p.kv_heads < 0)
    return invalid_argument("q_num_heads {} and kv_num_heads {} must be positive", p.q_heads, p.kv_heads);
  return p;
}

Result<Dim> divided(const Dim& d, int64_t by, const char* what) {
  if (d.is_int() && d.value() % by)
    return invalid_argument("the {} size {} does not divide into {} heads", what, d.value(), by);
  return floor_div(d, Dim(by));
}

Status expect_same(const Dim& a, const Dim& b, const char* what) {
  if (a.is_int() && b.is_int() && !(a == b)) return invalid_argument("{}: {} against {}", what, a.value(), b.value());
  return {};
}

// Shapes as dimensions, symbols allowed.
struct Sizes {
  bool flat = false;  // 3 dimensions: heads are slices of the last one
  Dim batch, heads, kv_heads, queries, new_keys, past, head, v_head;
  Dim keys() const { return past + new_keys; }
};

Result<Sizes> sizes(const Params& p, const SymShape& q, const SymShape& k, const SymShape& v, const SymShape* past_k,
                    const SymShape* past_v) {
  if (q.size() != k.size() || q.size() != v.size() || (q.size() != 3 && q.size() != 4))
    return invalid_argument("Q, K and V have shapes {}, {} and {}: all need 3 or all need 4 dimensions", shape_text(q),
                            shape_text(k), shape_text(v));
  Sizes s;
  s.flat = q.size() == 3;
  s.batch = q[0];
  TRN_TRY(expect_same(q[0], k[0], "batch sizes of Q and K"));
  TRN_TRY(expect_same(q[0], v[0], "batch sizes of Q and V"));
  if (s.flat) {
    if (p.q_heads == 0 || p.kv_heads == 0)
      return invalid_argument("inputs of 3 dimensions need the attributes q_num_heads and kv_num_heads");
    s.heads = Dim(p.q_heads);
    s.kv_heads = Dim(p.kv_heads);
    s.queries = q[1];
    s.new_keys = k[1];
    TRN_ASSIGN(s.head, divided(q[2], p.q_heads, "query"));
    TRN_ASSIGN(const Dim k_head, divided(k[2], p.kv_heads, "key"));
    TRN_ASSIGN(s.v_head, divided(v[2], p.kv_heads, "value"));
    TRN_TRY(expect_same(s.head, k_head, "head sizes of Q and K"));
    TRN_TRY(expect_same(k[1], v[1], "lengths of K and V"));
  } else {
    s.heads = q[1];
    s.kv_heads = k[1];
    s.queries = q[2];
    s.new_keys = k[2];
    s.head = q[3];
    s.v_head = v[3];
    TRN_TRY(expect_same(q[3], k[3], "head sizes of Q and K"));
    TRN_TRY(expect_same(k[2], v[2], "lengths of K and V"));
    TRN_TRY(expect_same(k[1], v[1], "heads of K and V"));
  }
  if (s.heads.is_int() && s.kv_heads.is_int() &&
      (s.kv_heads.value() == 0 ? s.heads.value() != 0 : s.heads.value() % s.kv_heads.value() != 0))
    return invalid_argument("{} query heads do not divide among {} key heads", s.heads.value(), s.kv_heads.value());
  s.past = Dim(0);
  for (const auto* past : {past_k, past_v}) {
    if (!past) continue;
    if (past->size() != 4)
      return invalid_argument("past keys and values have shape {}, need 4 dimensions", shape_text(*past));
    TRN_TRY(expect_same((*past)[0], s.batch, "batch size of the past"));
    TRN_TRY(expect_same((*past)[1], s.kv_heads, "heads of the past"));
    TRN_TRY(expect_same((*past)[3], past == past_k ? s.head : s.v_head, "head size of the past"));
    s.past = (*past)[2];
  }
  if (past_k && past_v) TRN_TRY(expect_same((*past_k)[2], (*past_v)[2], "lengths of past keys and values"));
  return s;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  f.set(0, f.dtype(0));
  f.set(1, f.dtype(1));
  f.set(2, f.dtype(2));
  f.set(3, f.dtype(0));
  if (f.has(4) != f.has(5)) return invalid_argument("past_key and past_value must be given together");
  if (f.has(4) && f.has(6)) return invalid_argument("nonpad_kv_seqlen does not go with past_key and past_value");
  if (!f.has_rank(0) || !f.has_rank(1) || !f.has_rank(2)) return {};
  const auto shape = [&](int i) { return f.has_rank(i) ? &f.in(i).shape() : nullptr; };
  TRN_ASSIGN(Sizes s, sizes(p, *shape(0), *shape(1), *shape(2), shape(4), shape(5)));
  if (f.has(4) && !f.has_rank(4)) s.past = Dim();
  f.set(0, f.dtype(0),
        s.flat ? SymShape{s.batch, s.queries, s.heads * s.v_head} : SymShape{s.batch, s.heads, s.queries, s.v_head});
  f.set(1, f.dtype(1), SymShape{s.batch, s.kv_heads, s.keys(), s.head});
  f.set(2, f.dtype(2), SymShape{s.batch, s.kv_heads, s.keys(), s.v_head});
  f.set(3, f.dtype(0), SymShape{s.batch, s.heads, s.queries, s.keys()});
  if (f.has_rank(3)) {
    const SymShape& m = f.in(3).shape();
    const Dim want[] = {s.batch, s.heads, s.queries};
    if (m.empty() || m.size() > 4)
      return invalid_argument("attn_mask has shape {}, needs 1 to 4 dimensions", shape_text(m));
    for (size_t i = 0; i + 1 < m.size(); ++i) {
      const Dim& w = want[4 - m.size() + i];
      if (m[i].is_int() && w.is_int() && !m[i].is_int(1) && !(m[i] == w))
        return invalid_argument("attn_mask of shape {} does not broadcast to {}", shape_text(m),
                                shape_text(SymShape{s.batch, s.heads, s.queries, s.keys()}));
    }
    if (m.back().is_int() && s.keys().is_int() && m.back().value() > s.keys().value())
      return invalid_argument("attn_mask of shape {} is for more than {} keys", shape_text(m), s.keys().value());
  }
  if (f.has_rank(6)) {
    TRN_TRY(expect_rank(f, 6, 1));
    TRN_TRY(expect_same(f.in(6).dim(0), s.batch, "elements of nonpad_kv_seqlen and the batch size"));
  }
  return {};
}

struct State final : KernelState {
  AttentionShape shape;
  bool flat = false;
  int64_t past = 0, new_keys = 0;
  size_t keys_at = 0, values_at = 0, mask_at = 0, attention_at = 0;
};

class AttentionKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(const Params p, read(node));
    return std::unique_ptr<Kernel>(new AttentionKernel(p));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto st = std::make_unique<State>();
    const auto shape = [&](int i) { return ctx.has_in(i) ? to_symbolic(ctx.in(i).shape()) : SymShape(); };
    const SymShape past_k = shape(4), past_v = shape(5);
    TRN_ASSIGN(const Sizes s, sizes(p_, shape(0), shape(1), shape(2), ctx.has_in(4) ? &past_k : nullptr,
                                    ctx.has_in(5) ? &past_v : nullptr));
    for (int i = 0; i < 3; ++i)
      if (ctx.in(i).dtype != DType::f32) return not_implemented("input {} of type {}", i, dtype_name(ctx.in(i).dtype));
    st->shape = {s.batch.value(),  s.heads.value(), s.kv_heads.value(), s.queries.value(),
                 s.keys().value(), s.head.value(),  s.v_head.value()};
    st->flat = s.flat;
    st->past = s.past.value();
    st->new_keys = s.new_keys.value();
    size_t end = 0;
    const auto take = [&end](int64_t floats) {
      const size_t at = end;
      end += (static_cast<size_t>(floats) * sizeof(float) + 63) / 64 * 64;
      return at;
    };
    const int64_t rows = st->shape.batch * st->shape.kv_heads * st->shape.keys;
    if (ctx.has_in(4) && !ctx.has_out(1)) st->keys_at = take(rows * st->shape.head_size);
    if (ctx.has_in(5) && !ctx.has_out(2)) st->values_at = take(rows * st->shape.v_head_size);
    if (ctx.has_in(3) && ctx.in(3).dtype != DType::boolean && ctx.in(3).dtype != DType::f32)
      st->mask_at = take(ctx.in(3).count);
    st->attention_at = end;
    ctx.request_scratch(end + attention_scratch(st->shape, ctx.threads()));
    return std::unique_ptr<KernelState>(std::move(st));
  }

  Status run(KernelContext& ctx) const override {
    const State& st = *ctx.state<State>();
    const AttentionShape& s = st.shape;
    AttentionArgs a;
    a.q = rows(ctx.in(0), st.flat, s.head_size);
    a.k = cached(ctx, st, 1, 4, s.head_size, st.keys_at);
    a.v = cached(ctx, st, 2, 5, s.v_head_size, st.values_at);
    const AttentionRows y = rows(ctx.out(0), st.flat, s.v_head_size);
    a.y = ctx.out(0).as<float>();
    a.y_batch = y.batch_step;
    a.y_head = y.head_step;
    a.y_row = y.row_step;
    a.scale = p_.scale != 0 ? p_.scale : 1 / std::sqrt(static_cast<float>(s.head_size));
    a.softcap = p_.softcap;
    a.causal = p_.causal;
    a.left = p_.left;
    a.right = p_.right;
    a.offset = st.past;
    if (ctx.has_in(6)) {
      if (ctx.in(6).count != s.batch)
        return invalid_argument("nonpad_kv_seqlen has {} elements, the batch has {}", ctx.in(6).count, s.batch);
      for (int64_t b = 0; b < s.batch; ++b)
        if (const int64_t n = ctx.in(6).as<int64_t>()[b]; n < 0 || n > s.keys)
          return invalid_argument("nonpad_kv_seqlen[{}] is {}, expected 0 to {}", b, n, s.keys);
      a.key_counts = ctx.in(6).as<int64_t>();
      a.offset_by_count = !ctx.has_in(4);
    }
    if (ctx.has_in(3)) set_mask(ctx, st, a);
    a.stage = p_.stage;
    if (ctx.has_out(3)) a.scores = ctx.out(3).as<float>();
    if (ctx.out(0).count > 0 || (ctx.has_out(3) && ctx.out(3).count > 0))
      attention(ctx, s, a, ctx.scratch() + st.attention_at);
    return {};
  }

 private:
  explicit AttentionKernel(Params p) : p_(p) {}

  // Of [B, H, S, D], or, flat, [B, S, H * D].
  static AttentionRows rows(const TensorView& t, bool flat, int64_t head) {
    if (flat) return {t.as<float>(), t.dim(1) * t.dim(2), head, t.dim(2)};
    return {t.as<float>(), t.dim(1) * t.dim(2) * t.dim(3), t.dim(2) * t.dim(3), t.dim(3)};
  }

  // The keys (values): the input as it is, or behind the past ones in the present output (or scratch).
  static AttentionRows cached(KernelContext& ctx, const State& st, int input, int past, int64_t head,
                              size_t scratch_at) {
    const AttentionRows fresh = rows(ctx.in(input), st.flat, head);
    if (!ctx.has_in(past) && !ctx.has_out(input)) return fresh;
    AppendRows append;
    append.batch = st.shape.batch;
    append.heads = st.shape.kv_heads;
    append.size = head;
    append.old = ctx.has_in(past) ? ctx.in(past).as<const float>() : nullptr;
    append.old_rows = append.past = st.past;
    append.fresh = fresh;
    append.to = ctx.has_out(input) ? ctx.out(input).as<float>() : reinterpret_cast<float*>(ctx.scratch() + scratch_at);
    append.rows = st.shape.keys;
    append.count = st.new_keys;
    return append_rows(ctx, append);
  }

  static void set_mask(KernelContext& ctx, const State& st, AttentionArgs& a) {
    const TensorView& m = ctx.in(3);
    int64_t step = m.dim(m.rank - 1);
    a.mask_keys = step;
    int64_t* steps[] = {&a.mask_row, &a.mask_head, &a.mask_batch};
    for (int d = m.rank - 2, i = 0; d >= 0; --d, ++i) {
      *steps[i] = m.dim(d) == 1 ? 0 : step;
      step *= m.dim(d);
    }
    if (m.dtype == DType::boolean) {
      a.allowed = m.as<bool>();
    } else if (m.dtype == DType::f32) {
      a.bias = m.as<float>();
    } else {
      float* copy = reinterpret_cast<float*>(ctx.scratch() + st.mask_at);
      kernels::convert(elem(m.dtype), kernels::Elem::f32)(m.data, copy, static_cast<size_t>(m.count), {});
      a.bias = copy;
    }
  }

  Params p_;
};

// The same in f64 by plain loops, for nodes with an operand of that type.
class PlainAttention final : public Kernel {
 public:
  explicit PlainAttention(Params p) : p_(p) {}

  Status run(KernelContext& ctx) const override {
    bool wanted = false;
    for (int i = 0; i < ctx.outputs(); ++i) wanted |= ctx.has_out(i) && ctx.out(i).count > 0;
    if (!wanted) return {};
    const auto shape = [&](int i) { return ctx.has_in(i) ? to_symbolic(ctx.in(i).shape()) : SymShape(); };
    const SymShape past_k = shape(4), past_v = shape(5);
    TRN_ASSIGN(const Sizes sizes_known, sizes(p_, shape(0), shape(1), shape(2), ctx.has_in(4) ? &past_k : nullptr,
                                              ctx.has_in(5) ? &past_v : nullptr));
    Work w;
    w.s = {sizes_known.batch.value(),   sizes_known.heads.value(),  sizes_known.kv_heads.value(),
           sizes_known.queries.value(), sizes_known.keys().value(), sizes_known.head.value(),
           sizes_known.v_head.value()};
    w.past = sizes_known.past.value();
    w.flat = sizes_known.flat;
    const AttentionShape& s = w.s;
    TRN_ASSIGN(w.q, widened(ctx.in(0)));
    TRN_ASSIGN(w.k, cached(ctx, w, 1, 4, s.head_size));
    TRN_ASSIGN(w.v, cached(ctx, w, 2, 5, s.v_head_size));
    if (ctx.has_in(3) && ctx.in(3).dtype != DType::boolean) {
      TRN_ASSIGN(w.bias, widened(ctx.in(3)));
    }
    if (ctx.has_in(6)) {
      if (ctx.in(6).count != s.batch)
        return invalid_argument("nonpad_kv_seqlen has {} elements, the batch has {}", ctx.in(6).count, s.batch);
      for (int64_t b = 0; b < s.batch; ++b)
        if (const int64_t n = ctx.in(6).as<int64_t>()[b]; n < 0 || n > s.keys)
          return invalid_argument("nonpad_kv_seqlen[{}] is {}, expected 0 to {}", b, n, s.keys);
    }
    const int64_t scores[] = {s.batch * s.heads * s.queries, s.keys};
    TRN_ASSIGN(w.scores, Tensor::allocate(DType::f64, scores));
    TRN_ASSIGN(w.seen, Tensor::allocate(DType::f64, scores));
    TRN_ASSIGN(w.y, Tensor::allocate(DType::f64, ctx.out(0).shape()));
    ctx.parallel_for(scores[0], 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        run_row(ctx, w, i / s.queries / s.heads, i / s.queries % s.heads, i % s.queries);
    });
    narrowed(w.y, ctx.out(0));
    if (ctx.has_out(1)) narrowed(w.k, ctx.out(1));
    if (ctx.has_out(2)) narrowed(w.v, ctx.out(2));
    if (ctx.has_out(3)) narrowed(w.seen, ctx.out(3));
    return {};
  }

 private:
  struct Work {
    AttentionShape s;
    int64_t past = 0;
    bool flat = false;
    Tensor q, k, v, bias;    // k and v with the past, [batch, heads, keys, size]
    Tensor scores, seen, y;  // seen: the scores at the stage that output 3 shows
  };

  static Result<Tensor> widened(const TensorView& t) {
    TRN_ASSIGN(Tensor out, Tensor::allocate(DType::f64, t.shape()));
    kernels::convert(elem(t.dtype), kernels::Elem::f64)(t.data, out.raw(), static_cast<size_t>(t.count), {});
    return out;
  }
  static void narrowed(const Tensor& t, const TensorView& to) {
    kernels::convert(kernels::Elem::f64, elem(to.dtype))(t.raw(), to.data, static_cast<size_t>(to.count), {});
  }

  static Result<Tensor> cached(KernelContext& ctx, const Work& w, int input, int past, int64_t size) {
    const int64_t heads = w.s.kv_heads, fresh = w.s.keys - w.past;
    const int64_t dims[] = {w.s.batch, heads, w.s.keys, size};
    TRN_ASSIGN(Tensor out, Tensor::allocate(DType::f64, dims));
    TRN_ASSIGN(const Tensor now, widened(ctx.in(input)));
    Tensor old;
    if (ctx.has_in(past)) {
      TRN_ASSIGN(old, widened(ctx.in(past)));
    }
    for (int64_t i = 0; i < w.s.batch * heads; ++i) {
      double* to = out.data<double>() + i * w.s.keys * size;
      if (old.valid()) std::copy_n(old.data<double>() + i * w.past * size, w.past * size, to);
      for (int64_t r = 0; r < fresh; ++r) {
        const int64_t row = w.flat ? (i / heads * fresh + r) * heads + i % heads : i * fresh + r;
        std::copy_n(now.data<double>() + row * size, size, to + (w.past + r) * size);
      }
    }
    return out;
  }

  void run_row(KernelContext& ctx, const Work& w, int64_t b, int64_t h, int64_t i) const {
    const AttentionShape& s = w.s;
    const int64_t kv = b * s.kv_heads + h / (s.heads / s.kv_heads), row = (b * s.heads + h) * s.queries + i;
    const int64_t at = w.flat ? (b * s.queries + i) * s.heads + h : row;
    const double* q = w.q.data<double>() + at * s.head_size;
    double *score = w.scores.data<double>() + row * s.keys, *seen = w.seen.data<double>() + row * s.keys;
    const double scale =
        p_.scale != 0 ? static_cast<double>(p_.scale) : 1 / std::sqrt(static_cast<double>(s.head_size));
    const auto show = [&](int stage) {
      if (p_.stage == stage) std::copy_n(score, s.keys, seen);
    };
    for (int64_t j = 0; j < s.keys; ++j) {
      const double* k = w.k.data<double>() + (kv * s.keys + j) * s.head_size;
      double sum = 0;
      for (int64_t d = 0; d < s.head_size; ++d) sum += q[d] * k[d];
      score[j] = sum * scale;
    }
    show(0);
    if (const double cap = p_.softcap; cap != 0)
      for (int64_t j = 0; j < s.keys; ++j) score[j] = cap * std::tanh(score[j] / cap);
    show(1);
    constexpr double kMasked = -std::numeric_limits<double>::infinity();
    int64_t first = 0, last = s.keys, position = w.past + i;
    if (ctx.has_in(6)) {
      last = ctx.in(6).as<int64_t>()[b];
      if (!ctx.has_in(4)) position = last - s.queries + i;
    }
    if (p_.causal) last = std::min(last, position + 1);
    if (p_.right >= 0 && p_.right < s.keys) last = std::min(last, position + p_.right + 1);
    if (p_.left >= 0 && p_.left <= position) first = position - p_.left;
    int64_t mask = 0;
    if (ctx.has_in(3)) {
      const TensorView& m = ctx.in(3);
      last = std::min(last, m.dim(m.rank - 1));
      int64_t step = m.dim(m.rank - 1);
      const int64_t index[] = {i, h, b};
      for (int d = m.rank - 2, n = 0; d >= 0; --d, ++n) {
        if (m.dim(d) != 1) mask += index[n] * step;
        step *= m.dim(d);
      }
    }
    double most = kMasked;
    for (int64_t j = 0; j < s.keys; ++j) {
      if (j < first || j >= last)
        score[j] = kMasked;
      else if (w.bias.valid())
        score[j] += w.bias.data<double>()[mask + j];
      else if (ctx.has_in(3) && !ctx.in(3).as<bool>()[mask + j])
        score[j] = kMasked;
      most = std::max(most, score[j]);
    }
    show(2);
    double sum = 0;
    for (int64_t j = 0; j < s.keys; ++j) sum += score[j] = most == kMasked ? 0 : std::exp(score[j] - most);
    for (int64_t j = 0; j < s.keys && sum != 0; ++j) score[j] /= sum;
    show(3);
    double* y = w.y.data<double>() + at * s.v_head_size;
    std::fill_n(y, s.v_head_size, 0.0);
    for (int64_t j = 0; j < s.keys; ++j)
      for (int64_t d = 0; d < s.v_head_size && score[j] != 0; ++d)
        y[d] += score[j] * w.v.data<double>()[(kv * s.keys + j) * s.v_head_size + d];
  }

  Params p_;
};

Result<std::unique_ptr<Kernel>> make_attention(const ir::Node& node) {
  for (int i : {0, 2})
    if (node.input(i) && node.input(i)->fact.dtype() == DType::f64) {
      TRN_ASSIGN(const Params p, read(node));
      return std::unique_ptr<Kernel>(new PlainAttention(p));
    }
  return make_widened<AttentionKernel>(node);
}

constexpr OpDef kDefs[] = {{"Attention", infer, {kFloats, make_attention}, {.reviewed = 25}}};

}  // namespace

TRUNNION_OPS(attention, kDefs);
}  // namespace trunnion::ops
