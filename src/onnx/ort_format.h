// ONNX Runtime's own model format (.ort): a graph in FlatBuffers, mostly one that its optimizer has been over.
#pragma once
#include "base/status.h"
#include "onnx/model_view.h"

namespace trunnion::onnx {

inline constexpr std::string_view kOrtMark = "ORTM";

// Like parse of reader.h, for bytes with that mark. Records of optimizations that a smaller runtime would apply when it
// loads the model are left out: the engine has its own.
Result<ModelView> parse_ort_format(Bytes bytes, std::string_view path);

}  // namespace trunnion::onnx
