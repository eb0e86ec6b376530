// Graphs of the engine as the graphs that plugins read.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "abi/model_handles.h"
#include "ir/graph.h"

namespace trunnion::abi {

// Some nodes of a graph, with their bodies; ids of OrtNodes are those of the nodes. Constants share their elements.
struct GraphParts {
  std::vector<const ir::Node*> nodes;
  std::vector<const ir::Value*> inputs, outputs;
};
GraphParts whole(const ir::Graph& graph);
std::unique_ptr<OrtGraph> graph_of(const ir::Model& model, const ir::Graph& graph, const GraphParts& parts);

}  // namespace trunnion::abi
