#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

ir::Attr reduction(const char* how) { return {"reduction", std::string(how)}; }

TEST(ScatterElements, Assigns) {
  const Tensor x = tensor<float>({3, 3}, Floats(9, 0));
  const Tensor index = tensor<int64_t>({2, 3}, {1, 0, 2, 0, 2, 1}),
               u = tensor<float>({2, 3}, {1, 1.1f, 1.2f, 2, 2.1f, 2.2f});
  EXPECT_EQ(values<float>(output({.op = "ScatterElements", .inputs = {x, index, u}})),
            (Floats{2, 1.1f, 0, 1, 0, 2.2f, 0, 2.1f, 1.2f}));
  EXPECT_EQ(values<float>(output({.op = "Scatter", .opset = 9, .inputs = {x, index, u}})),
            (Floats{2, 1.1f, 0, 1, 0, 2.2f, 0, 2.1f, 1.2f}));
  EXPECT_EQ(values<float>(output({.op = "ScatterElements",
                                  .inputs = {tensor<float>({1, 5}, {1, 2, 3, 4, 5}), tensor<int32_t>({1, 2}, {1, -2}),
                                             tensor<float>({1, 2}, {1.1f, 2.1f})},
                                  .attrs = {{"axis", int64_t{1}}}})),
            (Floats{1, 1.1f, 3, 2.1f, 5}));
  EXPECT_EQ(texts(output({.op = "ScatterElements",
                          .inputs = {strings({2}, {"a", "b"}), tensor<int64_t>({1}, {1}), strings({1}, {"z"})}})),
            (std::vector<std::string>{"a", "z"}));
}

TEST(ScatterElements, Reduces) {
  const Tensor x = tensor<int32_t>({3}, {2, 5, 7}), index = tensor<int64_t>({3}, {1, 1, 0}),
               u = tensor<int32_t>({3}, {3, 9, 1});
  EXPECT_EQ(values<int32_t>(output({.op = "ScatterElements", .inputs = {x, index, u}, .attrs = {reduction("add")}})),
            (std::vector<int32_t>{3, 17, 7}));
  EXPECT_EQ(values<int32_t>(output({.op = "ScatterElements", .inputs = {x, index, u}, .attrs = {reduction("mul")}})),
            (std::vector<int32_t>{2, 135, 7}));
  EXPECT_EQ(values<int32_t>(output({.op = "ScatterElements", .inputs = {x, index, u}, .attrs = {reduction("max")}})),
            (std::vector<int32_t>{2, 9, 7}));
  EXPECT_EQ(values<int32_t>(output({.op = "ScatterElements", .inputs = {x, index, u}, .attrs = {reduction("min")}})),
            (std::vector<int32_t>{1, 3, 7}));
  EXPECT_EQ(widened(output({.op = "ScatterElements",
                            .inputs = {half({1}, {1}), tensor<int64_t>({1}, {0}), half({1}, {2})},
                            .attrs = {reduction("add")}})),
            (Floats{3}));
  EXPECT_EQ(
      values<bool>(output({.op = "ScatterElements",
                           .inputs = {tensor<bool>({1}, {true}), tensor<int64_t>({1}, {0}), tensor<bool>({1}, {false})},
                           .attrs = {reduction("mul")}})),
      (std::vector<bool>{false}));
}

TEST(ScatterElements, InnerAxis) {
  const Tensor x = tensor<int32_t>({2, 2, 2}, std::vector<int32_t>(8, 0));
  EXPECT_EQ(values<int32_t>(output(
                {.op = "ScatterElements",
                 .inputs = {x, tensor<int64_t>({2, 1, 2}, {1, 0, 0, 1}), tensor<int32_t>({2, 1, 2}, {1, 2, 3, 4})},
                 .attrs = {{"axis", int64_t{1}}}})),
            (std::vector<int32_t>{0, 2, 1, 0, 3, 0, 0, 4}));
}

TEST(ScatterElements, Refuses) {
  const Tensor x = tensor<float>({2}, {1, 2}), u = tensor<float>({1}, {1});
  failure({.op = "ScatterElements", .inputs = {x, tensor<int64_t>({1}, {2}), u}});
  failure({.op = "ScatterElements", .inputs = {x, tensor<int64_t>({1}, {-3}), u}});
  failure({.op = "ScatterElements", .inputs = {x, tensor<int64_t>({1}, {0}), u}, .attrs = {reduction("sub")}});
  failure({.op = "ScatterElements", .inputs = {x, tensor<int64_t>({2}, {0, 1}), u}});
}

TEST(ScatterElements, Nd) {
  const Tensor x = tensor<float>({8}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(values<float>(
                output({.op = "ScatterND",
                        .inputs = {x, tensor<int64_t>({4, 1}, {4, 3, 1, -1}), tensor<float>({4}, {9, 10, 11, 12})}})),
            (Floats{1, 11, 3, 10, 9, 6, 7, 12}));
  const Tensor grid = tensor<int64_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(
      values<int64_t>(output({.op = "ScatterND",
                              .inputs = {grid, tensor<int64_t>({2, 1}, {1, 1}), tensor<int64_t>({2, 2}, {1, 1, 2, 2})},
                              .attrs = {reduction("add")}})),
      (Ints{1, 2, 6, 7}));
  EXPECT_EQ(values<int64_t>(output(
                {.op = "ScatterND", .inputs = {grid, tensor<int64_t>({0, 1}, {}), tensor<int64_t>({0, 2}, {})}})),
            (Ints{1, 2, 3, 4}));
  failure({.op = "ScatterND", .inputs = {grid, tensor<int64_t>({1, 2}, {0, 2}), tensor<int64_t>({1}, {1})}});
  failure({.op = "ScatterND", .inputs = {grid, tensor<int64_t>({1, 1}, {0}), tensor<int64_t>({1, 3}, {1, 1, 1})}});
}

TEST(ScatterElements, ComplexSumsAndProducts) {
  OpRun run{.op = "ScatterElements",
            .opset = 18,
            .inputs = {raw<float>(DType::c64, {2}, {1, 1, 2, 0}), tensor<int64_t>({2}, {0, 0}),
                       raw<float>(DType::c64, {2}, {0, 1, 3, 0})},
            .attrs = {{"reduction", std::string("add")}}};
  EXPECT_EQ(raw_values<float>(output(run)), (Floats{4, 2, 2, 0}));
  run.attrs = {{"reduction", std::string("mul")}};  // (1 + i) i 3
  EXPECT_EQ(raw_values<float>(output(run)), (Floats{-3, 3, 2, 0}));
  run.attrs = {{"reduction", std::string("max")}};
  EXPECT_NE(failure(run).find("complex64"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
