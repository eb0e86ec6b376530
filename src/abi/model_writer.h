// A model that a client put together, as the bytes of a .onnx file.
#pragma once
#include <vector>

#include "abi/model_handles.h"

namespace trunnion::abi {

Result<std::vector<std::byte>> model_bytes(const OrtModel& model);

}  // namespace trunnion::abi
