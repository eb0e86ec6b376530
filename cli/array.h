// Array: elements with a type and a shape, as read from a file or as the engine gave them.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "element.h"
#include "trunnion/trunnion.hpp"

namespace trunnion::cli {

struct Array {
  DataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  Shape shape;
  size_t count = 0;
  std::shared_ptr<const std::byte> data;  // storage_bytes(type, count) of them; never null unless text
  std::vector<std::string> text;          // the elements of a string tensor
};

// Elements of a shape; fails, naming `what`, when a dimension is negative or when their bytes (at most 16 each) are too
// many to be addressed.
size_t element_count(const Shape& shape, const std::string& what = "the tensor");

Array make_array(DataType type, Shape shape, std::vector<std::byte> bytes);
Array make_array(Shape shape, std::vector<std::string> text);

// A tensor on the array's own memory, so that the array must outlive it (text is copied).
Value to_value(const Array& array);
// A view into a tensor, which it keeps alive.
Array from_value(std::shared_ptr<const Value> value);

// The same numbers with another element type. Integers and booleans convert where the value stays what it was, reals
// are rounded; `what` names the array in the error.
Array convert(const Array& array, DataType type, const std::string& what);

// One element as a person reads it; strings in quotes.
std::string element_text(const Array& array, size_t i);

}  // namespace trunnion::cli
