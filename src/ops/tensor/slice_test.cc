#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

Tensor list(const Ints& v) { return tensor<int64_t>({static_cast<int64_t>(v.size())}, v); }
OpRun slice(const Tensor& x, Ints starts, Ints ends, Ints axes, Ints steps) {
  return {.op = "Slice", .inputs = {x, list(starts), list(ends), list(axes), list(steps)}};
}

TEST(Slice, Steps) {
  const Tensor x = tensor<float>({6}, {0, 1, 2, 3, 4, 5});
  struct Case {
    int64_t start, end, step;
    Floats want;
  };
  const Case cases[] = {{1, 4, 1, {1, 2, 3}},
                        {0, INT64_MAX, 2, {0, 2, 4}},
                        {-2, INT64_MAX, 1, {4, 5}},
                        {-1, INT64_MIN, -2, {5, 3, 1}},
                        {5, -100, -2, {5, 3, 1}},
                        {100, 0, -3, {5, 2}},
                        {4, 2, 1, {}},
                        {2, 4, -1, {}},
                        {-100, 2, 1, {0, 1}},
                        {3, 1, -1, {3, 2}},
                        {0, 6, INT64_MAX, {0}},
                        {5, INT64_MIN, INT64_MIN, {5}},
                        {INT64_MIN, 1, 1, {0}},
                        {6, 6, 1, {}}};
  for (const Case& c : cases)
    EXPECT_EQ(values<float>(output(slice(x, {c.start}, {c.end}, {0}, {c.step}))), c.want)
        << c.start << ":" << c.end << ":" << c.step;
}

TEST(Slice, Axes) {
  const Tensor x = tensor<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values<int32_t>(output(slice(x, {-1, 0}, {INT64_MIN, 2}, {1, 0}, {-1, 1}))),
            (std::vector<int32_t>{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(values<int32_t>(output({.op = "Slice",
                                    .opset = 1,
                                    .inputs = {x},
                                    .attrs = {{"starts", Ints{1}}, {"ends", Ints{1000}}, {"axes", Ints{1}}}})),
            (std::vector<int32_t>{2, 3, 5, 6}));
  EXPECT_EQ(values<int32_t>(
                output({.op = "Slice", .inputs = {x, tensor<int32_t>({2}, {0, 1}), tensor<int32_t>({2}, {1, 2})}})),
            (std::vector<int32_t>{2}));
  EXPECT_EQ(texts(output(slice(strings({3}, {"a", "b", "c"}), {-1}, {INT64_MIN}, {0}, {-1}))),
            (std::vector<std::string>{"c", "b", "a"}));
  EXPECT_EQ(shape(output(slice(tensor<float>({0, 2}, {}), {0}, {1}, {0}, {1}))), (Ints{0, 2}));
}

TEST(Slice, Refuses) {
  const Tensor x = tensor<float>({2}, {1, 2});
  failure(slice(x, {0}, {1}, {0}, {0}));
  failure(slice(x, {0}, {1}, {1}, {1}));
  failure(slice(x, {0, 0}, {1}, {0}, {1}));
  failure(slice(x, {0, 0}, {1, 1}, {0, 0}, {1, 1}));
}

TEST(Slice, Symbols) {
  const Dim n = symbol("N");
  const OpRun op{.op = "Slice"};
  const auto cut = [&](std::vector<Dim> start, std::vector<Dim> end, std::vector<Dim> step = {1}) {
    return inferred(op, {fact({n, 8}), content_fact(start), content_fact(end), content_fact({0}), content_fact(step)});
  };
  EXPECT_EQ(cut({0}, {INT64_MAX}), "{N,8}");
  EXPECT_EQ(cut({0}, {4}), "{min(4, N),8}");
  EXPECT_EQ(cut({0}, {-1}), "{max(N - 1, 0),8}");
  EXPECT_EQ(cut({-1}, {INT64_MAX}), "{min(N, 1),8}");
  EXPECT_EQ(cut({-1}, {INT64_MIN}, {-1}), "{N,8}");
  EXPECT_EQ(cut({0}, {Dim()}), "{?,8}");
  EXPECT_EQ(inferred(op, {fact({n, 8}), fact({1}, DType::i64), fact({1}, DType::i64), content_fact({1})}), "{N,?}");
  EXPECT_EQ(inferred(op, {fact({n, 8}), fact({1}, DType::i64), fact({1}, DType::i64), fact({1}, DType::i64)}), "{?,?}");
  EXPECT_EQ(content(op, {content_fact({n, 3, 4}), content_fact({0}), content_fact({2})}), "{N,3}");
  EXPECT_EQ(content(op, {content_fact({n, 3, 4}), content_fact({-1}), content_fact({-4}), content_fact({0}),
                         content_fact({-1})}),
            "{4,3,N}");
}

}  // namespace
}  // namespace trunnion::ops::test
