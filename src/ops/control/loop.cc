// Loop (ai.onnx 1, 11, 13, 16, 19, 21, 23, 24, 25): a body with carried values and stacked results. Lowered by the
// planner.
#include "ops/control/body_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer_loop(const ir::Node& node, ir::Facts& f) {
  TRN_TRY(expect_types(f, 0, DType::i64));
  TRN_TRY(expect_types(f, 1, DType::boolean));
  ir::Graph* body = node.graph_attr("body");
  if (!body) return invalid_graph("attribute body is missing");
  const int carried = std::max(0, f.inputs() - 2);
  const int results = static_cast<int>(body->outputs().size());
  if (static_cast<int>(body->inputs().size()) != carried + 2 || results < carried + 1 || f.outputs() > results - 1)
    return invalid_graph(
        "the body has {} inputs and {} outputs; {} carried values and {} node outputs need {} inputs and at least {} "
        "outputs",
        body->inputs().size(), results, carried, f.outputs(), carried + 2, std::max(carried + 1, f.outputs() + 1));
  std::vector<ir::Fact> inputs(body->inputs().size());
  const auto scalar = [&](size_t i, DType dtype) {
    const ir::Fact& declared = body->inputs()[i]->fact;
    inputs[i] = ir::Fact::tensor(dtype, declared.has_rank() && declared.rank() == 1 ? SymShape{1} : SymShape{});
  };
  scalar(0, DType::i64);
  scalar(1, DType::boolean);
  for (int i = 0; i < carried; ++i)
    if (!f.has(2 + i)) return invalid_graph("input {} is left out: every carried value must be given", 2 + i);
  for (int i = 0; i < carried; ++i)
    if (f.has(2 + i)) inputs[static_cast<size_t>(2 + i)] = f.in(2 + i);
  if (auto s = infer_body(*body, inputs, {2, 1, carried}); !s.ok()) return s.with_context("body '" + body->name + "'");
  for (int k = 0; k < f.outputs(); ++k) {
    const ir::Fact& out = body->outputs()[static_cast<size_t>(k + 1)]->fact;
    if (k >= carried) {
      f.out(k) = with_axis(out, 0, Dim());
    } else if (f.has(2 + k)) {
      TRN_ASSIGN(f.out(k), join_facts(f.in(2 + k), out,
                                      "carried value '" + body->outputs()[static_cast<size_t>(k + 1)]->name() + "'"));
    } else {
      f.out(k) = out;
      f.out(k).content.reset();
    }
  }
  return {};
}

constexpr OpDef kDefs[] = {{"Loop", infer_loop, {}, {.reviewed = 28, .control_flow = true}}};

}  // namespace

TRUNNION_OPS(loop, kDefs);

}  // namespace trunnion::ops
