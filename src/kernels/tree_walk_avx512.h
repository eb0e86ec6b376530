// What tree_walk_avx512.cc gives to tree_walk.cc.
#pragma once
#include "kernels/tree_walk.h"

namespace trunnion::kernels::avx512 {

extern const TreeWalk<float, uint32_t> kTreeWalk;

}  // namespace trunnion::kernels::avx512
