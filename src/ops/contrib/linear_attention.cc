// LinearAttention (com.microsoft 1): attention by a recurrent state, a matrix for each head that every token decays and
// updates. LinearAttentionGate (com.microsoft 1): the gates that go with it.
#include <algorithm>
#include <cmath>

#include "ops/dispatch.h"
#include "ops/nn/linear_attention_detail.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

enum Input { kQuery, kKey, kValue, kState, kDecay, kBeta };

Result<LinearAttentionParams> read(const ir::Node& n) {
  const std::string rule = n.attr("update_rule", "gated_delta");
  LinearAttentionParams p{n.attr("q_num_heads", 0),
                          n.attr("kv_num_heads", 0),
                          n.attr("state_window", 0),
                          n.attr("scale", 0.0f),
                          rule == "gated" || rule == "gated_delta",
                          rule == "delta" || rule == "gated_delta"};
  if (rule != "linear" && !p.decays && !p.corrects)
    return invalid_argument("attribute update_rule is '{}', expected linear, gated, delta or gated_delta", rule);
  if (p.q_heads < 1 || p.kv_heads < 1 || std::max(p.q_heads, p.kv_heads) % std::min(p.q_heads, p.kv_heads) != 0)
    return invalid_argument("q_num_heads {} and kv_num_heads {}: one must divide the other", p.q_heads, p.kv_heads);
  if (p.window < 0 || p.window > 8) return invalid_argument("attribute state_window is {}, expected 0 to 8", p.window);
  return p;
}

struct Sizes {
  Dim batch, tokens, key, value;  // key, value: elements of a head
};
Result<Dim> share(const Dim& d, int64_t heads, const char* what) {
  if (d.is_int() && d.value() % heads != 0)
    return invalid_argument("the {} has rows of {} elements, which do not divide into {} heads", what, d.value(),
                            heads);
  return floor_div(d, Dim(heads));
}
Result<Sizes> sizes(const LinearAttentionParams& p, const SymShape& q, const SymShape& k, const SymShape& v) {
  for (const SymShape* s : {&q, &k, &v})
    if (s->size() != 3) return invalid_argument("query, key or value has shape {}, needs 3 dimensions", shape_text(*s));
  Sizes s{q[0], q[1], {}, {}};
  for (size_t i = 0; i < 2; ++i)
    for (const SymShape* t : {&k, &v})
      if ((*t)[i].is_int() && q[i].is_int() && !((*t)[i] == q[i]))
        return invalid_argument("key or value of shape {} does not go with a query of shape {}", shape_text(*t),
                                shape_text(q));
  TRN_ASSIGN(s.key, share(q[2], p.q_heads, "query"));
  TRN_ASSIGN(s.value, share(v[2], p.kv_heads, "value"));
  if (s.key.is_int() && k[2].is_int()) {
    const int64_t heads = s.key.value() ? k[2].value() / s.key.value() : 0;
    if (heads < 1 || k[2].value() % s.key.value() != 0 || p.kv_heads % heads != 0)
      return invalid_argument("the key has rows of {} elements: they do not give heads of {} for {} values",
                              k[2].value(), s.key.value(), p.kv_heads);
  }
  return s;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const LinearAttentionParams p, read(n));
  const DType state = f.has(kState) ? f.dtype(kState) : f.dtype(kQuery);
  f.set(0, f.dtype(kQuery));
  f.set(1, state);
  if (p.decays && !f.has(kDecay)) return invalid_argument("update_rule needs the input decay");
  if (p.corrects && !f.has(kBeta)) return invalid_argument("update_rule needs the input beta");
  if (!f.has_rank(kQuery) || !f.has_rank(kKey) || !f.has_rank(kValue)) return {};
  TRN_ASSIGN(const Sizes s, sizes(p, f.in(kQuery).shape(), f.in(kKey).shape(), f.in(kValue).shape()));
  SymShape present{s.batch, Dim(p.kv_heads), s.key, s.value};
  if (p.window > 0) present.insert(present.begin(), Dim(p.window));
  if (f.has_rank(kState)) {
    TRN_TRY(expect_rank(f, kState, static_cast<int>(present.size())));
    for (size_t i = 0; i < present.size(); ++i)
      if (const Dim& d = f.in(kState).shape()[i]; d.is_int() && present[i].is_int() && !(d == present[i]))
        return invalid_argument("past_state has shape {}, expected {}", shape_text(f.in(kState).shape()),
                                shape_text(present));
  }
  for (int i : {kDecay, kBeta}) {
    if (!f.has_rank(i)) continue;
    TRN_TRY(expect_rank(f, i, 3));
    const Dim &batch = f.in(i).dim(0), &tokens = f.in(i).dim(1), &row = f.in(i).dim(2);
    const Dim wide = i == kDecay ? s.key * Dim(p.kv_heads) : Dim(1);
    if ((batch.is_int() && s.batch.is_int() && !(batch == s.batch)) ||
        (tokens.is_int() && s.tokens.is_int() && !(tokens == s.tokens)) ||
        (row.is_int() && wide.is_int() && !(row == wide) && !(row == Dim(p.kv_heads))))
      return invalid_argument("input {} has shape {} for {} heads", i, shape_text(f.in(i).shape()), p.kv_heads);
  }
  f.set(0, f.dtype(kQuery), SymShape{s.batch, s.tokens, s.value * Dim(std::max(p.q_heads, p.kv_heads))});
  f.set(1, state, std::move(present));
  return {};
}

