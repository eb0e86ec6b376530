// Broadcast plans (merging dimensions) and the loops over them.
#include "kernels/broadcast.h"

#include <cstring>
#include <utility>

#include "base/checked_math.h"
#include "kernels/broadcast_gathered.h"
#include "kernels/copy.h"

namespace trunnion::kernels {
namespace {

// Dimension d of an input, counted in the output's frame; missing leading ones are 1.
int64_t input_dim(const int64_t* shape, int rank, int out_rank, int d) {
  const int own = d - (out_rank - rank);
  return own < 0 ? 1 : shape[own];
}

}  // namespace

bool broadcast_plan_to(int inputs, const int64_t* const* shapes, const int* ranks, const int64_t* out, int out_rank,
                       BroadcastPlan& plan) {
  plan = BroadcastPlan{};
  if (inputs < 1 || inputs > kMaxBroadcastInputs) return false;
  plan.inputs = inputs;
  plan.rank = 0;
  int64_t next[kMaxBroadcastInputs];  // contiguous stride of each input at the dimension reached
  for (int i = 0; i < inputs; ++i) {
    if (ranks[i] > out_rank) return false;
    next[i] = 1;
  }
  // From the innermost outwards; the plan is built reversed.
  bool empty = false;
  for (int d = out_rank - 1; d >= 0; --d) {
    const int64_t size = out[d];
    if (size < 0) return false;
    for (int i = 0; i < inputs; ++i) {
      const int64_t own = input_dim(shapes[i], ranks[i], out_rank, d);
      if (own != size && own != 1) return false;
    }
    if (size == 0) empty = true;
    if (size == 1 || empty) continue;
    if (!mul_fits(plan.elements, size, &plan.elements)) return false;
    int64_t stride[kMaxBroadcastInputs] = {};
    for (int i = 0; i < inputs; ++i) {
      if (input_dim(shapes[i], ranks[i], out_rank, d) == 1) continue;
      stride[i] = next[i];
      next[i] *= size;
    }
    const int last = plan.rank - 1;
    bool merges = last >= 0;
    for (int i = 0; merges && i < inputs; ++i) merges = stride[i] == plan.stride[i][last] * plan.dim[last];
    if (merges) {
      plan.dim[last] *= size;
      continue;
    }
    if (plan.rank == kMaxBroadcastDims) return false;
    plan.dim[plan.rank] = size;
    for (int i = 0; i < inputs; ++i) plan.stride[i][plan.rank] = stride[i];
    ++plan.rank;
  }
  if (empty) plan.elements = 0;
  if (plan.rank == 0 || empty) {
    plan.rank = 1;
    plan.dim[0] = 1;
    for (int i = 0; i < inputs; ++i) plan.stride[i][0] = 0;
    return true;
  }
  for (int low = 0, high = plan.rank - 1; low < high; ++low, --high) {
    std::swap(plan.dim[low], plan.dim[high]);
    for (int i = 0; i < inputs; ++i) std::swap(plan.stride[i][low], plan.stride[i][high]);
  }
  return true;
}

bool broadcast_plan(int inputs, const int64_t* const* shapes, const int* ranks, BroadcastPlan& plan) {
  constexpr int kMaxRank = 64;
  int out_rank = 0;
  for (int i = 0; i < inputs; ++i) out_rank = ranks[i] > out_rank ? ranks[i] : out_rank;
  if (out_rank > kMaxRank) return false;
  int64_t out[kMaxRank];
  for (int d = 0; d < out_rank; ++d) {
    out[d] = 1;
    for (int i = 0; i < inputs; ++i) {
      const int64_t own = input_dim(shapes[i], ranks[i], out_rank, d);
      if (own != 1) out[d] = own;
    }
  }
  return broadcast_plan_to(inputs, shapes, ranks, out, out_rank, plan);
}

void broadcast_binary(const BroadcastPlan& plan, int64_t begin, int64_t end, BinaryFn fn, const void* a, const void* b,
                      void* y, size_t in_size, size_t out_size) {
  const char* left = static_cast<const char*>(a);
  const char* right = static_cast<const char*>(b);
  char* out = static_cast<char*>(y);
  broadcast_rows(plan, begin, end, [&](const int64_t* offset, int64_t at, int64_t n) {
    fn(left + static_cast<size_t>(offset[0]) * in_size, right + static_cast<size_t>(offset[1]) * in_size,
       out + static_cast<size_t>(at) * out_size, static_cast<size_t>(n));
  });
}

void broadcast_gathered(const BroadcastPlan& plan, int64_t begin, int64_t end, BinaryFn fn, const uint16_t* a,
                        const uint16_t* b, void* y, size_t out_size) {
  constexpr int64_t kBlock = 1024, kSlack = 16;
  uint16_t buffer[2][kBlock + kSlack];
  const uint16_t* in[2] = {a, b};
  bool whole[2];  // as the output lies
  for (int i = 0; i < 2; ++i) {
    int64_t stride = 1;
    whole[i] = true;
    for (int d = plan.rank - 1; d >= 0; --d) {
      whole[i] &= plan.stride[i][d] == stride;
      stride *= plan.dim[d];
    }
  }
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t n = end - at < kBlock ? end - at : kBlock;
    broadcast_rows(plan, at, at + n, [&](const int64_t* offset, int64_t row, int64_t count) {
      for (int i = 0; i < 2; ++i) {
        if (whole[i]) continue;
        uint16_t* to = buffer[i] + (row - at);
        const uint16_t* from = in[i] + offset[i];
        if (plan.inner_stride(i)) {
          std::memcpy(to, from, static_cast<size_t>(count) * sizeof(uint16_t));
        } else {  // up to kSlack - 1 too many: the next row overwrites them
          uint16_t same[kSlack];
          for (uint16_t& v : same) v = *from;
          for (int64_t k = 0; k < count; k += kSlack) std::memcpy(to + k, same, sizeof(same));
        }
      }
    });
    fn(whole[0] ? a + at : buffer[0], whole[1] ? b + at : buffer[1],
       static_cast<char*>(y) + static_cast<size_t>(at) * out_size, static_cast<size_t>(n));
  }
}

void broadcast_where(const BroadcastPlan& plan, int64_t begin, int64_t end, const bool* condition, const void* a,
                     const void* b, void* y, size_t size) {
  const char* left = static_cast<const char*>(a);
  const char* right = static_cast<const char*>(b);
  char* out = static_cast<char*>(y);
  broadcast_rows(plan, begin, end, [&](const int64_t* offset, int64_t at, int64_t n) {
    select(condition + offset[0], plan.inner_stride(0), left + static_cast<size_t>(offset[1]) * size,
           plan.inner_stride(1), right + static_cast<size_t>(offset[2]) * size, plan.inner_stride(2),
           out + static_cast<size_t>(at) * size, n, size);
  });
}

void broadcast_copy(const BroadcastPlan& plan, int64_t begin, int64_t end, const void* x, void* y, size_t size) {
  const char* in = static_cast<const char*>(x);
  char* out = static_cast<char*>(y);
  broadcast_rows(plan, begin, end, [&](const int64_t* offset, int64_t at, int64_t n) {
    const char* source = in + static_cast<size_t>(offset[0]) * size;
    char* target = out + static_cast<size_t>(at) * size;
    if (plan.inner_stride(0) == 0) {
      fill(target, source, static_cast<size_t>(n), size);
    } else {
      __builtin_memcpy(target, source, static_cast<size_t>(n) * size);
    }
  });
}

}  // namespace trunnion::kernels
