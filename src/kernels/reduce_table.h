// What reduce.simd.cc and reduce_types.simd.cc give to reduce.cc: functions by operation.
#pragma once
#include "kernels/reduce.h"

namespace trunnion::kernels {

struct ReduceTable {
  ReduceFn fn[kReduceOps];  // f32
};
const ReduceTable& reduce_table();

struct ReduceTypesTable {
  ReduceFn f64[kReduceOps];
  ReduceFn i32[int(ReduceOp::l1) + 1], i64[int(ReduceOp::l1) + 1], u32[int(ReduceOp::l1) + 1],
      u64[int(ReduceOp::l1) + 1];
  ReduceFn i8[2], u8[2], i16[2], u16[2];  // max, min
};
const ReduceTypesTable& reduce_types_table();

}  // namespace trunnion::kernels
