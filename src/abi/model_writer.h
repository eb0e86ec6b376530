// A model that a client put together, as the bytes of a .onnx file.
#pragma once
#include <vector>

#include "abi/model_handles.h"

namespace trunnion::abi {

Result<std::vector<std::byte>> model_bytes(const OrtModel& model);

// The model of a file with what a client adds to it: nodes, initializers, operator sets; inputs and outputs that the
// addition lists take the place of the file's.
Result<std::vector<std::byte>> augmented_model(std::span<const std::byte> bytes, const OrtModel& addition);

}  // namespace trunnion::abi
