// Operators that ONNX defines by others, written out as these: for providers that have only the parts. The CPU has
// kernels for them whole, which are faster there.
#pragma once
#include "base/log.h"
#include "base/status.h"
#include "ir/graph.h"

namespace trunnion::passes {

// Whether open_function can write this node out. Types and shapes must be known, as they are after inference.
bool can_open(const ir::Node& node);

// Puts what the node is made of in its place. The new nodes are to be resolved and inferred by the caller.
Status open_function(ir::Node* node, const Logger* log);

}  // namespace trunnion::passes
