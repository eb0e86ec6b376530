// What a node costs whatever runs it: arithmetic and memory traffic, from its shapes.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "tensor/dim.h"
#include "tensor/dtype.h"

namespace trunnion::plan {

// An input or output: type and shape, as far as they are known.
struct CostFact {
  DType dtype = DType::undefined;  // undefined: absent, or no tensor
  std::optional<SymShape> shape;
};

struct NodeCost {
  Dim flops = 0;  // multiply-adds of products, convolutions, attention and recurrent layers, counted as 2; else 0
  Dim bytes = 0;  // that are to be read and written at least once; 0 where the result is a view
  std::string_view arithmetic = "float32";  // of the flops: float32 (halves are widened), float64 or int8
};

NodeCost node_cost(const ir::Node& node, std::span<const CostFact> inputs, std::span<const CostFact> outputs);
// From what the graph says of its values. Unknown where shapes are.
NodeCost node_cost(const ir::Node& node);

}  // namespace trunnion::plan
