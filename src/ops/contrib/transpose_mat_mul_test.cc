#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun product(std::string op, Tensor a, Tensor b, std::vector<ir::Attr> attrs = {}) {
  return {.op = std::move(op),
          .opset = 1,
          .inputs = {std::move(a), std::move(b)},
          .attrs = std::move(attrs),
          .domain = "com.microsoft"};
}
const ir::Attr kTransA{"transA", int64_t{1}}, kTransB{"transB", int64_t{1}}, kBatchA{"transBatchA", int64_t{1}},
    kBatchB{"transBatchB", int64_t{1}};
const Tensor a23 = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});

TEST(TransposeMatMul, Matrices) {
  const Tensor b = tensor<float>({2, 2}, {1, -1, 2, 0.5f});
  // a' b = {{1,4},{2,5},{3,6}} {{1,-1},{2,.5}}
  auto r = product("TransposeMatMul", a23, b, {kTransA, {"alpha", 2.0f}});
  EXPECT_EQ(values<float>(output(r)), (Floats{18, 2, 24, 1, 30, 0}));
  EXPECT_EQ(shape(output(r)), (Ints{3, 2}));
  r.constant = {false, true};
  EXPECT_EQ(values<float>(output(r)), (Floats{18, 2, 24, 1, 30, 0}));
  r = product("FusedMatMul", a23, a23, {kTransB});
  EXPECT_EQ(values<float>(output(r)), (Floats{14, 32, 32, 77}));
  r = product("FusedMatMul", tensor<double>({2, 3}, {1, 2, 3, 4, 5, 6}), tensor<double>({2, 3}, {1, 2, 3, 4, 5, 6}),
              {kTransB, {"alpha", 0.5f}});
  EXPECT_EQ(values<double>(output(r)), (std::vector<double>{7, 16, 16, 38.5}));
  r = product("FusedMatMul", half({1, 2}, {1, 2}), half({1, 2}, {3, 4}), {kTransB});
  EXPECT_EQ(widened(output(r)), (Floats{11}));
}

TEST(TransposeMatMul, Vectors) {
  // Nothing is transposed of a vector.
  const Tensor v = tensor<float>({3}, {1, 0, -1});
  EXPECT_EQ(values<float>(output(product("FusedMatMul", a23, v, {kTransB}))), (Floats{-2, -2}));
  EXPECT_EQ(values<float>(output(product("FusedMatMul", v, a23, {kTransA, kTransB}))), (Floats{-2, -2}));
  EXPECT_TRUE(shape(output(product("FusedMatMul", v, v))).empty());
}

TEST(TransposeMatMul, Batches) {
  // Two batches of 1 x 2 by 2 x 1, the second operand with its rows and columns swapped.
  const Tensor a = tensor<float>({2, 1, 2}, {1, 2, 3, 4}), b = tensor<float>({2, 1, 2}, {5, 6, 7, 8});
  auto r = product("FusedMatMul", a, b, {kTransB});
  EXPECT_EQ(values<float>(output(r)), (Floats{17, 53}));
  EXPECT_EQ(shape(output(r)), (Ints{2, 1, 1}));
  // The batch is the dimension in the middle: [1, 2 batches, 2].
  r = product("FusedMatMul", tensor<float>({1, 2, 2}, {1, 2, 3, 4}), b, {kBatchA, kTransB});
  EXPECT_EQ(values<float>(output(r)), (Floats{17, 53}));
  r = product("FusedMatMul", a, tensor<float>({2, 2, 1}, {5, 7, 6, 8}), {kBatchB});
  EXPECT_EQ(values<float>(output(r)), (Floats{17, 53}));
  // One B for all batches.
  r = product("FusedMatMul", a, tensor<float>({1, 2}, {1, 10}), {kTransB});
  EXPECT_EQ(values<float>(output(r)), (Floats{21, 43}));
  EXPECT_EQ(shape(output(r)), (Ints{2, 1, 1}));
}

TEST(TransposeMatMul, Activation) {
  const Tensor x = tensor<float>({1, 1}, {2}), w = tensor<float>({1, 2}, {1, -1});
  auto r = product("FusedMatMulActivation", x, w, {{"activation", std::string("Relu")}});
  EXPECT_EQ(values<float>(output(r)), (Floats{2, 0}));
  r = product("FusedMatMulActivation", x, w,
              {{"activation", std::string("LeakyRelu")}, {"activation_alpha", 0.25f}, {"alpha", 2.0f}});
  EXPECT_EQ(values<float>(output(r)), (Floats{4, -1}));
  r.attrs = {{"activation", std::string("Elu")}, {"activation_alpha", 2.0f}};
  EXPECT_NEAR(values<float>(output(r))[1], 2 * (std::exp(-2.0f) - 1), 1e-6f);
  r.attrs = {{"activation", std::string("Softmax")}};
  EXPECT_NE(failure(r).find("'Softmax'"), std::string::npos);
}

TEST(TransposeMatMul, Infer) {
  auto r = product("FusedMatMul", a23, a23, {kTransA, kTransB, kBatchA});
  EXPECT_EQ(inferred(r, {fact({symbol("K"), symbol("B"), symbol("M")}), fact({symbol("B"), 5, symbol("K")})}),
            "{B,M,5}");
  EXPECT_NE(failure(product("FusedMatMul", a23, a23, {})).find("inner dimensions are 3 and 2"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
