// LoRA adapters (.onnx_adapter): named tensors in a FlatBuffers file with the identifier "TORT".
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "tensor/tensor.h"

namespace trunnion::abi {

struct Adapter {
  int32_t format_version = 0, adapter_version = 0, model_version = 0;
  std::vector<std::pair<std::string, Tensor>> parameters;
};

// The tensors are views of the bytes, which live as long as `keep_alive`; those that lie unaligned are copied.
Result<Adapter> read_adapter(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive);

}  // namespace trunnion::abi