struct Maker {
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const LinearAttentionParams p, read(n));
    return make_linear_attention(p);
  }
};

Status infer_gate(const ir::Node&, ir::Facts& f) {
  f.set(0, f.dtype(0));
  f.set(1, f.dtype(0));
  if (f.outputs() > 1 && !f.has(3)) return invalid_argument("the output beta needs the input b");
  if (!f.has_rank(0)) return {};
  const SymShape& a = f.in(0).shape();
  if (a.empty()) return invalid_argument("input 0 is a scalar");
  for (int i : {1, 2}) {
    TRN_TRY(expect_rank(f, i, 1));
    if (f.has_rank(i) && f.in(i).dim(0).is_int() && a.back().is_int() && !(f.in(i).dim(0) == a.back()))
      return invalid_argument("input {} has {} elements for {} heads", i, f.in(i).dim(0).value(), a.back().value());
  }
  f.set(0, f.dtype(0), a);
  if (f.has_rank(3)) f.set(1, f.dtype(0), f.in(3).shape());
  return {};
}

class GateCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new GateCpu); }

  Status run(KernelContext& ctx) const override {
    const TensorView& a = ctx.in(0);
    const int64_t heads = ctx.in(1).count;
    const auto *bias = ctx.in(1).as<const float>(), *scale = ctx.in(2).as<const float>();
    ctx.parallel_for(a.count, 2048, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float x = a.as<const float>()[i] + bias[i % heads];
        ctx.out(0).as<float>()[i] = scale[i % heads] * (std::max(x, 0.0f) + std::log1p(std::exp(-std::abs(x))));
      }
    });
    if (ctx.has_out(1) && ctx.has_in(3))
      ctx.parallel_for(ctx.in(3).count, 2048, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          ctx.out(1).as<float>()[i] = 1 / (1 + std::exp(-ctx.in(3).as<const float>()[i]));
      });
    return {};
  }
};

constexpr DTypes kTypes = DType::f32 | DType::f16 | DType::bf16;

constexpr OpDef kDefs[] = {
    {"LinearAttention",
     infer,
     cpu_widened<Maker>(kTypes),
     {.reviewed = 1, .in_place = {{1, 3}}},
     "com.microsoft",
     "com.microsoft::LinearAttention 1 (query:T, key:T, value:T, past_state?:S, decay?:T, beta?:T) -> (output:T, "
     "present_state:S) {q_num_heads!:i, kv_num_heads!:i, update_rule:s='gated_delta', scale:f=0, chunk_size:i=64, "
     "state_window:i=0} T=f32|f16|bf16 S=f32|f16|bf16"},
    {"LinearAttentionGate",
     infer_gate,
     cpu_widened<GateCpu>(kTypes),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::LinearAttentionGate 1 (a:T, dt_bias:TF, decay_scale:TF, b?:T) -> (decay:T, beta?:T) "
     "T=f32|f16|bf16 TF=f32"},
};

}  // namespace

TRUNNION_OPS(linear_attention, kDefs);

}  // namespace trunnion::ops
