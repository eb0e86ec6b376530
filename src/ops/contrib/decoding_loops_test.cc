#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

TEST(DecodingLoops, RefusedByName) {
  const OpRun r{
      .op = "GreedySearch",
      .opset = 1,
      .inputs = {tensor<int32_t>({1, 1}, {1}), tensor<int32_t>({1}, {3})},
      .attrs = {{"decoder", std::make_shared<ir::Graph>()}, {"eos_token_id", int64_t{2}}, {"pad_token_id", int64_t{0}}},
      .domain = "com.microsoft"};
  EXPECT_NE(failure(r).find("GreedySearch generates text inside the model"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
