// DeadCodeElimination: nodes, constants and captures that nothing uses, optional outputs that nobody reads, and outputs
// of bodies whose values nobody reads outside.
#include "passes/clean.h"
#include "passes/rules.h"
#include "schema/schema.h"

namespace trunnion::passes {
namespace {

bool wanted(const ir::Value* v) { return v && !v->unused(); }

bool all_unused(const ir::Node& n) {
  for (const ir::Value* v : n.outputs())
    if (wanted(v)) return false;
  return !n.outputs().empty();
}

// Outputs that the operator may leave out.
void drop_optional_outputs(ir::Node* n, ir::Rewriter& rw) {
  if (!n->schema) return;
  for (int i = static_cast<int>(n->outputs().size()); i-- > 0;) {
    const auto* param = n->schema->output(static_cast<size_t>(i));
    if (!param || param->kind != schema::Param::Kind::optional || wanted(n->output(i))) continue;
    const bool last = i + 1 == static_cast<int>(n->outputs().size());
    if (!last && !n->output(i)) continue;
    rw.begin("unused optional output", {n});
    if (last)
      rw.graph().remove_output_of(n, i);
    else
      rw.graph().drop_output(n, i);
  }
}

void remove_entry(ir::Node* n, const char* attr, int index, ir::Rewriter& rw) {
  if (!n->has_attr(attr)) return;
  auto values = n->ints(attr);
  if (index < static_cast<int>(values.size())) values.erase(values.begin() + index);
  rw.set_attr(n, attr, std::move(values));
}

// Results of bodies come one for one with the node's outputs, but for the values that a Loop or Scan carries: those are
// read by the next iteration too.
void drop_body_outputs(ir::Node* n, ir::Rewriter& rw) {
  int carried = 0, shift = 0;
  if (is_op(n, "Loop")) {
    carried = static_cast<int>(n->inputs().size()) - 2;
    shift = 1;  // the condition comes first
  } else if (is_op(n, "Scan") && n->since() >= 9) {
    carried = static_cast<int>(n->inputs().size() - n->attr("num_scan_inputs", 0));
  } else if (!is_op(n, "If")) {
    return;
  }
  const auto bodies = n->bodies();
  for (const ir::Graph* body : bodies)
    if (body->outputs().size() != n->outputs().size() + static_cast<size_t>(shift)) return;
  for (int i = static_cast<int>(n->outputs().size()); i-- > carried;) {
    if (wanted(n->output(i)) || n->outputs().size() == 1) continue;
    rw.begin("unused result of a body", {n});
    rw.graph().remove_output_of(n, i);
    for (ir::Graph* body : bodies) body->remove_output(i + shift);
    if (is_op(n, "Scan")) {
      remove_entry(n, "scan_output_axes", i - carried, rw);
      remove_entry(n, "scan_output_directions", i - carried, rw);
    }
  }
}

// From the end: a node that goes frees the ones before it.
void sweep(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "DeadCodeElimination", context.log);
  for (ir::Node* n = graph.last(); n;) {
    ir::Node* previous = n->prev();
    if (all_unused(*n)) {
      rw.begin("unused node", {n});
      rw.erase(n);
    } else {
      drop_optional_outputs(n, rw);
      drop_body_outputs(n, rw);
      for (ir::Graph* body : n->bodies()) {
        sweep(*body, context);
        for (int i = static_cast<int>(body->captures().size()); i-- > 0;)
          if (body->captures()[static_cast<size_t>(i)].inner->unused()) {
            rw.begin("unused capture", {n});
            body->remove_capture(i);
          }
      }
    }
    n = previous;
  }
  graph.for_each_value([&](ir::Value* v) {
    if (!v->is_constant() || !v->unused()) return;
    rw.begin("unused constant", {});
    rw.erase(v);
  });
  context.changes += rw.changes();
}

}  // namespace

Status dead_code_elimination(ir::Graph& graph, PassContext& context) {
  if (!graph.owner()) sweep(graph, context);  // walks into bodies itself, from the last node on
  return {};
}

}  // namespace trunnion::passes
