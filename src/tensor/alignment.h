// Tensors that are used where they lie in a file may begin at any byte. Whoever looks at elements through a typed
// pointer needs an aligned one; what only moves bytes does not.
#pragma once
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "tensor/tensor.h"

namespace trunnion {

inline bool is_aligned(const Tensor& t) {
  const size_t alignment = std::clamp<size_t>(size_of(t.dtype()), 1, 8);
  return reinterpret_cast<uintptr_t>(t.raw()) % alignment == 0;
}

// The tensor itself when it is aligned, else a copy.
inline Result<Tensor> aligned(const Tensor& t) {
  if (is_aligned(t)) return t;
  TRN_ASSIGN(Tensor copy, Tensor::allocate(t.dtype(), t.shape()));
  std::memcpy(copy.raw(), t.raw(), t.bytes());
  return copy;
}

}  // namespace trunnion
