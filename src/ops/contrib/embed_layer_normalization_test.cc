// EmbedLayerNormalization and QEmbedLayerNormalization.
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

// Rows of two elements become (-1, 1) or (1, -1) by which of them is larger.
const auto kIds = [] { return tensor<int32_t>({2, 2}, {0, 2, 1, 1}); };

OpRun embed(std::vector<Value> inputs) {
  return {.op = "EmbedLayerNormalization",
          .opset = 1,
          .inputs = std::move(inputs),
          .outputs = 3,
          .domain = "com.microsoft"};
}
void expect_near(const Value& v, const Floats& want, float tolerance = 1e-5f) {
  const auto got = v.tensor().dtype() == DType::f16 ? widened(v) : values<float>(v);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << i;
}

TEST(EmbedLayerNormalization, SumsAndMask) {
  const auto words = tensor<float>({3, 2}, {1, 2, 3, 4, 9, 5}), positions = tensor<float>({2, 2}, {0, 0, 1, -1});
  const auto segments = tensor<float>({2, 2}, {0, 0, -7, 7});
  const auto segment_ids = tensor<int32_t>({2, 2}, {0, 0, 1, 0}), mask = tensor<int32_t>({2, 2}, {1, 0, 1, 1});
  const auto gamma = tensor<float>({2}, {1, 2}), beta = tensor<float>({2}, {0, 1});
  auto out = outputs(embed({kIds(), segment_ids, words, positions, segments, gamma, beta, mask}));
  expect_near(out[2], {1, 2, 10, 4, -4, 11, 4, 3});
  expect_near(out[0], {-1, 3, 1, -1, -1, 3, 1, -1});
  EXPECT_EQ(values<int32_t>(out[1]), (std::vector<int32_t>{1, 2}));

  out = outputs(
      embed({kIds(), Tensor(), words, positions, Tensor(), gamma, beta, Tensor(), tensor<int32_t>({1, 2}, {1, 0})}));
  expect_near(out[2], {2, 1, 9, 5, 4, 3, 3, 4});
  EXPECT_EQ(values<int32_t>(out[1]), (std::vector<int32_t>{0, 0}));

  out = outputs(embed({kIds(), Tensor(), half({3, 2}, {1, 2, 3, 4, 9, 5}), half({2, 2}, {0, 0, 1, -1}), Tensor(),
                       half({2}, {1, 2}), half({2}, {0, 1})}));
  expect_near(out[2], {1, 2, 10, 4, 3, 4, 4, 3});
  expect_near(out[0], {-1, 3, 1, -1, -1, 3, 1, -1}, 2e-3f);
}

TEST(EmbedLayerNormalization, IndicesAreChecked) {
  const auto words = tensor<float>({2, 2}, {1, 2, 3, 4}), positions = tensor<float>({1, 2}, {0, 0});
  const auto gamma = tensor<float>({2}, {1, 2});
  EXPECT_NE(failure(embed({kIds(), Tensor(), words, positions, Tensor(), gamma, gamma})).find("input_ids[1] is 2"),
            std::string::npos);
  const auto one = tensor<int32_t>({1, 2}, {0, -1});
  EXPECT_NE(failure(embed({one, Tensor(), words, positions, Tensor(), gamma, gamma})).find("input_ids[1] is -1"),
            std::string::npos);
  EXPECT_NE(failure(embed({tensor<int32_t>({1, 2}, {0, 1}), Tensor(), words, positions, Tensor(), gamma, gamma}))
                .find("2 positions"),
            std::string::npos);
}

TEST(QEmbedLayerNormalization, IsThatOfNumbers) {
  const auto zero = [](uint8_t v) { return tensor<uint8_t>({}, {v}); };
  const auto scale = [](float v) { return tensor<float>({}, {v}); };
  OpRun r{.op = "QEmbedLayerNormalization", .opset = 1, .outputs = 2, .domain = "com.microsoft"};
  r.inputs = {kIds(),
              Tensor(),
              tensor<uint8_t>({3, 2}, {12, 14, 16, 18, 28, 20}),  // 1 2 3 4 9 5
              tensor<uint8_t>({2, 2}, {5, 5, 6, 4}),              // 0 0 1 -1
              Tensor(),
              tensor<uint8_t>({2}, {10, 20}),
              tensor<uint8_t>({2}, {0, 4}),
              tensor<int32_t>({2, 2}, {1, 1, 0, 1}),
              scale(0.5f),
              scale(1),
              Tensor(),
              scale(0.1f),
              scale(0.25f),
              zero(10),
              zero(5),
              Tensor(),
              zero(0),
              zero(0)};
  const auto out = outputs(r);
  expect_near(out[0], {-1, 3, 1, -1, -1, 3, 1, -1});
  EXPECT_EQ(values<int32_t>(out[1]), (std::vector<int32_t>{2, 1}));
}

}  // namespace
}  // namespace trunnion::ops::test
