// The functions of one rung, by element type; integers of both signs share theirs.
#pragma once
#include "kernels/running_sum.h"

namespace trunnion::kernels {

struct RunningSumTable {
  RunningSum f32, f64, i32, i64;
};
const RunningSumTable& running_sum_table();

}  // namespace trunnion::kernels
