// Element types: their names, sizes and kinds, and single elements as numbers. Sub-byte elements are packed, first in
// the low bits, as the engine stores them.
#pragma once
#include <cstddef>
#include <cstdint>

#include "trunnion/ort_abi.h"

namespace trunnion::cli {

using DataType = ONNXTensorElementDataType;
using Integer = __int128;  // holds every value of every integer type

enum class ElementKind : uint8_t { none, boolean, integer, unsigned_integer, real, complex, text };

struct ElementFacts {
  const char* name;  // as in "tensor(float)"
  int code;          // of TensorProto.DataType
  ElementKind kind;
  int bits;  // of one element; 0 for text
};

// An unknown type gives the row of "undefined".
const ElementFacts& element_facts(DataType type);
DataType element_type_of_code(int64_t code);  // of TensorProto.DataType; UNDEFINED when there is none

inline size_t storage_bytes(DataType type, size_t count) {
  const size_t bits = static_cast<size_t>(element_facts(type).bits);
  return bits >= 8 ? count * (bits / 8) : (count * bits + 7) / 8;
}

inline bool is_integer(DataType type) {
  const ElementKind kind = element_facts(type).kind;
  return kind == ElementKind::boolean || kind == ElementKind::integer || kind == ElementKind::unsigned_integer;
}

// Least and greatest value of an integer type (bool: 0 and 1).
Integer least(DataType type);
Integer greatest(DataType type);

// Element i. For a complex type its real part, or with part = 1 the imaginary one. Not for text.
double number_at(DataType type, const std::byte* data, size_t i, int part = 0);
Integer integer_at(DataType type, const std::byte* data, size_t i);  // of an integer type

// Sets element i of storage that was zero. False when the type has no such value: out of range, or a fraction for an
// integer. Reals are rounded to nearest even; beyond their range they become infinite, or the greatest finite value
// where a type has no infinity.
bool store_number(DataType type, std::byte* data, size_t i, double value, int part = 0);
bool store_integer(DataType type, std::byte* data, size_t i, Integer value);

}  // namespace trunnion::cli
