#include <numeric>

#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(ReverseSequence, BothLayouts) {
  Floats v(16);
  std::iota(v.begin(), v.end(), 0.f);
  const Tensor x = tensor<float>({4, 4}, v);
  EXPECT_EQ(values<float>(output({.op = "ReverseSequence",
                                  .inputs = {x, tensor<int64_t>({4}, {1, 2, 3, 4})},
                                  .attrs = {{"time_axis", int64_t{1}}, {"batch_axis", int64_t{0}}}})),
            (Floats{0, 1, 2, 3, 5, 4, 6, 7, 10, 9, 8, 11, 15, 14, 13, 12}));
  EXPECT_EQ(values<float>(output({.op = "ReverseSequence", .inputs = {x, tensor<int64_t>({4}, {4, 3, 0, 1})}})),
            (Floats{12, 9, 2, 3, 8, 5, 6, 7, 4, 1, 10, 11, 0, 13, 14, 15}));
  EXPECT_EQ(
      texts(output({.op = "ReverseSequence", .inputs = {strings({2, 1}, {"a", "b"}), tensor<int64_t>({1}, {2})}})),
      (std::vector<std::string>{"b", "a"}));
}

TEST(ReverseSequence, Refuses) {
  const Tensor x = tensor<float>({2, 1}, {1, 2});
  failure({.op = "ReverseSequence", .inputs = {x, tensor<int64_t>({1}, {3})}});
  failure({.op = "ReverseSequence", .inputs = {x, tensor<int64_t>({1}, {-1})}});
  failure({.op = "ReverseSequence", .inputs = {x, tensor<int64_t>({2}, {1, 1})}});
  failure({.op = "ReverseSequence", .inputs = {x, tensor<int64_t>({1}, {1})}, .attrs = {{"time_axis", int64_t{1}}}});
}

}  // namespace
}  // namespace trunnion::ops::test
