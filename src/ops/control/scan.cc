// Scan (ai.onnx 8; 9, 11, 16, 19, 21, 23, 24, 25): a body over slices of sequences, with state. Version 8 has a batch
// dimension in front and optional sequence lengths. Lowered by the planner; run/control_flow.cc runs it.
#include "ops/control/body_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer_scan(const ir::Node& node, ir::Facts& f) {
  ir::Graph* body = node.graph_attr("body");
  if (!body) return invalid_graph("attribute body is missing");
  const bool batched = node.since() < 9;
  const int first = batched ? 1 : 0;
  const auto scans = static_cast<int>(node.attr("num_scan_inputs", 0));
  const int states = f.inputs() - first - scans;
  if (scans < 1 || states < 0 || static_cast<int>(body->inputs().size()) != states + scans ||
      static_cast<int>(body->outputs().size()) < states || f.outputs() > static_cast<int>(body->outputs().size()))
    return invalid_graph(
        "num_scan_inputs is {} of {} inputs; the body has {} inputs and {} outputs, the node {} outputs", scans,
        f.inputs() - first, body->inputs().size(), body->outputs().size(), f.outputs());
  const auto axes = node.ints("scan_input_axes");
  const auto out_axes = node.ints("scan_output_axes");
  const int outs = static_cast<int>(body->outputs().size()) - states;
  if (!axes.empty() && static_cast<int>(axes.size()) != scans)
    return invalid_graph("scan_input_axes has {} entries, there are {} scan inputs", axes.size(), scans);
  if (!out_axes.empty() && static_cast<int>(out_axes.size()) != outs)
    return invalid_graph("scan_output_axes has {} entries, there are {} scan outputs", out_axes.size(), outs);

  for (int i = 0; i < states + scans; ++i)
    if (!f.has(first + i))
      return invalid_graph("input {} is left out: all states and scan inputs must be given", first + i);
  std::vector<ir::Fact> inputs;
  Dim batch, length;
  for (int i = 0; i < states; ++i) {
    const ir::Fact fact = f.has(first + i) ? f.in(first + i) : ir::Fact{};
    inputs.push_back(batched ? without_axis(fact, 0) : fact);
  }
  for (int i = 0; i < scans; ++i) {
    ir::Fact fact = f.has(first + states + i) ? f.in(first + states + i) : ir::Fact{};
    if (fact.has_rank()) {
      if (batched) {
        if (fact.rank() < 2)
          return invalid_argument("scan input {} has rank {}, it needs a batch and a sequence dimension", i,
                                  fact.rank());
        batch = fact.dim(0);
        length = fact.dim(1);
        fact = without_axis(without_axis(fact, 0), 0);
      } else {
        TRN_ASSIGN(const int axis,
                   normalize_axis(axes.empty() ? 0 : axes[static_cast<size_t>(i)], fact.rank(), "scan_input_axes"));
        length = fact.dim(axis);
        fact = without_axis(fact, axis);
      }
    }
    inputs.push_back(std::move(fact));
  }
  if (auto s = infer_body(*body, inputs, {0, 0, states}); !s.ok()) return s.with_context("body '" + body->name + "'");
  for (int k = 0; k < f.outputs(); ++k) {
    ir::Fact fact = body->outputs()[static_cast<size_t>(k)]->fact;
    fact.content.reset();
    if (k >= states) {
      int axis = 0;
      if (!batched && !out_axes.empty() && fact.has_rank()) {
        TRN_ASSIGN(axis,
                   normalize_axis(out_axes[static_cast<size_t>(k - states)], fact.rank() + 1, "scan_output_axes"));
      }
      fact = with_axis(fact, axis, length);
    }
    f.out(k) = batched ? with_axis(fact, 0, batch) : std::move(fact);
  }
  return {};
}

constexpr OpDef kDefs[] = {{"Scan", infer_scan, {}, {.reviewed = 28, .control_flow = true}}};

}  // namespace

TRUNNION_OPS(scan, kDefs);

}  // namespace trunnion::ops
