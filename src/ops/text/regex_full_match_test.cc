#include "ops/extras_library.h"
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

class RegexFullMatch : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto extras = load_extras(TRUNNION_EXTRAS_RE2); !extras.ok()) GTEST_SKIP() << extras.status().message();
  }
  static OpRun node(Tensor x, const char* pattern) {
    return {.op = "RegexFullMatch", .inputs = {x}, .attrs = {{"pattern", std::string(pattern)}}};
  }
};

TEST_F(RegexFullMatch, Values) {
  const auto matches = [](const char* pattern, std::vector<std::string> texts) {
    const auto count = static_cast<int64_t>(texts.size());
    const Value y = output(node(strings({count}, std::move(texts)), pattern));
    const auto found = values<bool>(y);
    return std::vector<int>(found.begin(), found.end());
  };
  using Found = std::vector<int>;
  EXPECT_EQ(matches("www\\.[\\w.-]+\\.\\bcom\\b", {"www.google.com", "www.facebook.com", "www.bbc.co.uk"}),
            (Found{1, 1, 0}));
  EXPECT_EQ(matches("[^@]+@[^@]+", {"a@b", "a@b@c", "@b", ""}), (Found{1, 0, 0, 0}));
  EXPECT_EQ(matches("a|ab", {"a", "ab", "abc"}), (Found{1, 1, 0}));
  EXPECT_EQ(matches("(?i)STRASSE|\\x{e4}", {"strasse", "\u00c4", "stra\u00dfe"}), (Found{1, 1, 0}));
  EXPECT_EQ(matches("\\p{Han}{2}", {"\u65e5\u672c", "\u65e5"}), (Found{1, 0}));
  EXPECT_EQ(matches(".", {"\n", "\xff", "\U0001F600"}), (Found{0, 0, 1}));
  EXPECT_EQ(matches("", {"", "a"}), (Found{1, 0}));
}

TEST_F(RegexFullMatch, ShapesStay) {
  EXPECT_EQ(shape(output(node(strings({2, 1, 2}, {"a", "b", "c", "d"}), "[ab]"))), (Ints{2, 1, 2}));
  EXPECT_EQ(shape(output(node(strings({}, {"a"}), "a"))), (Ints{}));
  EXPECT_EQ(shape(output(node(strings({0, 3}, {}), "a"))), (Ints{0, 3}));
  EXPECT_EQ(inferred(node({}, "a"), {fact({symbol("N"), 3}, DType::string)}), "{N,3}");
}

TEST_F(RegexFullMatch, ABadPatternSaysWhy) {
  const std::string text = failure(node(strings({1}, {"a"}), "a(b"));
  EXPECT_NE(text.find("RegexFullMatch"), std::string::npos) << text;
  EXPECT_NE(text.find("attribute pattern is 'a(b', which RE2 refuses: missing ): a(b"), std::string::npos) << text;
}

}  // namespace
}  // namespace trunnion::ops::test
