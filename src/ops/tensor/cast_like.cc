// CastLike (ai.onnx 15 ... 25): Cast to the element type of the second input.
#include "ops/tensor/cast_detail.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node&, ir::Facts& f) { return infer_cast(f, f.dtype(1)); }

Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
  TRN_ASSIGN(const auto params, read_convert_params(n));
  return make_cast(n.input(0)->fact.dtype(), n.input(1)->fact.dtype(), params);
}

constexpr DTypes kTypes = DTypes::from_bits(kAllTypes.bits() & ~kComplex.bits());
constexpr OpDef kDefs[] = {{"CastLike", infer, {kTypes, make, 0}, {.reviewed = 25, .in_place = {{0, 0}}}}};

}  // namespace

TRUNNION_OPS(cast_like, kDefs);
}  // namespace trunnion::ops
