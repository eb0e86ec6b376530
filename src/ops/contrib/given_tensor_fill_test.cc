#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(GivenTensorFill, Values) {
  OpRun r{.op = "GivenTensorFill",
          .opset = 1,
          .attrs = {{"shape", Ints{2}}, {"extra_shape", Ints{1}}, {"values", Floats{1, 2}}}};
  EXPECT_EQ(values<float>(output(r)), (Floats{1, 2}));
  EXPECT_EQ(shape(output(r)), (Ints{2, 1}));
  r.attrs[0] = {"shape", Ints{3}};
  EXPECT_NE(failure(r).find("2 entries"), std::string::npos);
  // The input's own shape, and its type.
  r.attrs = {{"values", Floats{5, 6}}};
  r.inputs = {tensor<double>({1, 2}, {0, 0})};
  EXPECT_EQ(values<double>(output(r)), (std::vector<double>{5, 6}));
}

}  // namespace
}  // namespace trunnion::ops::test
