#include "base/precision.h"

#include <gtest/gtest.h>

namespace trunnion {
namespace {

TEST(Precision, NamesAndDefaults) {
  for (Precision p : {Precision::strict, Precision::fp32, Precision::fast, Precision::bf16})
    EXPECT_EQ(*parse_precision(precision_name(p)), p);
  const auto choice = PrecisionChoice::parse("", "");
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->level(), Precision::fp32);
  const auto wrong = PrecisionChoice::parse("fp23", "");
  EXPECT_EQ(wrong.status().code(), Code::invalid_argument);
  EXPECT_EQ(wrong.status().message(), "'fp23' is no level of precision: expected strict, fp32, fast, bf16");
}

TEST(Precision, NodesHaveTheirOwn) {
  const auto choice = PrecisionChoice::parse("fast", "conv1=strict;/a=b/MatMul=fp32;");
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->of("other", {}), Precision::fast);
  EXPECT_EQ(choice->of("conv1", {}), Precision::strict);
  EXPECT_EQ(choice->of("/a=b/MatMul", {}), Precision::fp32);
  const std::string origins[] = {"/a=b/MatMul", "conv1"};
  EXPECT_EQ(choice->of("fused", origins), Precision::strict);
  EXPECT_TRUE(choice->any(Precision::strict));
  EXPECT_FALSE(choice->any(Precision::bf16));
  for (const char* text : {"conv1", "=fast", "conv1=exact"})
    EXPECT_EQ(PrecisionChoice::parse("", text).status().code(), Code::invalid_argument) << text;
}

}  // namespace
}  // namespace trunnion
