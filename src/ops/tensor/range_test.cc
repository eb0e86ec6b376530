#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

template <class T>
OpRun range(T start, T limit, T delta) {
  return {
      .op = "Range", .opset = 27, .inputs = {tensor<T>({}, {start}), tensor<T>({}, {limit}), tensor<T>({}, {delta})}};
}

TEST(Range, Values) {
  EXPECT_EQ(values<int64_t>(output(range<int64_t>(3, 9, 3))), (Ints{3, 6}));
  EXPECT_EQ(values<int32_t>(output(range<int32_t>(10, 4, -2))), (std::vector<int32_t>{10, 8, 6}));
  EXPECT_EQ(values<int16_t>(output(range<int16_t>(0, 3, 2))), (std::vector<int16_t>{0, 2}));
  EXPECT_EQ(values<float>(output(range<float>(0, 1, .25f))), (Floats{0, .25f, .5f, .75f}));
  EXPECT_EQ(values<double>(output(range<double>(1, 0, -.5))), (std::vector<double>{1, .5}));
  EXPECT_EQ(shape(output(range<int64_t>(5, 5, 1))), (Ints{0}));
  EXPECT_EQ(shape(output(range<float>(0, -1, 1))), (Ints{0}));
  EXPECT_EQ(widened(output({.op = "Range", .opset = 27, .inputs = {half({}, {0}), half({}, {2}), half({}, {.5f})}})),
            (Floats{0, .5f, 1, 1.5f}));
  EXPECT_EQ(values<int64_t>(output(range<int64_t>(INT64_MIN, INT64_MAX, INT64_MAX))),
            (Ints{INT64_MIN, -1, INT64_MAX - 1}));
}

TEST(Range, Refuses) {
  failure(range<int64_t>(0, 5, 0));
  failure(range<float>(0, NAN, 1));
  failure(range<float>(0, 1, 0));
  failure(range<float>(0, INFINITY, 1));
  failure(range<int64_t>(INT64_MIN, INT64_MAX, 1));
}

TEST(Range, Symbols) {
  const Dim n = symbol("N");
  const auto scalar = [](Dim d) {
    ir::Fact f = ir::Fact::tensor(DType::i64, SymShape{});
    f.content = std::vector<Dim>{d};
    return f;
  };
  EXPECT_EQ(inferred({.op = "Range"}, {scalar(0), scalar(n), scalar(1)}), "{N}");
  EXPECT_EQ(content({.op = "Range"}, {scalar(1), scalar(4), scalar(1)}), "{1,2,3}");
  EXPECT_EQ(inferred({.op = "Range"}, {scalar(0), scalar(n), fact({}, DType::i64)}), "{?}");
}

}  // namespace
}  // namespace trunnion::ops::test
