// ModelView -> ir::Model: names become edges, initializers become constants, bodies get explicit captures.
#pragma once
#include <functional>
#include <optional>

#include "ir/graph.h"
#include "onnx/model_view.h"
#include "onnx/tensor_data.h"

namespace trunnion::onnx {

struct ImportOptions {
  std::string path;  // for messages
  // Tensors that stand for initializers of the main graph, by name.
  std::function<std::optional<Tensor>(std::string_view name)> replace_initializer;
  // A value for a dimension, by its symbol and denotation (either may be empty): free-dimension overrides.
  std::function<std::optional<int64_t>(std::string_view symbol, std::string_view denotation)> override_dimension;
};

// Checks versions, names, order (nodes may come unsorted) and references; operators are checked by ops::resolve.
// The view is used up: lists of attributes move into the graph.
Result<ir::Model> import_model(ModelView view, const TensorSource& source, const ImportOptions& options);

// The type that a ValueInfoProto declares. A dimension below zero is unknown.
Result<Type> import_type(const TypeView& view, const ImportOptions& options = {});

}  // namespace trunnion::onnx
