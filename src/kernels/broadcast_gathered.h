// Broadcasting over short rows: whole blocks of elements are gathered for one call of the function.
#pragma once
#include "kernels/broadcast.h"

namespace trunnion::kernels {

// Whether rows are so short that f16 and bf16 gain by it.
inline bool worth_gathering(const BroadcastPlan& plan) { return plan.rank > 1 && plan.inner() < 128; }

// broadcast_binary for elements of two bytes, in blocks that are put together first: fn is binary(op, type,
// vector_vector). For short inner dimensions and functions that cost more to begin than to go on.
void broadcast_gathered(const BroadcastPlan& plan, int64_t begin, int64_t end, BinaryFn fn, const uint16_t* a,
                        const uint16_t* b, void* y, size_t out_size);

}  // namespace trunnion::kernels
