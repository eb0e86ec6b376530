// Broadcasting of symbolic shapes: what follows, and what stays open.
#include "ops/shape.h"

#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

std::string broadcast(const Dim& a, const Dim& b) {
  const auto r = broadcast_shapes(SymShape{a}, SymShape{b});
  return r.ok() ? shape_text(*r) : std::string(r.status().message());
}

TEST(BroadcastShapes, ABoundedDimensionAgainstItsBound) {
  const Dim s = Dim::symbol("S"), t = Dim::symbol("T");
  EXPECT_EQ(broadcast(s, dim_min(s, Dim(512))), "{S}");  // as a slice of a table by the length has it
  EXPECT_EQ(broadcast(dim_min(Dim(512), s), s), "{S}");
  EXPECT_EQ(broadcast(s, dim_min(s, t)), "{?}");  // T may be 0 where S is 1
  EXPECT_EQ(broadcast(s, t), "{?}");
  EXPECT_EQ(broadcast(s, dim_max(s, Dim(4))), "{?}");
}

TEST(BroadcastShapes, LimitsOfLimits) {
  const Dim a = Dim::symbol("A"), b = Dim::symbol("B");
  EXPECT_EQ(dim_max(a, dim_min(a, b)).text(), "A");
  EXPECT_EQ(dim_min(dim_max(b, a), a).text(), "A");
  EXPECT_TRUE(dim_max(a, dim_max(a, b)) == dim_max(a, b));
  EXPECT_TRUE(dim_min(dim_min(a, b), b) == dim_min(a, b));
}

}  // namespace
}  // namespace trunnion::ops::test
