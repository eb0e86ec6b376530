// EliminateIdentity: users of an Identity read its input. It stays where it makes a graph output of an input, a
// constant or another output.
#include "passes/clean.h"
#include "passes/rules.h"

namespace trunnion::passes {

Status eliminate_identity(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "EliminateIdentity", context.log);
  TRN_TRY(bypass_all(graph, rw, "identity", [](ir::Node& n) { return is_op(&n, "Identity") ? n.input(0) : nullptr; }));
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::passes
