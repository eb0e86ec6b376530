// The spellings of Gelu in exported models: a product of x, 1/2 and a gate in any order, which is 1 + erf(x / sqrt 2)
// or its approximation 1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)).
#include <cmath>

#include "ep/cpu/fusion.h"

namespace trunnion::ep {
namespace {

using passes::is_op;

bool near(float a, float b) { return std::fabs(a - b) <= 1e-4f * std::fabs(b); }

// x / sqrt 2, which only the gate reads.
ir::Value* x_of_root(ir::Value* value, std::vector<ir::Node*>& chain) {
  ir::Node* scale = value->producer();
  if (!scale || !only_user(value)) return nullptr;
  const auto root = scalar_operand(*scale);
  const bool div = is_op(scale, "Div") && root && !root->constant_first && near(root->number, std::sqrt(2.0f));
  const bool mul = is_op(scale, "Mul") && root && near(root->number, std::sqrt(0.5f));
  if (!div && !mul) return nullptr;
  chain.push_back(scale);
  return root->other;
}

// x when the value is x^3 (or, of degree 2, x^2), which only one node reads.
ir::Value* x_of_power(ir::Value* value, int degree, std::vector<ir::Node*>& chain) {
  ir::Node* n = value->producer();
  if (!n || !only_user(value) || n->inputs().size() != 2) return nullptr;
  if (is_op(n, "Pow")) {
    if (scalar(n->input(1)) != static_cast<float>(degree)) return nullptr;
    chain.push_back(n);
    return n->input(0);
  }
  if (!is_op(n, "Mul")) return nullptr;
  if (degree == 2) {
    if (n->input(0) != n->input(1)) return nullptr;
    chain.push_back(n);
    return n->input(0);
  }
  for (int side : {0, 1}) {
    const size_t so_far = chain.size();
    chain.push_back(n);
    if (x_of_power(n->input(side), 2, chain) == n->input(1 - side)) return n->input(1 - side);
    chain.resize(so_far);
  }
  return nullptr;
}

// x when the value is sqrt(2 / pi) (x + 0.044715 x^3), which only the gate reads.
ir::Value* x_of_polynomial(ir::Value* value, std::vector<ir::Node*>& chain) {
  ir::Node* scale = value->producer();
  if (!is_op(scale, "Mul") || !only_user(value)) return nullptr;
  const auto factor = scalar_operand(*scale);
  if (!factor || !near(factor->number, 0.79788456f) || !only_user(factor->other)) return nullptr;
  ir::Node* sum = factor->other->producer();
  if (!is_op(sum, "Add")) return nullptr;
  for (int side : {0, 1}) {
    ir::Node* cubic = sum->input(side)->producer();
    if (!is_op(cubic, "Mul") || !only_user(sum->input(side))) continue;
    const auto small = scalar_operand(*cubic);
    if (!small || !near(small->number, 0.044715f)) continue;
    chain.insert(chain.end(), {scale, sum, cubic});
    ir::Value* x = x_of_power(small->other, 3, chain);
    return x == sum->input(1 - side) ? x : nullptr;
  }
  return nullptr;
}

// What the gate is computed from; the nodes that make it go into `chain`, the last one first.
ir::Value* x_of_gate(ir::Value* value, std::vector<ir::Node*>& chain, bool& tanh) {
  ir::Node* add = value->producer();
  if (!is_op(add, "Add")) return nullptr;
  const auto one = scalar_operand(*add);
  if (!one || one->number != 1) return nullptr;
  ir::Node* function = one->other->producer();
  tanh = is_op(function, "Tanh");
  if ((!tanh && !is_op(function, "Erf")) || !only_user(one->other) || !function->input(0)) return nullptr;
  std::vector<ir::Node*> made{add, function};
  ir::Value* x = tanh ? x_of_polynomial(function->input(0), made) : x_of_root(function->input(0), made);
  if (x) chain = std::move(made);
  return x;
}

// The factors of a product of up to three: descends into products that nobody else reads.
void factors(ir::Node* mul, std::vector<ir::Value*>& out, std::vector<ir::Node*>& inner, int depth) {
  for (ir::Value* v : mul->inputs()) {
    ir::Node* n = v->producer();
    if (depth < 2 && is_op(n, "Mul") && only_user(v) && n->inputs().size() == 2) {
      inner.push_back(n);
      factors(n, out, inner, depth + 1);
    } else {
      out.push_back(v);
    }
  }
}

bool fuse(ir::Rewriter& rw, ir::Node* mul) {
  std::vector<ir::Value*> parts;
  std::vector<ir::Node*> inner;
  factors(mul, parts, inner, 0);
  bool halved = false, tanh = false;
  ir::Value *gate_x = nullptr, *x = nullptr;
  std::vector<ir::Node*> chain;
  for (ir::Value* v : parts) {
    if (!halved && scalar(v) == 0.5f) {
      halved = true;
    } else if (ir::Value* from = gate_x || !only_user(v) ? nullptr : x_of_gate(v, chain, tanh)) {
      gate_x = from;
    } else if (ir::Node* n = v->producer();
               !halved && x == nullptr && n && only_user(v) && scalar_operand(*n) &&
               ((is_op(n, "Div") && !scalar_operand(*n)->constant_first && scalar_operand(*n)->number == 2))) {
      halved = true;
      x = scalar_operand(*n)->other;
      inner.push_back(n);
    } else if (!x) {
      x = v;
    } else {
      return false;
    }
  }
  if (!halved || !gate_x || x != gate_x || !same_rank(x, mul->output(0))) return false;
  std::vector<const ir::Node*> all(chain.begin(), chain.end());
  all.insert(all.end(), inner.begin(), inner.end());
  all.push_back(mul);
  rw.begin(tanh ? "tanh" : "erf", all);
  std::vector<ir::Attr> attrs;
  if (tanh) attrs.push_back({"approximate", std::string("tanh"), {}});
  ir::Node* made = rw.insert("Gelu", "", 20, {x}, {mul->output(0)->name()}, std::move(attrs), mul, mul->name());
  rw.bypass(mul, made->output(0));
  for (ir::Node* n : inner) rw.erase_if_unused(n);
  for (ir::Node* n : chain) rw.erase_if_unused(n);
  return true;
}

}  // namespace

Status gelu_fusion(ir::Graph& graph, passes::PassContext& context) {
  ir::Rewriter rw(graph, "GeluFusion", context.log);
  // From the back: the outermost product of a chain comes first, and what is erased lies in front of it.
  for (ir::Node* n = graph.last(); n;) {
    ir::Node* before = n->prev();
    if (is_op(n, "Mul") && n->inputs().size() == 2 && n->since() >= 7 && fuse(rw, n)) {
      n = graph.last();
      continue;
    }
    n = before;
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::ep
