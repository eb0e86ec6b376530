#include <gtest/gtest.h>

#include <string>

#include "extras/extras.h"

namespace trunnion::extras {
namespace {

class RegexTable : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!(trunnion_extras()->parts >> TRUNNION_EXTRAS_RE2 & 1)) GTEST_SKIP() << "built without RE2";
  }
  TrunnionRegex* compile(const std::string& pattern, bool longest = false) {
    return trunnion_extras()->regex_compile(pattern.data(), pattern.size(), longest, &error_);
  }
  bool matches(const std::string& pattern, const std::string& text) {
    TrunnionRegex* regex = compile(pattern);
    const bool all = trunnion_extras()->regex_full_match(regex, text.data(), text.size()) != 0;
    trunnion_extras()->regex_release(regex);
    return all;
  }
  // "begin-end" of the first match.
  std::string find(const std::string& pattern, const std::string& text, size_t from = 0, bool longest = false) {
    TrunnionRegex* regex = compile(pattern, longest);
    size_t begin = 0, end = 0;
    const bool found = trunnion_extras()->regex_find(regex, text.data(), text.size(), from, &begin, &end) != 0;
    trunnion_extras()->regex_release(regex);
    return found ? std::to_string(begin) + "-" + std::to_string(end) : "none";
  }
  TrunnionExtrasError error_;
};

TEST_F(RegexTable, FullMatch) {
  EXPECT_TRUE(matches("www\\.[\\w.-]+\\.\\bcom\\b", "www.google.com"));
  EXPECT_FALSE(matches("www\\.[\\w.-]+\\.\\bcom\\b", "www.google.com."));
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_TRUE(matches("gr.n", "gr\xc3\xbcn"));  // one character, two bytes
  EXPECT_FALSE(matches("gr..n", "gr\xc3\xbcn"));
  EXPECT_TRUE(matches("\\p{Greek}+", "\xce\xb1\xce\xb2"));
  EXPECT_FALSE(matches("gr.n", "gr\xfcn"));  // no valid UTF-8
  EXPECT_TRUE(matches("a\\x00b", std::string("a\0b", 3)));
}

TEST_F(RegexTable, Find) {
  EXPECT_EQ(find("a|ab", "xxab"), "2-3");
  EXPECT_EQ(find("a|ab", "xxab", 0, true), "2-4");
  EXPECT_EQ(find("b*", "aab"), "0-0");
  EXPECT_EQ(find("b", "bab", 1), "2-3");
  EXPECT_EQ(find("^b", "bb", 1), "none");
  EXPECT_EQ(find("x", ""), "none");
  EXPECT_EQ(find("", "", 0), "0-0");
}

TEST_F(RegexTable, BadPatternsSayWhy) {
  EXPECT_EQ(compile("a(b"), nullptr);
  EXPECT_STREQ(error_.text, "missing ): a(b");
  EXPECT_EQ(compile("(?=a)"), nullptr);
  EXPECT_NE(std::string(error_.text), "");
  EXPECT_EQ(compile("\xff"), nullptr);
  EXPECT_EQ(compile("((a{100}){100}){100}"), nullptr);
  EXPECT_NE(std::string(error_.text), "");
}

}  // namespace
}  // namespace trunnion::extras
