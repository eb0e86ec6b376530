#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(Trilu, Diagonals) {
  const Tensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto run_with = [&](int64_t upper, int64_t k) {
    return values<float>(output({.op = "Trilu", .inputs = {x, tensor<int64_t>({}, {k})}, .attrs = {{"upper", upper}}}));
  };
  EXPECT_EQ(values<float>(output({.op = "Trilu", .inputs = {x}})), (Floats{1, 2, 3, 0, 5, 6}));
  EXPECT_EQ(run_with(1, 1), (Floats{0, 2, 3, 0, 0, 6}));
  EXPECT_EQ(run_with(0, 0), (Floats{1, 0, 0, 4, 5, 0}));
  EXPECT_EQ(run_with(0, 1), (Floats{1, 2, 0, 4, 5, 6}));
  EXPECT_EQ(run_with(0, -2), Floats(6, 0));
  EXPECT_EQ(run_with(1, INT64_MIN), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(run_with(1, INT64_MAX), Floats(6, 0));
  EXPECT_EQ(run_with(0, INT64_MAX), (Floats{1, 2, 3, 4, 5, 6}));
}

TEST(Trilu, BatchesAndTypes) {
  EXPECT_EQ(values<int64_t>(output({.op = "Trilu", .inputs = {tensor<int64_t>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}})),
            (Ints{1, 2, 0, 4, 5, 6, 0, 8}));
  EXPECT_EQ(shape(output({.op = "Trilu", .inputs = {tensor<float>({0, 3}, {})}})), (Ints{0, 3}));
  EXPECT_EQ(texts(output({.op = "Trilu", .inputs = {strings({2, 2}, {"a", "b", "c", "d"})}})),
            (std::vector<std::string>{"a", "b", "", "d"}));
  failure({.op = "Trilu", .inputs = {tensor<float>({1}, {1})}});
}

TEST(Trilu, EyeLike) {
  const Tensor x = tensor<int32_t>({2, 3}, {9, 9, 9, 9, 9, 9});
  EXPECT_EQ(values<int32_t>(output({.op = "EyeLike", .inputs = {x}})), (std::vector<int32_t>{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(
      values<float>(output({.op = "EyeLike", .inputs = {x}, .attrs = {{"dtype", int64_t{1}}, {"k", int64_t{-1}}}})),
      (Floats{0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(widened(output({.op = "EyeLike", .inputs = {x}, .attrs = {{"dtype", int64_t{10}}, {"k", int64_t{2}}}})),
            (Floats{0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(values<int32_t>(output({.op = "EyeLike", .inputs = {x}, .attrs = {{"k", int64_t{INT64_MIN}}}})),
            std::vector<int32_t>(6, 0));
  failure({.op = "EyeLike", .inputs = {tensor<float>({1}, {1})}});
}

}  // namespace
}  // namespace trunnion::ops::test
