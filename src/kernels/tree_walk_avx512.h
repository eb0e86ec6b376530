// What tree_walk_avx512.cc gives to tree_walk.cc, and what it takes from there.
#pragma once
#include "kernels/tree_walk.h"

namespace trunnion::kernels {

const TreeWalk<float, uint32_t>& tree_walk_plain();

namespace avx512 {

extern const TreeWalk<float, uint32_t> kTreeWalk;

}  // namespace avx512
}  // namespace trunnion::kernels
