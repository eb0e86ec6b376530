// Cast (ai.onnx 1 ... 28): every pair of element types but complex. Before opset 6 `to` is the type's name.
#include <algorithm>
#include <cctype>

#include "ops/tensor/cast_detail.h"

namespace trunnion::ops {
namespace {

// TensorProto's names where they differ from dtype_name.
std::optional<DType> dtype_from_upper(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return dtype_from_name(name);
}

Result<DType> read(const ir::Node& n) {
  if (n.since() < 6) {
    const std::string name = n.attr("to", "");
    if (const auto t = dtype_from_upper(name)) return *t;
    return invalid_argument("attribute to is '{}', which names no element type", name);
  }
  const int64_t code = n.attr("to", 0);
  const auto t = dtype_from_code(code);
  if (!t || *t == DType::undefined)
    return invalid_argument("attribute to is {}, which is no element type that is known", code);
  return *t;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const DType to, read(n));
  return infer_cast(f, to);
}

Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
  TRN_ASSIGN(const DType to, read(n));
  TRN_ASSIGN(const auto params, read_convert_params(n));
  return make_cast(n.input(0)->fact.dtype(), to, params);
}

constexpr DTypes kTypes = DTypes::from_bits(kAllTypes.bits() & ~kComplex.bits());
constexpr OpDef kDefs[] = {{"Cast", infer, {kTypes, make, 0}, {.reviewed = 28, .in_place = {{0, 0}}}}};

}  // namespace

TRUNNION_OPS(cast, kDefs);
}  // namespace trunnion::ops
