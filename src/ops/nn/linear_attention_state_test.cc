#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun attend(const char* rule, std::vector<Value> inputs, int64_t q_heads = 1, int64_t kv_heads = 1, float scale = 1) {
  return {.op = "LinearAttention",
          .opset = 27,
          .inputs = std::move(inputs),
          .attrs = {{"update_rule", std::string(rule)},
                    {"q_num_heads", q_heads},
                    {"kv_num_heads", kv_heads},
                    {"scale", scale}},
          .outputs = 2};
}
// Two tokens of one head: keys of 2, values of 1.
Tensor query() { return tensor<float>({1, 2, 2}, {1, 0, 1, 1}); }
Tensor key() { return tensor<float>({1, 2, 2}, {1, 2, 3, 4}); }
Tensor value() { return tensor<float>({1, 2, 1}, {10, 1}); }

TEST(LinearAttention, Linear) {
  const auto y = outputs(attend("linear", {query(), key(), value()}));
  EXPECT_EQ(values<float>(y[0]), (Floats{10, 37}));  // memory {10, 20}, then {13, 24}
  EXPECT_EQ(values<float>(y[1]), (Floats{13, 24}));
  EXPECT_EQ(shape(y[1]), (Ints{1, 1, 2, 1}));
}

TEST(LinearAttention, GatedForgets) {
  const float half = std::log(0.5f);
  const Tensor past = tensor<float>({1, 1, 2, 1}, {4, 8});
  auto y = outputs(attend("gated", {query(), key(), value(), past, tensor<float>({1, 2, 1}, {half, half})}));
  EXPECT_NEAR(values<float>(y[1])[0], (2 + 10) / 2 + 3, 1e-5f);
  EXPECT_NEAR(values<float>(y[1])[1], (4 + 20) / 2 + 4, 1e-5f);
  // By dimension of the key.
  y = outputs(attend("gated", {query(), key(), value(), past, tensor<float>({1, 2, 2}, {0, half, 0, half})}));
  EXPECT_NEAR(values<float>(y[1])[0], 4 + 10 + 3, 1e-5f);
  EXPECT_NEAR(values<float>(y[1])[1], (4 + 20) / 2 + 4, 1e-5f);
}

TEST(LinearAttention, DeltaWritesWhatIsMissing) {
  const auto y =
      outputs(attend("delta", {query(), key(), value(), Tensor{}, Tensor{}, tensor<float>({1, 2, 1}, {1, 0.5f})}));
  // The second token finds 3 * 10 + 4 * 20 = 110 and writes (1 - 110) / 2.
  EXPECT_EQ(values<float>(y[1]), (Floats{10 - 54.5f * 3, 20 - 54.5f * 4}));
}

TEST(LinearAttention, QueryHeadsShareAMemory) {
  const auto y = outputs(attend(
      "linear",
      {tensor<float>({1, 1, 4}, {1, 0, 0, 2}), tensor<float>({1, 1, 2}, {3, 5}), tensor<float>({1, 1, 1}, {1})}, 2, 1));
  EXPECT_EQ(values<float>(y[0]), (Floats{3, 10}));
}

TEST(LinearAttention, DefaultScaleAndStateOfAnotherType) {
  const auto y = outputs(attend("linear",
                                {half({1, 1, 4}, {1, 1, 1, 1}), half({1, 1, 4}, {1, 1, 1, 1}), half({1, 1, 1}, {2}),
                                 tensor<float>({1, 1, 4, 1}, {0, 0, 0, 0.125f})},
                                1, 1, 0));
  EXPECT_NEAR(widened(y[0])[0], (2 * 4 + 0.125f) / 2, 1e-2f);
  EXPECT_EQ(values<float>(y[1]), (Floats{2, 2, 2, 2.125f}));
}

TEST(LinearAttention, Refusals) {
  EXPECT_NE(failure(attend("gated", {query(), key(), value()})).find("'gated' needs input decay"), std::string::npos);
  EXPECT_NE(failure(attend("square", {query(), key(), value()})).find("'square'"), std::string::npos);
  EXPECT_NE(failure(attend("linear", {query(), key(), value()}, 3, 2)).find("multiple"), std::string::npos);
  EXPECT_NE(failure(attend("linear", {query(), tensor<float>({1, 1, 2}, {1, 2}), value()})).find("input 1 has shape"),
            std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
