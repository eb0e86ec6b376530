// Products of a value with a gate computed from it: Swish (x sigmoid(x)) and HardSwish.
#include <cmath>
#include <unordered_set>

#include "ep/cpu/fusion.h"

namespace trunnion::ep {
namespace {

using passes::is_op;

bool near(float a, float b) { return std::fabs(a - b) <= 1e-6f * std::fabs(b); }

// value is clip(x + 3, 0, 6); the nodes that make it are read by nobody else.
bool is_relu6_of_shifted(ir::Value* value, const ir::Value* x, std::vector<ir::Node*>& chain) {
  ir::Node* clip = value->producer();
  if (!is_op(clip, "Clip") || !only_user(value)) return false;
  const auto lo = clip->since() < 11 ? std::optional<float>(clip->attr("min", -1.0f)) : scalar(clip->input(1));
  const auto hi = clip->since() < 11 ? std::optional<float>(clip->attr("max", -1.0f)) : scalar(clip->input(2));
  if (!lo || !hi || *lo != 0 || *hi != 6 || !clip->input(0)) return false;
  ir::Node* add = clip->input(0)->producer();
  if (!is_op(add, "Add") || !only_user(clip->input(0))) return false;
  const auto three = scalar_operand(*add);
  if (!three || three->number != 3 || three->other != x) return false;
  chain = {add, clip};
  return true;
}

enum class Gate { none, swish, hard_swish, relu6 };

// What `gate` is as a function of x.
Gate gate_of(ir::Value* gate, const ir::Value* x, std::vector<ir::Node*>& chain) {
  ir::Node* n = gate->producer();
  if (!n || n->inputs().empty() || !n->input(0)) return Gate::none;
  if (is_op(n, "Sigmoid") && n->input(0) == x) {
    chain = {n};
    return Gate::swish;
  }
  if (is_op(n, "HardSigmoid") && n->input(0) == x && near(n->attr("alpha", 0.2f), 1.0f / 6) &&
      n->attr("beta", 0.5f) == 0.5f) {
    chain = {n};
    return Gate::hard_swish;
  }
  if (is_op(n, "Div") || is_op(n, "Mul")) {  // clip(x + 3, 0, 6) / 6
    const auto six = scalar_operand(*n);
    if (six && !(n->op_type() == "Div" && six->constant_first) &&
        near(six->number, n->op_type() == "Div" ? 6.0f : 1.0f / 6) && only_user(gate) &&
        is_relu6_of_shifted(six->other, x, chain)) {
      chain.push_back(n);
      return Gate::hard_swish;
    }
  }
  return is_relu6_of_shifted(gate, x, chain) ? Gate::relu6 : Gate::none;
}

// `gone` gets the nodes that it erases.
void fuse(ir::Rewriter& rw, ir::Node* mul, std::unordered_set<const ir::Node*>& gone) {
  for (int side : {0, 1}) {
    ir::Value *x = mul->input(side), *gate = mul->input(1 - side);
    if (!x || !gate || x == gate) continue;
    std::vector<ir::Node*> chain;
    Gate kind = gate_of(gate, x, chain);
    if (kind == Gate::none || x->fact.dtype() != mul->output(0)->fact.dtype()) continue;
    ir::Node* last = mul;
    if (kind == Gate::relu6) {  // x * clip(x + 3, 0, 6), then / 6
      ir::Node* div = only_user(mul->output(0));
      if (!div || (!is_op(div, "Div") && !is_op(div, "Mul"))) continue;
      const auto six = scalar_operand(*div);
      if (!six || (div->op_type() == "Div" && six->constant_first) ||
          !near(six->number, div->op_type() == "Div" ? 6.0f : 1.0f / 6))
        continue;
      last = div;
      kind = Gate::hard_swish;
    }
    if (!same_rank(x, last->output(0))) continue;
    std::vector<const ir::Node*> all(chain.begin(), chain.end());
    all.push_back(mul);
    if (last != mul) all.push_back(last);
    rw.begin(kind == Gate::swish ? "swish" : "hard swish", all);
    ir::Node* made = rw.insert(kind == Gate::swish ? "Swish" : "HardSwish", "", kind == Gate::swish ? 24 : 14, {x},
                               {last->output(0)->name()}, {}, last, last->name());
    if (rw.bypass(last, made->output(0))) gone.insert(last);
    if (last != mul && rw.erase_if_unused(mul)) gone.insert(mul);
    for (size_t i = chain.size(); i-- > 0;)
      if (rw.erase_if_unused(chain[i])) gone.insert(chain[i]);
    return;
  }
}

}  // namespace

Status swish_fusion(ir::Graph& graph, passes::PassContext& context) {
  ir::Rewriter rw(graph, "SwishFusion", context.log);
  // Collected first: a rewrite erases nodes in front of and behind the product.
  std::vector<ir::Node*> products;
  for (ir::Node* n = graph.first(); n; n = n->next())
    if (is_op(n, "Mul") && n->inputs().size() == 2 && n->since() >= 7) products.push_back(n);
  std::unordered_set<const ir::Node*> gone;  // an earlier rewrite may have taken one (as its "* 1/6")
  for (ir::Node* n : products)
    if (!gone.contains(n)) fuse(rw, n, gone);
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::ep
