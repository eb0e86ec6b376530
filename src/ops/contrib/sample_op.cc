// SampleOp (com.microsoft 1): the input as it is; an example of ONNX Runtime's that its builds carry.
#include "ops/elementwise.h"
#include "ops/move.h"

namespace trunnion::ops {
namespace {

constexpr OpDef kDefs[] = {{"SampleOp",
                            infer_elementwise,
                            cpu<ViewCopy>(kNumeric),
                            {.reviewed = 1, .view = 0},
                            "com.microsoft",
                            "com.microsoft::SampleOp 1 (X:T) -> (Y:T) T=u32|u64|i32|i64|float"}};

}  // namespace

TRUNNION_OPS(sample_op, kDefs);

}  // namespace trunnion::ops
