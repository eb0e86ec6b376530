// Bytes of a .onnx or .ort file -> ModelView. Nothing is copied but lists of views; see model_view.h.
#pragma once
#include <string_view>

#include "base/status.h"
#include "onnx/model_view.h"

namespace trunnion::onnx {

// Messages nested deeper than this are an error; protobuf's own readers stop there too.
inline constexpr int kMaxNesting = 100;

// `path` is for messages only (empty: a model from memory). Errors have Code::invalid_protobuf, or invalid_graph for
// well-formed bytes without a graph; they say what was found, at which byte, and what the file looks like instead.
Result<ModelView> parse(Bytes bytes, std::string_view path);

// The raw data of initializers of the main graph that have at least `least` bytes of it, in the order in which they lie
// in the file. A look at the outermost messages only: what is wrong with the bytes, parse() tells.
std::vector<Bytes> large_weights(Bytes bytes, size_t least);

// One serialised TensorProto, as in the .pb files of test data.
Result<TensorProtoView> parse_tensor(Bytes bytes, std::string_view path);

}  // namespace trunnion::onnx
