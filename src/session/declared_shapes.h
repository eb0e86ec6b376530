// Shapes that a model's file states for values which nodes produce, held against what inference finds.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace trunnion::session {

// Made before inference, which overwrites the declarations with what it finds. Values of bodies are included.
class DeclaredShapes {
 public:
  explicit DeclaredShapes(const ir::Graph& graph);

  // One line for every value whose declared rank, or a dimension that is an integer on both sides, is not the inferred
  // one. A symbol contradicts nothing.
  std::vector<std::string> contradictions() const;

 private:
  std::vector<std::pair<const ir::Node*, std::vector<std::optional<SymShape>>>> nodes_;  // shapes of the outputs
};

}  // namespace trunnion::session
