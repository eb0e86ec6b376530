// For unit tests of operators: build one node, feed it tensors, get its outputs through infer and kernel.
#pragma once
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "ops/catalog.h"

namespace trunnion::ops::test {

template <class T>
Tensor tensor(std::initializer_list<int64_t> dims, std::vector<T> values) {
  auto t = Tensor::allocate(DTypeOf<T>::value, std::vector<int64_t>(dims));
  EXPECT_TRUE(t.ok());
  EXPECT_EQ(t->count(), static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), t->template data<T>());
  return *t;
}
Tensor strings(std::initializer_list<int64_t> dims, std::vector<std::string> values);

// A node under test. Inputs are given in order; an invalid Tensor{} stands for an absent optional input.
struct OpRun {
  std::string op;
  int opset = 21;
  std::vector<Value> inputs;
  std::vector<ir::Attr> attrs;
  int outputs = 1;
  std::string domain;
  std::vector<bool> constant;  // inputs that are constants in the graph (seen by infer, make and prepare)
};
Result<std::vector<Value>> run(const OpRun& op);

// The symbolic shapes that infer gives for inputs of these types.
Result<std::vector<ir::Fact>> infer(const OpRun& op, const std::vector<ir::Fact>& facts);

template <class T>
std::vector<T> values(const Value& v) {
  EXPECT_TRUE(v.is_tensor());
  EXPECT_EQ(v.tensor().dtype(), DTypeOf<T>::value);
  auto s = v.tensor().span<T>();
  return {s.begin(), s.end()};
}
inline std::vector<int64_t> shape(const Value& v) { return {v.tensor().shape().begin(), v.tensor().shape().end()}; }

}  // namespace trunnion::ops::test
