// What reduce.simd.cc gives to reduce.cc: f32 by operation.
#pragma once
#include "kernels/reduce.h"

namespace trunnion::kernels {

struct ReduceTable {
  ReduceFn fn[kReduceOps];
};
const ReduceTable& reduce_table();

}  // namespace trunnion::kernels
