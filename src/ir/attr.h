// Attributes of a node: a name and a typed value.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "schema/type_set.h"
#include "tensor/tensor.h"
#include "tensor/type.h"
#include "tensor/value.h"

namespace trunnion::ir {

class Graph;

using schema::attr_type_name;
using schema::AttrType;

struct Attr {
  using Ints = std::vector<int64_t>;
  using Floats = std::vector<float>;
  using Strings = std::vector<std::string>;
  using Data = std::variant<std::monostate, float, int64_t, std::string, Tensor, std::shared_ptr<Graph>, Floats, Ints,
                            Strings, std::vector<Tensor>, std::vector<std::shared_ptr<Graph>>, Value,
                            std::vector<Value>, Type, std::vector<Type>>;  // in the order of AttrType

  std::string name;
  Data data;
  std::string ref;  // inside a function body: the function's attribute that this one stands for

  AttrType type() const { return static_cast<AttrType>(data.index()); }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&data);
  }
};

}  // namespace trunnion::ir
