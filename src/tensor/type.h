// What kind of thing a value is: a tensor of some element type and shape, or a sequence, map, optional of such.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "tensor/dim.h"
#include "tensor/dtype.h"

namespace trunnion {

struct Type {
  enum class Kind : uint8_t { unknown, tensor, sequence, map, optional, sparse_tensor, opaque };

  Kind kind = Kind::unknown;
  DType dtype = DType::undefined;     // element type of tensor and sparse_tensor; key type of map
  std::optional<SymShape> shape;      // tensor, sparse_tensor: absent when not even the rank is known
  std::shared_ptr<const Type> inner;  // element of sequence and optional, value of map
  std::string denotation;

  static Type tensor(DType dtype, std::optional<SymShape> shape = std::nullopt);
  static Type sequence(Type element);
  static Type optional_of(Type element);
  static Type map(DType key, Type value);

  bool is_tensor() const { return kind == Kind::tensor; }
  // "tensor(float)", "seq(tensor(int64))", "map(int64,tensor(float))", "optional(...)": as ONNX writes it, no shape.
  std::string text() const;
};

// Same kinds and element types all the way down; shapes are not compared. undefined/unknown match anything.
bool same_kind(const Type& a, const Type& b);

}  // namespace trunnion
