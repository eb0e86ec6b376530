// Tensors in protocol-buffer files (.pb): a TensorProto, or a SequenceProto of them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "array.h"

namespace trunnion::cli {

Array read_tensor_proto(std::string_view bytes, const std::string& what);
std::vector<Array> read_sequence_proto(std::string_view bytes, const std::string& what);

}  // namespace trunnion::cli
