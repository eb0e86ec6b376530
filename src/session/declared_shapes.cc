#include "session/declared_shapes.h"

#include <algorithm>

#include "base/error.h"

namespace trunnion::session {
namespace {

// Empty when the two agree. The words are those of ONNX's own shape inference.
std::string difference(const SymShape& inferred, const SymShape& declared) {
  if (inferred.size() != declared.size()) return fmt::format("in rank: ({}) vs ({})", inferred.size(), declared.size());
  for (size_t i = 0; i < inferred.size(); ++i)
    if (inferred[i].is_int() && declared[i].is_int() && inferred[i].value() != declared[i].value())
      return fmt::format("in dimension {}: ({}) vs ({})", i, inferred[i].value(), declared[i].value());
  return {};
}

}  // namespace

DeclaredShapes::DeclaredShapes(const ir::Graph& graph) {
  graph.for_each_node_deep([&](ir::Node* n) {
    std::vector<std::optional<SymShape>> shapes;
    for (const ir::Value* v : n->outputs()) shapes.push_back(v ? v->fact.type.shape : std::nullopt);
    if (std::any_of(shapes.begin(), shapes.end(), [](const auto& s) { return s.has_value(); }))
      nodes_.emplace_back(n, std::move(shapes));
  });
}

std::vector<std::string> DeclaredShapes::contradictions() const {
  std::vector<std::string> lines;
  for (const auto& [node, shapes] : nodes_)
    for (size_t i = 0; i < shapes.size(); ++i) {
      const ir::Value* v = node->outputs()[i];
      if (!v || !shapes[i] || !v->fact.has_rank()) continue;
      const std::string what = difference(v->fact.shape(), *shapes[i]);
      if (what.empty()) continue;
      lines.push_back(
          fmt::format("{}: [ShapeInferenceError] Inferred shape and existing shape differ {}: the model declares "
                      "'{}' with shape {}, inference gives {}",
                      node->label(), what, v->name(), shape_text(*shapes[i]), shape_text(v->fact.shape())));
    }
  return lines;
}

}  // namespace trunnion::session
