#include "ops/contrib/self_attention_detail.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status expect_dims(const SymShape& shape, const SymShape& want, const char* what) {
  bool fits = shape.size() == want.size();
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = !shape[i].is_int() || !want[i].is_int() || shape[i] == want[i];
  if (fits) return {};
  return invalid_argument("{} has shape {}, expected {}", what, shape_text(shape), shape_text(want));
}

// Whether a bias of scores may be repeated to that shape: batch and heads may be 1.
Status expect_bias(const SymShape& bias, SymShape want) {
  if (bias.size() == 4)
    for (size_t i : {0u, 1u})
      if (bias[i].is_int(1)) want[i] = Dim(1);
  return expect_dims(bias, want, "attention_bias");
}

}  // namespace

Result<SelfAttention> SelfAttention::read(const ir::Node& n, SelfAttentionInputs in) {
  SelfAttention a;
  a.in_ = in;
  a.heads_ = n.attr("num_heads", 0);
  a.hidden_ = n.ints("qkv_hidden_sizes");
  a.scale_ = n.attr("scale", 0.0f);
  a.filter_ = n.attr("mask_filter_value", -10000.0f);
  a.causal_ = n.attr("unidirectional", 0) == 1;
  a.share_buffer_ = n.attr("past_present_share_buffer", 0) != 0;
  if (a.heads_ < 1) return invalid_argument("attribute num_heads is {}, expected 1 or more", a.heads_);
  if (n.attr("do_rotary", 0) != 0) return not_implemented("attribute do_rotary is {}", n.attr("do_rotary", 0));
  if (!a.hidden_.empty()) {
    if (a.hidden_.size() != 3)
      return invalid_argument("attribute qkv_hidden_sizes has {} elements, expected 3", a.hidden_.size());
    for (int64_t h : a.hidden_)
      if (h < 1 || h > INT32_MAX || h % a.heads_)
        return invalid_argument("qkv_hidden_sizes {}: expected positive multiples of num_heads = {}",
                                shape_text(std::span<const int64_t>(a.hidden_)), a.heads_);
    if (a.hidden_[0] != a.hidden_[1])
      return invalid_argument("qkv_hidden_sizes {}: the sizes of Q and K must be equal",
                              shape_text(std::span<const int64_t>(a.hidden_)));
  }
  return a;
}

Result<SelfAttention::Sizes> SelfAttention::sizes(const SymShape& x, const SymShape& w) const {
  if (x.size() != 3) return invalid_argument("input 0 has shape {}, needs 3 dimensions", shape_text(x));
  if (w.size() != 2) return invalid_argument("the weights have shape {}, need 2 dimensions", shape_text(w));
  if (x[2].is_int() && w[0].is_int() && !(x[2] == w[0]))
    return invalid_argument("weights of shape {} do not go with an input of shape {}", shape_text(w), shape_text(x));
  Sizes s{x[0], x[1], {}, {}};
  if (!hidden_.empty()) {
    const int64_t total = hidden_[0] + hidden_[1] + hidden_[2];
    if (w[1].is_int() && w[1].value() != total)
      return invalid_argument("the weights have {} columns, qkv_hidden_sizes need {}", w[1].value(), total);
    s.q = Dim(hidden_[0]);
    s.v = Dim(hidden_[2]);
  } else {
    if (w[1].is_int() && (w[1].value() == 0 || w[1].value() % (3 * heads_) != 0))
      return invalid_argument("the weights have {} columns, which do not divide into Q, K and V of {} heads",
                              w[1].value(), heads_);
    s.q = s.v = floor_div(w[1], Dim(3));
  }
  return s;
}

Status SelfAttention::infer(ir::Facts& f, DType out) const {
  f.set(0, out);
  f.set(1, out);
  const bool past = f.has(in_.past);
  if (!f.has_rank(0) || !f.has_rank(in_.weights)) return {};
  TRN_ASSIGN(const Sizes s, sizes(f.in(0).shape(), f.in(in_.weights).shape()));
  f.set(0, out, SymShape{s.batch, s.queries, s.v});
  if (f.has_rank(in_.bias)) TRN_TRY(expect_dims(f.in(in_.bias).shape(), {s.q + s.q + s.v}, "bias"));
  const Dim head = floor_div(s.v, Dim(heads_));
  Dim before(0), kept = s.queries;  // positions in the past, and in the present
  if (past) {
    before = kept = Dim();
    if (f.has_rank(in_.past)) {
      const SymShape& p = f.in(in_.past).shape();
      TRN_TRY(expect_dims(p, {Dim(2), s.batch, Dim(heads_), Dim(), head}, "past"));
      if (!share_buffer_) {
        before = p[3];
        kept = p[3] + s.queries;
      } else {
        kept = p[3];
        if (const auto n = f.ints(in_.past_length); n && n->size() == 1) before = Dim((*n)[0]);
        if (before.is_int() && s.queries.is_int() && kept.is_int() &&
            (before.value() < 0 || before.value() + s.queries.value() > kept.value()))
          return invalid_argument("past_sequence_length is {}: a buffer of {} positions does not take {} more",
                                  before.value(), kept.value(), s.queries.value());
      }
    }
  }
  f.set(1, out, SymShape{Dim(2), s.batch, Dim(heads_), kept, head});
  const Dim total = before + s.queries;
  if (f.has_rank(in_.mask)) TRN_TRY(check_key_mask(f.in(in_.mask).shape(), s.batch, s.queries, total));
  if (f.has_rank(in_.attention_bias))
    TRN_TRY(expect_bias(f.in(in_.attention_bias).shape(), {s.batch, Dim(heads_), s.queries, total}));
  return {};
}

