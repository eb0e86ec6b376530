// The passes of the portable list. Each is a function over one graph (run_passes walks into the bodies) in a file of
// its own, which says what it does.
#pragma once
#include "passes/pass.h"

namespace trunnion::passes {

Status constant_nodes(ir::Graph& graph, PassContext& context);
Status captured_constants(ir::Graph& graph, PassContext& context);
Status eliminate_identity(ir::Graph& graph, PassContext& context);
Status eliminate_dropout(ir::Graph& graph, PassContext& context);
Status constant_folding(ir::Graph& graph, PassContext& context);
Status constant_if(ir::Graph& graph, PassContext& context);
Status cast_elimination(ir::Graph& graph, PassContext& context);
Status pre_shape_node_elimination(ir::Graph& graph, PassContext& context);
Status noop_elimination(ir::Graph& graph, PassContext& context);
Status eliminate_slice(ir::Graph& graph, PassContext& context);
Status expand_elimination(ir::Graph& graph, PassContext& context);
Status reshape_fusion(ir::Graph& graph, PassContext& context);
Status reshape_elimination(ir::Graph& graph, PassContext& context);
Status transpose_optimizer(ir::Graph& graph, PassContext& context);
Status transpose_elimination(ir::Graph& graph, PassContext& context);
Status constant_sharing(ir::Graph& graph, PassContext& context);
Status common_subexpression_elimination(ir::Graph& graph, PassContext& context);
Status dead_code_elimination(ir::Graph& graph, PassContext& context);

}  // namespace trunnion::passes
