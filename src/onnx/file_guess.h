// What bytes that are not an ONNX model seem to be, for error messages.
#pragma once
#include <string_view>

#include "onnx/wire.h"

namespace trunnion::onnx {

// "an HTML or XML page (a failed download?)", "a Git LFS pointer, ...", ...; empty when nothing is recognised.
std::string_view guess_content(Bytes bytes);

}  // namespace trunnion::onnx
