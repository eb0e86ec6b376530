// NGramRepeatBlock, BifurcationDetector, DynamicTimeWarping and UnfoldTensor.
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun op(const char* name, std::vector<Value> inputs, std::vector<ir::Attr> attrs = {}, int outputs = 1) {
  return {.op = name,
          .opset = 1,
          .inputs = std::move(inputs),
          .attrs = std::move(attrs),
          .outputs = outputs,
          .domain = "com.microsoft"};
}
constexpr float kNever = -std::numeric_limits<float>::infinity();

TEST(NGramRepeatBlock, Blocks) {
  const auto ids = tensor<int64_t>({2, 5}, {1, 2, 3, 1, 2, 0, 0, 0, 0, 0});
  const auto scores = tensor<float>({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(values<float>(output(op("NGramRepeatBlock", {ids, scores}, {{"ngram_size", int64_t{3}}}))),
            (Floats{0, 1, 2, kNever, kNever, 5, 6, 7}));
  EXPECT_EQ(values<float>(output(op("NGramRepeatBlock", {ids, scores}, {{"ngram_size", int64_t{6}}}))),
            (Floats{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_NE(failure(op("NGramRepeatBlock", {tensor<int64_t>({1, 1}, {9}), tensor<float>({1, 2}, {0, 0})},
                       {{"ngram_size", int64_t{1}}}))
                .find("input_ids[0,0] is 9"),
            std::string::npos);
}

TEST(BifurcationDetector, FollowsTheSource) {
  const auto source = tensor<int64_t>({6}, {1, 5, 3, 4, 2, 6}), current = tensor<int64_t>({2}, {7, 1});
  const auto run = [&](std::vector<int64_t> predicted, int64_t at) {
    const auto n = static_cast<int64_t>(predicted.size());
    return outputs(op("BifurcationDetector",
                      {source, current, tensor<int64_t>({}, {at}), tensor<int64_t>({n}, std::move(predicted))}, {}, 2));
  };
  auto out = run({5, 3, 2, 9, 9, 9}, 1);
  EXPECT_EQ(values<int64_t>(out[0]), (Ints{7, 1, 5, 3, 2}));
  EXPECT_EQ(values<int64_t>(out[1]), (Ints{5}));
  out = run({4, 2, 6, 8}, 3);
  EXPECT_EQ(values<int64_t>(out[0]), (Ints{7, 1, 4, 2, 6, 8}));
  EXPECT_EQ(values<int64_t>(out[1]), (Ints{-1}));
  out = outputs(op("BifurcationDetector", {source, current, tensor<int64_t>({}, {0})}, {}, 2));
  EXPECT_EQ(values<int64_t>(out[0]), (Ints{7, 1}));
  EXPECT_EQ(values<int64_t>(out[1]), (Ints{1}));
}

TEST(DynamicTimeWarping, CheapestPath) {
  const auto path = values<int32_t>(output(op("DynamicTimeWarping", {tensor<float>({2, 3}, {1, 5, 5, 1, 1, 1})})));
  EXPECT_EQ(path, (std::vector<int32_t>{0, 1, 1, 0, 1, 2}));
}

TEST(UnfoldTensor, Slices) {
  const auto x = tensor<int32_t>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  auto y = output(op("UnfoldTensor", {x}, {{"size", int64_t{2}}, {"step", int64_t{2}}}));
  EXPECT_EQ(shape(y), (Ints{2, 2, 2}));
  EXPECT_EQ(values<int32_t>(y), (std::vector<int32_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  y = output(op("UnfoldTensor", {x}, {{"dim", int64_t{0}}, {"size", int64_t{2}}}));
  EXPECT_EQ(shape(y), (Ints{1, 4, 2}));
  EXPECT_EQ(values<int32_t>(y), (std::vector<int32_t>{1, 5, 2, 6, 3, 7, 4, 8}));
  EXPECT_EQ(texts(output(op("UnfoldTensor", {strings({3}, {"a", "b", "c"})}, {{"size", int64_t{2}}}))),
            (std::vector<std::string>{"a", "b", "b", "c"}));
  EXPECT_NE(failure(op("UnfoldTensor", {x}, {{"size", int64_t{5}}})).find("fewer than size 5"), std::string::npos);
}

TEST(BiasSoftmax, InnerAndOuter) {
  const auto x = tensor<float>({2, 2, 2}, {0, 0, 1, 1, 2, 2, 3, 3}), bias = tensor<float>({2, 1, 2}, {0, 1, 1, 0});
  const float big = std::exp(1.0f) / (1 + std::exp(1.0f)), small = 1 - big;
  const auto run = [&](const Tensor& b, int64_t inner) {
    return values<float>(output(op("BiasSoftmax", {x, b}, {{"axis", int64_t{2}}, {"is_inner_broadcast", inner}})));
  };
  const auto expect = [](const Floats& got, const Floats& want) {
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6) << i;
  };
  expect(run(bias, 1), {small, big, small, big, big, small, big, small});
  expect(run(tensor<float>({1, 2, 2}, {0, 1, 1, 0}), 0), {small, big, big, small, small, big, big, small});
}

}  // namespace
}  // namespace trunnion::ops::test
