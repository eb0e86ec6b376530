#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun distances(Tensor a, Tensor b, const char* metric) {
  return {.op = "CDist",
          .opset = 1,
          .inputs = {std::move(a), std::move(b)},
          .attrs = {{"metric", std::string(metric)}},
          .domain = "com.microsoft"};
}

TEST(CDist, Metrics) {
  const Tensor a = tensor<float>({2, 2}, {0, 0, 3, 4}), b = tensor<float>({3, 2}, {3, 4, 0, 0, 0, 4});
  EXPECT_EQ(values<float>(output(distances(a, b, "sqeuclidean"))), (Floats{25, 0, 16, 0, 25, 9}));
  const auto y = output(distances(a, b, "euclidean"));
  EXPECT_EQ(values<float>(y), (Floats{5, 0, 4, 0, 5, 3}));
  EXPECT_EQ(shape(y), (Ints{2, 3}));
  EXPECT_EQ(values<double>(output(distances(tensor<double>({1, 1}, {1}), tensor<double>({1, 1}, {-2}), "euclidean"))),
            (std::vector<double>{3}));
  EXPECT_NE(failure(distances(a, b, "cosine")).find("'cosine'"), std::string::npos);
  EXPECT_NE(failure(distances(a, tensor<float>({1, 1}, {0}), "euclidean")).find("rows of A"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
