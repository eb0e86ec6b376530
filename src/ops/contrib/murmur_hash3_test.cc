#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun hash(Value x, int64_t positive, int64_t seed) {
  return {.op = "MurmurHash3",
          .opset = 1,
          .inputs = {std::move(x)},
          .attrs = {{"positive", positive}, {"seed", seed}},
          .domain = "com.microsoft"};
}

TEST(MurmurHash3, PublishedValues) {
  const Tensor text = strings({3}, {"foo", "", "hello"});
  EXPECT_EQ(values<int32_t>(output(hash(text, 0, 0))), (std::vector<int32_t>{-156908512, 0, 613153351}));
  EXPECT_EQ(values<uint32_t>(output(hash(text, 1, 0)))[0], 4138058784u);
  EXPECT_EQ(values<int32_t>(output(hash(text, 0, 42)))[0], -1322301282);
  EXPECT_EQ(values<int32_t>(output(hash(tensor<int32_t>({1}, {3}), 0, 42)))[0], -1823081949);
  EXPECT_EQ(values<uint32_t>(output(hash(tensor<int64_t>({2}, {3, -1}), 1, 0))),
            (std::vector<uint32_t>{2738575283u, 1651860712u}));
  EXPECT_EQ(values<uint32_t>(output(hash(tensor<double>({1}, {1.5}), 1, 0)))[0], 4034560987u);
}

}  // namespace
}  // namespace trunnion::ops::test
