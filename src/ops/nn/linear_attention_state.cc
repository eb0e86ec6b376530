// LinearAttention (ai.onnx 27): attention whose memory of the past is one matrix by head, updated token by token.
#include "ops/dispatch.h"
#include "ops/nn/linear_attention_detail.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

Result<LinearAttentionParams> read(const ir::Node& n) {
  const std::string rule = n.attr("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
    return invalid_argument("attribute update_rule is '{}', needs 'linear', 'gated', 'delta' or 'gated_delta'", rule);
  const LinearAttentionParams p{.q_heads = n.attr("q_num_heads", 0),
                                .kv_heads = n.attr("kv_num_heads", 0),
                                .scale = n.attr("scale", 0.0f),
                                .decays = rule == "gated" || rule == "gated_delta",
                                .corrects = rule == "delta" || rule == "gated_delta"};
  if (p.q_heads < 1 || p.kv_heads < 1 || p.q_heads % p.kv_heads)
    return invalid_argument("q_num_heads is {} and kv_num_heads {}: the first must be a positive multiple of the other",
                            p.q_heads, p.kv_heads);
  const bool decay = n.input(4), beta = n.input(5);
  if (decay != p.decays)
    return invalid_argument("update_rule '{}' {} input decay", rule, p.decays ? "needs" : "does not take");
  if (beta != p.corrects)
    return invalid_argument("update_rule '{}' {} input beta", rule, p.corrects ? "needs" : "does not take");
  return p;
}

Result<Dim> head_size(const ir::Facts& f, int input, int64_t heads) {
  if (!f.has_rank(input)) return Dim();
  const Dim& d = f.in(input).dim(2);
  if (d.is_int() && d.value() % heads)
    return invalid_argument("dimension 2 of input {} is {}, which does not divide into {} heads", input, d.value(),
                            heads);
  return floor_div(d, Dim(heads));
}

Status expect_shape(const ir::Facts& f, int input, const SymShape& wanted) {
  if (!f.has_rank(input)) return {};
  TRN_TRY(expect_rank(f, input, static_cast<int>(wanted.size())));
  for (int d = 0; d < static_cast<int>(wanted.size()); ++d) {
    const Dim &found = f.in(input).dim(d), &want = wanted[static_cast<size_t>(d)];
    if (found.is_int() && want.is_int() && !(found == want))
      return invalid_argument("input {} has shape {}, needs {}", input, shape_text(f.in(input).shape()),
                              shape_text(wanted));
  }
  return {};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const LinearAttentionParams p, read(n));
  f.set(0, f.dtype(0));
  f.set(1, f.has(3) ? f.dtype(3) : f.dtype(0));
  for (int i : {0, 1, 2, 4, 5}) TRN_TRY(expect_rank(f, i, 3));
  TRN_TRY(expect_rank(f, 3, 4));
  Dim batch, tokens;
  for (int i : {2, 1, 0})
    if (f.has_rank(i)) {
      batch = f.in(i).dim(0);
      tokens = f.in(i).dim(1);
    }
  TRN_ASSIGN(Dim key, head_size(f, 0, p.q_heads));
  TRN_ASSIGN(const Dim key_too, head_size(f, 1, p.kv_heads));
  TRN_ASSIGN(const Dim value, head_size(f, 2, p.kv_heads));
  if (!key.is_int()) key = key_too;
  TRN_TRY(expect_shape(f, 1, {batch, tokens, key * Dim(p.kv_heads)}));
  TRN_TRY(expect_shape(f, 2, {batch, tokens, Dim()}));
  TRN_TRY(expect_shape(f, 3, {batch, Dim(p.kv_heads), key, value}));
  const Dim heads(p.kv_heads);
  if (f.has_rank(4)) {
    const Dim& last = f.in(4).dim(2);
    TRN_TRY(expect_shape(f, 4, {batch, tokens, last == heads ? heads : key * heads}));
  }
  if (f.has_rank(5)) TRN_TRY(expect_shape(f, 5, {batch, tokens, f.in(5).dim(2).is_int(1) ? Dim(1) : heads}));
  f.set(0, f.dtype(0), SymShape{batch, tokens, value * Dim(p.q_heads)});
  f.set(1, f.has(3) ? f.dtype(3) : f.dtype(0), SymShape{batch, heads, key, value});
  return {};
}

struct Maker {
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(const LinearAttentionParams p, read(node));
    return make_linear_attention(p);
  }
};

constexpr OpDef kDefs[] = {
    {"LinearAttention", infer, cpu_widened<Maker>(kF32 | DType::f16 | DType::bf16), {.reviewed = 27}}};

}  // namespace

TRUNNION_OPS(linear_attention_state, kDefs);

}  // namespace trunnion::ops
