// Identity (ai.onnx 1 ... 25): tensors, sequences and optionals pass through.
#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

constexpr OpDef kDefs[] = {{"Identity", infer_same, cpu<ViewCopy>(kAllTypes, -1), {.reviewed = 25, .view = 0}}};

}  // namespace

TRUNNION_OPS(identity, kDefs);
}  // namespace trunnion::ops
