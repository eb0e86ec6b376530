#include "ops/control/body_detail.h"

#include "ops/catalog.h"

namespace trunnion::ops {

Result<ir::Fact> join_facts(const ir::Fact& a, const ir::Fact& b, std::string_view what) {
  if (a.type.kind == Type::Kind::unknown || b.type.kind == Type::Kind::unknown) return ir::Fact{};
  if (a.type.kind == Type::Kind::optional && b.type.kind != Type::Kind::optional && a.type.inner &&
      same_kind(*a.type.inner, b.type))
    return b;
  if (!same_kind(a.type, b.type))
    return invalid_graph("{} is {} in one place and {} in the other", what, a.type.text(), b.type.text());
  ir::Fact out = a;
  out.content.reset();
  if (out.type.dtype == DType::undefined) out.type.dtype = b.type.dtype;
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) {
    out.type.shape.reset();
    return out;
  }
  for (int i = 0; i < a.rank(); ++i)
    if (!(a.dim(i) == b.dim(i))) (*out.type.shape)[static_cast<size_t>(i)] = Dim();
  return out;
}

Status infer_body(ir::Graph& body, std::span<const ir::Fact> inputs, const BodyState& state) {
  std::vector<ir::Fact> facts(inputs.begin(), inputs.end());
  for (int i = 0; i < state.count; ++i) facts[static_cast<size_t>(state.first_input + i)].content.reset();
  for (int round = 0;; ++round) {
    for (size_t i = 0; i < facts.size(); ++i) {
      ir::Value* v = body.inputs()[i];
      if (!same_kind(v->fact.type, facts[i].type))
        return invalid_graph("input '{}' of the body is declared {}, it gets {}", v->name(), v->fact.type.text(),
                             facts[i].type.text());
      if (facts[i].type.kind != Type::Kind::unknown) v->fact = facts[i];
    }
    TRN_TRY(infer(body));
    bool stable = true;
    for (int i = 0; i < state.count; ++i) {
      ir::Fact& in = facts[static_cast<size_t>(state.first_input + i)];
      const ir::Value* out = body.outputs()[static_cast<size_t>(state.first_output + i)];
      TRN_ASSIGN(ir::Fact joined,
                 join_facts(in, out->fact, "the value '" + out->name() + "', carried from one iteration to the next,"));
      if (in.has_rank() && (!joined.has_rank() || shape_text(joined.shape()) != shape_text(in.shape()))) {
        stable = false;
        if (round > 0) joined.type.shape.reset();
        in = std::move(joined);
      }
    }
    if (stable || round > 2) return {};
    // What the first pass found was too narrow: forget the shapes that it wrote.
    body.for_each_node_deep([](ir::Node* n) {
      for (ir::Value* v : n->outputs())
        if (v) {
          v->fact.type.shape.reset();
          v->fact.content.reset();
        }
    });
  }
}

ir::Fact without_axis(const ir::Fact& fact, int axis) {
  ir::Fact out = fact;
  out.content.reset();
  if (out.has_rank() && axis < out.rank()) out.type.shape->erase(out.type.shape->begin() + axis);
  return out;
}

ir::Fact with_axis(const ir::Fact& fact, int axis, const Dim& dim) {
  ir::Fact out = fact;
  out.content.reset();
  if (out.has_rank() && axis <= out.rank()) out.type.shape->insert(out.type.shape->begin() + axis, dim);
  return out;
}

}  // namespace trunnion::ops
