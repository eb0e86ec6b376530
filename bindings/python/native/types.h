// Types of values as the model declares them: what the session's inputs accept and what NodeArg.type says.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "element_types.h"
#include "engine.h"

namespace trunnion::python {

struct TypeNode {
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  ElementType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;  // of a tensor; of a map's keys
  std::vector<int64_t> dims;                                      // of a tensor; -1 where symbolic
  std::vector<std::string> symbols;                               // one a dimension; "" where it has no name
  std::unique_ptr<TypeNode> inner;                                // of a sequence, a map's values, an optional
};

TypeNode parse_type(const OrtTypeInfo* info);

// "tensor(float)", "seq(tensor(int64))", "map(int64,tensor(float))", "optional(...)", "sparse_tensor(float)".
std::string type_text(const TypeNode& type);

// Ints, names of symbols, None where a dimension is unknown; empty when the rank is unknown or the type has no shape.
nb::list shape_list(const TypeNode& type);

}  // namespace trunnion::python
