// The order in which the nodes of a graph can run.
#pragma once
#include <vector>

#include "base/status.h"
#include "onnx/model_view.h"

namespace trunnion::onnx {

// Indices of the nodes in a topological order; the file's own order where that is one, else as near to it as possible.
// A cycle is an error that names a node on it.
Result<std::vector<int>> node_order(const std::vector<NodeView>& nodes);

}  // namespace trunnion::onnx
