// If (ai.onnx 1, 11, 13, 16, 19, 21, 23, 24, 25): one of two bodies runs. Lowered by the planner; run/control_flow.cc
// runs it.
#include "ops/catalog.h"
#include "ops/control/body_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer_if(const ir::Node& node, ir::Facts& f) {
  TRN_TRY(expect_types(f, 0, DType::boolean));
  ir::Graph *then_body = node.graph_attr("then_branch"), *else_body = node.graph_attr("else_branch");
  if (!then_body || !else_body)
    return invalid_graph("attribute {} is missing", then_body ? "else_branch" : "then_branch");
  const size_t n = then_body->outputs().size();
  if (n != else_body->outputs().size() || static_cast<int>(n) != f.outputs())
    return invalid_graph("then_branch has {} outputs and else_branch has {}; the node has {}: they must agree", n,
                         else_body->outputs().size(), f.outputs());
  for (ir::Graph* body : {then_body, else_body}) {
    if (!body->inputs().empty())
      return invalid_graph("body '{}' has {} inputs, the branches of an If have none", body->name,
                           body->inputs().size());
    if (auto s = infer(*body); !s.ok()) return s.with_context("body '" + body->name + "'");
  }
  for (size_t k = 0; k < n; ++k) {
    TRN_ASSIGN(f.out(static_cast<int>(k)),
               join_facts(then_body->outputs()[k]->fact, else_body->outputs()[k]->fact,
                          fmt::format("output {} ('{}' / '{}')", k, then_body->outputs()[k]->name(),
                                      else_body->outputs()[k]->name())));
  }
  return {};
}

constexpr OpDef kDefs[] = {{"If", infer_if, {}, {.reviewed = 28, .control_flow = true}}};

}  // namespace

TRUNNION_OPS(if, kDefs);

}  // namespace trunnion::ops
