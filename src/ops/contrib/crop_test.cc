#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun crop(std::vector<int64_t> border, std::vector<int64_t> scale = {}) {
  OpRun r{.op = "Crop",
          .opset = 7,
          .inputs = {tensor<float>({1, 1, 3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})},
          .attrs = {{"border", std::move(border)}}};
  if (!scale.empty()) r.attrs.push_back({"scale", std::move(scale)});
  return r;
}

TEST(Crop, Values) {
  // Left, top, right, bottom.
  EXPECT_EQ(values<float>(output(crop({1, 0, 2, 1}))), (Floats{2, 6}));
  EXPECT_EQ(shape(output(crop({1, 0, 2, 1}))), (Ints{1, 1, 2, 1}));
  // Height and width instead of right and bottom.
  EXPECT_EQ(values<float>(output(crop({1, 1, 0, 0}, {1, 2}))), (Floats{6, 7}));
}

TEST(Crop, Misfits) {
  EXPECT_NE(failure(crop({1, 1, 1})).find("needs 4"), std::string::npos);
  EXPECT_NE(failure(crop({3, 0, 2, 0})).find("do not fit axis 3"), std::string::npos);
  EXPECT_NE(failure(crop({0, 2, 0, 0}, {2, 1})).find("do not fit axis 2"), std::string::npos);
  EXPECT_NE(failure(crop({-1, 0, 0, 0})).find("-1"), std::string::npos);
  EXPECT_EQ(inferred(crop({1, 1, 1, 1}), {fact({symbol("N"), 3, symbol("H"), 9})}), "{N,3,H - 2,7}");
}

}  // namespace
}  // namespace trunnion::ops::test
