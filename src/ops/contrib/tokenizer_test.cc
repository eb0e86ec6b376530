#include "ops/extras_library.h"
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Strings = std::vector<std::string>;

struct Settings {
  Strings separators;
  const char* expression = nullptr;
  int64_t least = 1, mark = 0;
};

OpRun node(Tensor x, const Settings& s) {
  OpRun run{.op = "Tokenizer",
            .opset = 1,
            .inputs = {x},
            .attrs = {{"mark", s.mark}, {"mincharnum", s.least}, {"pad_value", std::string("#")}},
            .domain = "com.microsoft"};
  if (s.expression)
    run.attrs.push_back({"tokenexp", std::string(s.expression)});
  else
    run.attrs.push_back({"separators", s.separators});
  return run;
}

class Tokenizer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto extras = load_extras(TRUNNION_EXTRAS_RE2); !extras.ok()) GTEST_SKIP() << extras.status().message();
  }
};

// Characters need no expression and so no library.
TEST(TokenizerOfCharacters, SplitsUtf8) {
  const Tensor x = strings({2}, {"a\u00df\U0001F600", "b"});
  Value y = output(node(x, {.separators = {""}}));
  EXPECT_EQ(texts(y), (Strings{"a", "\u00df", "\U0001F600", "b", "#", "#"}));
  EXPECT_EQ(shape(y), (Ints{2, 3}));
  y = output(node(x, {.expression = ".", .mark = 1}));
  EXPECT_EQ(texts(y), (Strings{"\x02", "a", "\u00df", "\U0001F600", "\x03", "\x02", "b", "\x03", "#", "#"}));
  EXPECT_EQ(shape(output(node(strings({1, 2}, {"", ""}), {.separators = {""}, .mark = 1}))), (Ints{1, 2, 0}));
}

TEST(TokenizerOfCharacters, EmptyInputs) {
  EXPECT_EQ(shape(output(node(strings({0}, {}), {.separators = {""}}))), (Ints{0}));
  EXPECT_EQ(shape(output(node(strings({2, 0}, {}), {.separators = {""}}))), (Ints{2, 0}));
  EXPECT_EQ(shape(output(node(strings({0, 2}, {}), {.separators = {""}}))), (Ints{0, 0}));
  const OpRun run = node({}, {.separators = {""}});
  EXPECT_EQ(inferred(run, {fact({symbol("C")}, DType::string)}), "{C,?}");
  EXPECT_EQ(inferred(run, {fact({2, 0}, DType::string)}), "{2,0}");
  EXPECT_NE(inferred(run, {fact({1, 1, 1}, DType::string)}).find("rank 3"), std::string::npos);
}

TEST(TokenizerOfCharacters, Refusals) {
  const Tensor x = strings({1}, {"a"});
  EXPECT_NE(failure(node(x, {.separators = {""}, .least = 2})).find("mincharnum is 2"), std::string::npos);
  EXPECT_NE(failure(node(x, {.separators = {""}, .least = 0})).find("mincharnum is 0"), std::string::npos);
  EXPECT_NE(failure(node(x, {.separators = {}})).find("separators"), std::string::npos);
  EXPECT_NE(failure(node(x, {.expression = ""})).find("tokenexp"), std::string::npos);
  EXPECT_NE(failure(node(strings({2}, {"a", "b\xff"}), {.separators = {""}})).find("element 1, byte 1"),
            std::string::npos);
}

TEST_F(Tokenizer, Separators) {
  Value y = output(node(strings({2}, {"Hello World", "I love computer science !"}), {.separators = {" "}}));
  EXPECT_EQ(texts(y), (Strings{"Hello", "World", "#", "#", "#", "I", "love", "computer", "science", "!"}));
  EXPECT_EQ(shape(y), (Ints{2, 5}));
  y = output(node(strings({1, 2}, {" a;;b c", "\u00fc;xyz"}), {.separators = {";+", "[ ]"}, .mark = 1}));
  EXPECT_EQ(texts(y), (Strings{"\x02", "a", "b", "c", "\x03", "\x02", "\u00fc", "xyz", "\x03", "#"}));
  EXPECT_EQ(shape(y), (Ints{1, 2, 5}));
  // Characters are counted, not bytes; what is too short is dropped before the next separator looks at it.
  y = output(node(strings({1}, {"\u00fc\u00fc a \u00fc b-ccc"}), {.separators = {" ", "-"}, .least = 2}));
  EXPECT_EQ(texts(y), (Strings{"\u00fc\u00fc", "ccc"}));
  EXPECT_EQ(texts(output(node(strings({1}, {"xaby"}), {.separators = {"a|ab"}}))), (Strings{"x", "y"}));  // the longest
  EXPECT_EQ(shape(output(node(strings({2}, {"  ", ""}), {.separators = {" "}, .mark = 1}))), (Ints{2, 0}));
}

TEST_F(Tokenizer, ASeparatorThatMatchesNothingTakesACharacter) {
  EXPECT_EQ(shape(output(node(strings({1}, {"\u00fcb"}), {.separators = {"x*"}}))), (Ints{1, 0}));
}

TEST_F(Tokenizer, Matches) {
  Value y = output(node(strings({2}, {"a1 bb22 \u00fc", "-"}), {.expression = "[[:alpha:]]+|\\d+"}));
  EXPECT_EQ(texts(y), (Strings{"a", "1", "bb", "22", "#", "#", "#", "#"}));
  EXPECT_EQ(texts(output(node(strings({1}, {"aabbb"}), {.expression = "a|aa|b*"}))), (Strings{"aa", "bbb"}));
  // A match that is too short moves the search by one character.
  EXPECT_EQ(texts(output(node(strings({1}, {"\u00fc abc"}), {.expression = "\\pL+", .least = 2}))), (Strings{"abc"}));
  EXPECT_EQ(shape(output(node(strings({1}, {"a"}), {.expression = "\\w+", .least = 2}))), (Ints{1, 0}));
}

TEST_F(Tokenizer, ABadExpressionSaysWhy) {
  const Tensor x = strings({1}, {"a"});
  EXPECT_NE(failure(node(x, {.separators = {" ", "["}})).find("attribute separators is '[', which RE2 refuses"),
            std::string::npos);
  EXPECT_NE(failure(node(x, {.expression = "*"})).find("attribute tokenexp is '*', which RE2 refuses"),
            std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
