// The sets of types that signatures speak of, and the kinds of attributes.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/dtype.h"
#include "tensor/type.h"

namespace trunnion::schema {

// Numeric values are those of AttributeProto.AttributeType.
enum class AttrType : uint8_t {
  undefined = 0,
  f = 1,
  i = 2,
  s = 3,
  t = 4,
  g = 5,
  floats = 6,
  ints = 7,
  strings = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
  tp = 13,
  type_protos = 14,
};
inline constexpr int kAttrTypeCount = 15;

// "FLOAT", "INTS", "TYPE_PROTO", ...: as onnx.proto writes it.
std::string_view attr_type_name(AttrType type);

// A set of types: one set of element types for each form that ONNX operators use.
class TypeSet {
 public:
  enum class Form : uint8_t {
    tensor,
    sequence,           // seq(tensor)
    optional,           // optional(tensor)
    optional_sequence,  // optional(seq(tensor))
    map_int64,          // map(int64, tensor); the set holds the value types
    map_string,
    sequence_map_int64,
    sequence_map_string,
    sparse_tensor,
  };
  static constexpr int kForms = 9;

  constexpr TypeSet() = default;
  constexpr TypeSet(DTypes tensors) { forms_[0] = tensors; }  // NOLINT: element types alone mean dense tensors

  DTypes of(Form form) const { return forms_[static_cast<size_t>(form)]; }
  DTypes tensors() const { return forms_[0]; }
  void add(Form form, DTypes elements);
  void add(const TypeSet& other);
  bool empty() const;

  // Whether a value of this type is allowed. What is not known yet (kind unknown, element undefined) is given the
  // benefit of the doubt.
  bool has(const Type& type) const;

  // The type, when there is exactly one in the set. Without shape.
  std::optional<Type> only() const;

  // "tensor(float), tensor(double), seq(tensor(float))"
  std::string text() const;

  friend bool operator==(const TypeSet& a, const TypeSet& b);

 private:
  std::array<DTypes, kForms> forms_;
};

}  // namespace trunnion::schema
