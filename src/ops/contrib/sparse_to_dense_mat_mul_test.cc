#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun product(SparseTensor a, Tensor b, std::vector<ir::Attr> attrs = {}) {
  return {.op = "SparseToDenseMatMul",
          .opset = 1,
          .inputs = {Value(std::move(a)), std::move(b)},
          .attrs = std::move(attrs),
          .domain = "com.microsoft"};
}

// {{0, 2, 0}, {3, 0, 0}}
SparseTensor coordinates() {
  return {SparseTensor::Format::coo, {2, 3}, tensor<float>({2}, {2, 3}), tensor<int64_t>({2, 2}, {0, 1, 1, 0}), {}};
}
const Tensor b = tensor<float>({3, 2}, {1, 2, 3, 4, 5, 6});

TEST(SparseToDenseMatMul, Formats) {
  EXPECT_EQ(values<float>(output(product(coordinates(), b))), (Floats{6, 8, 3, 6}));
  SparseTensor linear = coordinates();
  linear.indices = tensor<int64_t>({2}, {1, 3});
  EXPECT_EQ(values<float>(output(product(linear, b, {{"alpha", 2.0f}}))), (Floats{12, 16, 6, 12}));
  SparseTensor rows = coordinates();
  rows.format = SparseTensor::Format::csr;
  rows.indices = tensor<int64_t>({2}, {1, 0});
  rows.outer_indices = tensor<int64_t>({3}, {0, 1, 2});
  EXPECT_EQ(values<float>(output(product(rows, b))), (Floats{6, 8, 3, 6}));
}

TEST(SparseToDenseMatMul, Empty) {
  const SparseTensor nothing{SparseTensor::Format::coo, {2, 0}, tensor<float>({0}, {}), tensor<int64_t>({0}, {}), {}};
  EXPECT_EQ(values<float>(output(product(nothing, tensor<float>({0, 2}, {})))), (Floats{0, 0, 0, 0}));
}

TEST(SparseToDenseMatMul, Transposed) {
  const Tensor square = tensor<float>({2, 2}, {1, 10, 100, 1000});
  EXPECT_EQ(values<float>(output(product(coordinates(), square, {{"transA", int64_t{1}}}))),
            (Floats{300, 3000, 2, 20, 0, 0}));
  EXPECT_EQ(values<float>(output(product(coordinates(), tensor<float>({1, 3}, {1, 3, 5}), {{"transB", int64_t{1}}}))),
            (Floats{6, 3}));
}

TEST(SparseToDenseMatMul, Misfits) {
  SparseTensor a = coordinates();
  a.indices = tensor<int64_t>({2, 2}, {0, 1, 2, 0});
  EXPECT_NE(failure(product(a, b)).find("(2, 0)"), std::string::npos);
  a.indices = tensor<int64_t>({1}, {0});
  EXPECT_NE(failure(product(a, b)).find("1 indices"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
