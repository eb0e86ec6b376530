#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

const Tensor kX = tensor<float>({2, 2, 2}, {1, 3, 10, 20, 5, 7, 30, 40});

OpRun batch_norm(int opset, std::vector<ir::Attr> attrs = {}, int outputs = 1) {
  attrs.push_back({"epsilon", 0.0f});
  return {.op = "BatchNormalization",
          .opset = opset,
          .inputs = {kX, tensor<float>({2}, {2, 1}), tensor<float>({2}, {1, 0}), tensor<float>({2}, {3, 10}),
                     tensor<float>({2}, {4, 16})},
          .attrs = std::move(attrs),
          .outputs = outputs};
}

TEST(BatchNormalization, GivenStatistics) {
  const Floats want = {-1, 1, 0, 2.5, 3, 5, 5, 7.5};
  for (int opset : {6, 7, 9, 14, 15}) EXPECT_EQ(values<float>(output(batch_norm(opset))), want) << opset;
  OpRun wide = batch_norm(15);
  wide.inputs[0] = tensor<double>({1, 2, 1}, {5, 14});
  EXPECT_EQ(values<double>(output(wide)), (std::vector<double>{3, 1}));
  OpRun narrow = batch_norm(15);
  narrow.inputs[0] = half({1, 2, 1}, {5, 14});
  EXPECT_EQ(widened(output(narrow)), (Floats{3, 1}));
  OpRun flat = batch_norm(15);
  flat.inputs[0] = tensor<float>({2, 2}, {5, 14, 3, 10});
  EXPECT_EQ(values<float>(output(flat)), (Floats{3, 1, 1, 0}));
}

TEST(BatchNormalization, PerPosition) {
  OpRun r = batch_norm(7, {{"spatial", int64_t{0}}});
  for (int i = 1; i < 5; ++i) r.inputs[i] = tensor<float>({2, 2}, {1, 1, 1, 4});
  const auto y = values<float>(output(r));
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[3], (20 - 4) / 2.f * 4 + 4);
}

TEST(BatchNormalization, Training) {
  const auto y = outputs(batch_norm(15, {{"training_mode", int64_t{1}}, {"momentum", 0.5f}}, 3));
  EXPECT_EQ(values<float>(y[1]), (Floats{3.5, 17.5}));  // means of the batch: 4, 25
  EXPECT_EQ(values<float>(y[2]), (Floats{4.5, 70.5}));  // variances: 5, 125
  EXPECT_NEAR(values<float>(y[0])[0], 2 * -3 / std::sqrt(5.0) + 1, 1e-5);
  EXPECT_NEAR(values<float>(y[0])[7], 15 / std::sqrt(125.0), 1e-5);
  const auto old = outputs(batch_norm(9, {{"momentum", 0.5f}}, 5));
  EXPECT_EQ(values<float>(old[1]), (Floats{3.5, 17.5}));
  EXPECT_EQ(values<float>(old[3]), (Floats{4, 25}));
  EXPECT_EQ(values<float>(old[4]), (Floats{5, 125}));
}

TEST(BatchNormalization, Checks) {
  OpRun r = batch_norm(15);
  r.inputs[3] = tensor<float>({3}, {1, 2, 3});
  EXPECT_NE(failure(r).find("input 3 has 3 elements"), std::string::npos);
  EXPECT_EQ(inferred(batch_norm(15), {fact({symbol("N"), 2, 5}), fact({2}), fact({2}), fact({2}), fact({2})}),
            "{N,2,5}");
}

}  // namespace
}  // namespace trunnion::ops::test
