// SequenceMap (ai.onnx 17): a body for every element of one or more sequences. Lowered by the planner;
// run/control_flow.cc runs it.
#include "ops/control/body_detail.h"

namespace trunnion::ops {
namespace {

Status infer_map(const ir::Node& node, ir::Facts& f) {
  ir::Graph* body = node.graph_attr("body");
  if (!body) return invalid_graph("attribute body is missing");
  if (static_cast<int>(body->inputs().size()) != f.inputs() || static_cast<int>(body->outputs().size()) < f.outputs())
    return invalid_graph("the body has {} inputs and {} outputs, the node {} and {}: they must agree",
                         body->inputs().size(), body->outputs().size(), f.inputs(), f.outputs());
  std::vector<ir::Fact> inputs;
  for (int i = 0; i < f.inputs(); ++i) {
    if (!f.has(i)) return invalid_graph("input {} is left out: the body reads all", i);
    ir::Fact fact = f.in(i);
    if (fact.type.kind == Type::Kind::sequence) {
      // Every element has a shape of its own.
      const Type element = fact.type.inner ? *fact.type.inner : Type{};
      fact = {};
      fact.type = element;
      fact.type.shape.reset();
    } else if (i == 0 && fact.type.kind != Type::Kind::unknown) {
      return invalid_argument("input 0 has type {}, needs a sequence", fact.type.text());
    }
    inputs.push_back(std::move(fact));
  }
  if (auto s = infer_body(*body, inputs, {}); !s.ok()) return s.with_context("body '" + body->name + "'");
  for (int k = 0; k < f.outputs(); ++k) {
    Type element = body->outputs()[static_cast<size_t>(k)]->fact.type;
    element.shape.reset();
    f.out(k) = {};
    f.out(k).type = Type::sequence(std::move(element));
  }
  return {};
}

constexpr OpDef kDefs[] = {{"SequenceMap", infer_map, {}, {.reviewed = 17, .control_flow = true}}};

}  // namespace

TRUNNION_OPS(sequence_map, kDefs);

}  // namespace trunnion::ops
