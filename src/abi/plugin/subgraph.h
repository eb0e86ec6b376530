// A region's nodes as a graph of their own, under the same names: it is rewritten and compiled for one provider without
// a trace in the model.
#pragma once
#include <memory>
#include <vector>

#include "base/function_ref.h"
#include "base/status.h"
#include "ep/provider.h"

namespace trunnion::abi {

struct Subgraph {
  std::unique_ptr<ir::Graph> graph;
  std::vector<ir::Value*> inputs, outputs;  // in the region's order; among the inputs are constants, if it wants them
};

// The nodes must have no bodies.
Result<Subgraph> subgraph_of(const ep::Region& region);

// The domain of operators that have their channels last.
inline constexpr std::string_view kChannelsLast = "com.ms.internal.nhwc";

// Gives the nodes that `wants` names channels-last inputs and outputs, in the domain above, with transposes around
// them. Element-wise nodes between two of them work in the same order of axes. Returns how many were converted.
Result<int> convert_layout(ir::Graph& graph, FunctionRef<bool(const ir::Node&)> wants);

}  // namespace trunnion::abi
