// The spellings of Gelu in exported models, by the error function: a product of x, 1/2 and (1 + erf(x / sqrt 2)) in any
// order.
#include <cmath>

#include "ep/cpu/fusion.h"

namespace trunnion::ep {
namespace {

using passes::is_op;

bool near(float a, float b) { return std::fabs(a - b) <= 1e-4f * std::fabs(b); }

// What erf reads, when value is 1 + erf(x / sqrt 2); nodes on the way go into `chain`.
ir::Value* x_of_erf(ir::Value* value, std::vector<ir::Node*>& chain) {
  ir::Node* add = value->producer();
  if (!is_op(add, "Add")) return nullptr;
  const auto one = scalar_operand(*add);
  if (!one || one->number != 1) return nullptr;
  ir::Node* erf = one->other->producer();
  if (!is_op(erf, "Erf") || !only_user(one->other) || !erf->input(0)) return nullptr;
  ir::Node* scale = erf->input(0)->producer();
  if (!scale || !only_user(erf->input(0))) return nullptr;
  const auto root = scalar_operand(*scale);
  const bool div = is_op(scale, "Div") && root && !root->constant_first && near(root->number, std::sqrt(2.0f));
  const bool mul = is_op(scale, "Mul") && root && near(root->number, std::sqrt(0.5f));
  if (!div && !mul) return nullptr;
  chain.insert(chain.end(), {scale, erf, add});
  return root->other;
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
  bool halved = false;
  ir::Value *gate_x = nullptr, *x = nullptr;
  std::vector<ir::Node*> chain;
  for (ir::Value* v : parts) {
    if (!halved && scalar(v) == 0.5f) {
      halved = true;
    } else if (ir::Value* from = gate_x || !only_user(v) ? nullptr : x_of_erf(v, chain)) {
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
  rw.begin("erf", all);
  ir::Node* made = rw.insert("Gelu", "", 20, {x}, {mul->output(0)->name()}, {}, mul, mul->name());
  rw.bypass(mul, made->output(0));
  for (ir::Node* n : inner) rw.erase_if_unused(n);
  for (size_t i = chain.size(); i-- > 0;) rw.erase_if_unused(chain[i]);
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