Result<size_t> SelfAttention::prepare(const PrepareContext& ctx, size_t offset, State& s) const {
  TRN_ASSIGN(const Sizes z, sizes(to_symbolic(ctx.in(0).shape()), to_symbolic(ctx.in(in_.weights).shape())));
  const bool past = ctx.has_in(in_.past);
  if (share_buffer_ && past)
    return not_implemented("attribute past_present_share_buffer is set: such a past is not supported");
  s.past = past ? ctx.in(in_.past).dim(3) : 0;
  if ((past || ctx.has_out(1)) && !(z.q == z.v))
    return invalid_argument("Q and V have {} and {} elements: with a past or present they must be equal", z.q.value(),
                            z.v.value());
  const int64_t total = s.past + z.queries.value();
  s.row = 2 * z.q.value() + z.v.value();
  s.shape = {z.batch.value(), heads_, heads_, z.queries.value(), total, z.q.value() / heads_, z.v.value() / heads_};
  s.mask = {};
  if (ctx.has_in(in_.mask)) {
    TRN_ASSIGN(s.mask, KeyMask::of(ctx.in(in_.mask).shape(), s.shape.batch, s.shape.queries, total));
  }
  const auto take = [&offset](size_t bytes) {
    const size_t at = offset;
    offset += (bytes + 63) / 64 * 64;
    return at;
  };
  s.qkv_at = take(static_cast<size_t>(s.shape.batch * s.shape.queries * s.row) * sizeof(float));
  if (past && !ctx.has_out(1))
    s.cache_at = take(static_cast<size_t>(2 * s.shape.batch * heads_ * total * s.shape.v_head_size) * sizeof(float));
  s.mask_at = take(s.mask.bytes());
  s.attention_at = offset;
  return offset + attention_scratch(s.shape, ctx.threads());
}

Status SelfAttention::run(KernelContext& ctx, const State& s, const float* qkv) const {
  const AttentionShape& z = s.shape;
  const int64_t q = z.head_size * heads_, v = z.v_head_size * heads_, batch = z.queries * s.row;
  const AttentionRows keys{qkv + q, batch, z.head_size, s.row}, values{qkv + 2 * q, batch, z.v_head_size, s.row};
  AttentionArgs a;
  a.q = {qkv, batch, z.head_size, s.row};
  a.k = keys;
  a.v = values;
  const bool past = ctx.has_in(in_.past);
  if (past || ctx.has_out(1)) {
    AppendRows append;
    append.batch = z.batch;
    append.heads = heads_;
    append.size = z.head_size;
    append.old = past ? ctx.in(in_.past).as<const float>() : nullptr;
    append.old_rows = append.past = s.past;
    append.fresh = keys;
    append.to = ctx.has_out(1) ? ctx.out(1).as<float>() : reinterpret_cast<float*>(ctx.scratch() + s.cache_at);
    append.rows = z.keys;
    append.count = z.queries;
    a.k = append_rows(ctx, append);
    const int64_t blocks = z.batch * heads_;
    if (past) append.old += blocks * s.past * z.head_size;
    append.to += blocks * z.keys * z.head_size;
    append.size = z.v_head_size;
    append.fresh = values;
    a.v = append_rows(ctx, append);
  }
  a.y = ctx.out(0).as<float>();
  a.y_batch = z.queries * v;
  a.y_head = z.v_head_size;
  a.y_row = v;
  a.scale = scale_ != 0 ? scale_ : 1 / std::sqrt(static_cast<float>(z.head_size));
  a.causal = causal_;
  a.last_is_free = true;
  a.offset = s.past;
  a.left_out = std::numeric_limits<float>::lowest();
  if (s.mask.form != KeyMask::Form::none)
    a.padding = s.mask.fill(ctx, ctx.in(in_.mask).as<const int32_t>(), filter_,
                            reinterpret_cast<float*>(ctx.scratch() + s.mask_at));
  if (ctx.has_in(in_.attention_bias)) set_score_bias(ctx.in(in_.attention_bias), a);
  if (ctx.out(0).count > 0) attention(ctx, z, a, ctx.scratch() + s.attention_at);
  return {};
}

}  // namespace trunnion::ops
