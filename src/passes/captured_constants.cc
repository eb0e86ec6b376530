// CapturedConstants: a body that captures a constant gets the constant itself (the elements are shared), so that passes
// and kernels which look at one graph only see it.
#include "passes/clean.h"
#include "passes/rules.h"

namespace trunnion::passes {
namespace {

// Outer bodies first: what they get, the bodies inside them can have.
void give(ir::Graph& body, const ir::Node* owner, PassContext& context) {
  ir::Rewriter rw(body, "CapturedConstants", context.log);
  for (int i = 0; i < static_cast<int>(body.captures().size());) {
    const ir::Capture c = body.captures()[static_cast<size_t>(i)];
    // A placeholder that is an output of the body stays: outputs are made by nodes, inputs or captures.
    if (!c.outer->is_constant() || c.inner->output_uses() > 0) {
      ++i;
      continue;
    }
    rw.begin("capture of " + c.outer->name(), {owner});
    rw.replace_by_constant(c.inner, c.outer->constant());
    body.remove_capture(i);
  }
  context.changes += rw.changes();
  for (ir::Node* n = body.first(); n; n = n->next())
    for (ir::Graph* inner : n->bodies()) give(*inner, n, context);
}

}  // namespace

Status captured_constants(ir::Graph& graph, PassContext& context) {
  if (graph.owner()) return {};
  for (ir::Node* n = graph.first(); n; n = n->next())
    for (ir::Graph* body : n->bodies()) give(*body, n, context);
  return {};
}

}  // namespace trunnion::passes
