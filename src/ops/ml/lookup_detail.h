// From keys (integers, floats or strings) to their positions: what encoders of ai.onnx.ml share.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/op.h"

namespace trunnion::ops {

// Element types that can be keys.
inline constexpr DTypes kLookupTypes = DType::string | DType::i64 | DType::i32 | DType::i16 | DType::f32 | DType::f64;

class Lookup {
 public:
  // A later key takes the place of an equal earlier one. Floats: all NaN are equal.
  static Result<Lookup> make(const Tensor& keys);

  // position[i] of x[i], or -1; x has one of kLookupTypes. Numbers are compared as the keys' type if cast is true,
  // else x must have that type.
  Status find(const TensorView& x, int64_t begin, int64_t end, int64_t* position, bool cast = false) const;
  int64_t find(const std::string& key) const;
  int64_t find(int64_t key) const;

 private:
  DType type_ = DType::undefined;
  std::unordered_map<int64_t, int64_t> numbers_;  // integers, or the bits of doubles
  std::unordered_map<std::string, int64_t> texts_;
};

// Tensors of rank 1 from lists.
Tensor vector_of(const std::vector<int64_t>& v);
Tensor vector_of(const std::vector<float>& v);
Tensor vector_of(const std::vector<std::string>& v);

}  // namespace trunnion::ops
