#include "ops/test_tensors.h"
#include "ops/text/case_detail.h"

namespace trunnion::ops::test {
namespace {

using Strings = std::vector<std::string>;

TEST(Case, SimpleMappings) {
  EXPECT_EQ(change_case("Straße ÄÖ Ωα Жж Ǆ ǅ ſ İ", false), "straße äö ωα жж ǆ ǆ ſ İ");
  EXPECT_EQ(change_case("Straße äö ωα жж ǆ ÿ µ", true), "STRAßE ÄÖ ΩΑ ЖЖ Ǆ Ÿ Μ");
  EXPECT_EQ(change_case("a\xff\xc3", true), "A\xff\xc3");
  EXPECT_EQ(change_case("\xc1\x81\xed\xa0\x80", false), "\xc1\x81\xed\xa0\x80");  // overlong, a surrogate
  EXPECT_EQ(change_case("\xf0\x90\x90\x80", false), "\xf0\x90\x90\xa8");          // Deseret
  EXPECT_EQ(change_case("", true), "");
}

TEST(StringNormalizer, StopWordsAndCase) {
  const auto with = [](Tensor x, const char* action, int64_t sensitive, Strings stop) {
    std::vector<ir::Attr> attrs{{"case_change_action", std::string(action)}, {"is_case_sensitive", sensitive}};
    if (!stop.empty()) attrs.push_back({"stopwords", stop});
    return output({.op = "StringNormalizer", .inputs = {x}, .attrs = attrs});
  };
  const Tensor x = strings({4}, {"monday", "Tuesday", "wednesday", "thursday"});
  EXPECT_EQ(texts(with(x, "LOWER", 1, {"monday"})), (Strings{"tuesday", "wednesday", "thursday"}));
  EXPECT_EQ(texts(with(x, "UPPER", 0, {"TUESDAY", "thursday"})), (Strings{"MONDAY", "WEDNESDAY"}));
  EXPECT_EQ(texts(with(x, "NONE", 1, {"tuesday"})), (Strings{"monday", "Tuesday", "wednesday", "thursday"}));
  const auto y = with(strings({1, 2}, {"a", "A"}), "UPPER", 0, {"a"});
  EXPECT_EQ(shape(y), (Ints{1, 1}));
  EXPECT_EQ(texts(y), (Strings{""}));
  EXPECT_NE(failure({.op = "StringNormalizer", .inputs = {strings({2, 1}, {"a", "b"})}}).find("[1, C]"),
            std::string::npos);
}

TEST(StringConcat, Broadcasts) {
  EXPECT_EQ(
      texts(output({.op = "StringConcat", .inputs = {strings({2, 1}, {"a", "b"}), strings({3}, {"x", "y", ""})}})),
      (Strings{"ax", "ay", "a", "bx", "by", "b"}));
  EXPECT_EQ(texts(output({.op = "StringConcat", .inputs = {strings({}, {"a"}), strings({}, {"b"})}})), (Strings{"ab"}));
}

TEST(StringSplit, DelimitersAndBlanks) {
  auto r = outputs({.op = "StringSplit",
                    .inputs = {strings({2}, {"a.b.c", "x"})},
                    .attrs = {{"delimiter", std::string(".")}},
                    .outputs = 2});
  EXPECT_EQ(texts(r[0]), (Strings{"a", "b", "c", "x", "", ""}));
  EXPECT_EQ(shape(r[0]), (Ints{2, 3}));
  EXPECT_EQ(values<int64_t>(r[1]), (Ints{3, 1}));
  r = outputs({.op = "StringSplit",
               .inputs = {strings({1, 2}, {" a  b c ", ""})},
               .attrs = {{"maxsplit", int64_t{1}}},
               .outputs = 2});
  EXPECT_EQ(texts(r[0]), (Strings{"a", "b c", "", ""}));
  EXPECT_EQ(values<int64_t>(r[1]), (Ints{2, 0}));
  r = outputs({.op = "StringSplit",
               .inputs = {strings({1}, {"..a."})},
               .attrs = {{"delimiter", std::string(".")}, {"maxsplit", int64_t{2}}},
               .outputs = 2});
  EXPECT_EQ(texts(r[0]), (Strings{"", "", "a."}));
  // All of Unicode's white space; bytes that only look like it stay.
  r = outputs({.op = "StringSplit",
               .inputs = {strings({3}, {"\u00e4\u00a0\u65e5\u3000\u672c\u2003", "a\u200bb\x1c\u1680", "x\xe2\x80"})},
               .outputs = 2});
  EXPECT_EQ(texts(r[0]), (Strings{"\u00e4", "\u65e5", "\u672c", "a\u200bb", "", "", "x\xe2\x80", "", ""}));
  r = outputs({.op = "StringSplit",
               .inputs = {strings({1}, {"\u3000\u00df\u3000\u00e9\u00a0 \u00f1\u3000 "})},
               .attrs = {{"maxsplit", int64_t{1}}},
               .outputs = 2});
  EXPECT_EQ(texts(r[0]), (Strings{"\u00df", "\u00e9\u00a0 \u00f1"}));
  r = outputs({.op = "StringSplit",
               .inputs = {strings({1}, {"gr\u00fc\u00dfe"})},
               .attrs = {{"delimiter", std::string("\u00fc")}},
               .outputs = 2});
  EXPECT_EQ(texts(r[0]), (Strings{"gr", "\u00dfe"}));
  r = outputs({.op = "StringSplit", .inputs = {strings({0}, {})}, .outputs = 2});
  EXPECT_EQ(shape(r[0]), (Ints{0, 0}));
}

TEST(TfIdfVectorizer, CountsSkipsAndWeights) {
  const auto with = [](Tensor x, const char* mode, int64_t least, int64_t skips, std::vector<ir::Attr> more = {}) {
    std::vector<ir::Attr> attrs{{"mode", std::string(mode)},
                                {"min_gram_length", least},
                                {"max_gram_length", int64_t{2}},
                                {"max_skip_count", skips},
                                {"ngram_counts", Ints{0, 4}},
                                {"ngram_indexes", Ints{0, 1, 2, 3, 4, 5, 6}},
                                {"pool_int64s", Ints{2, 3, 5, 4, 5, 6, 7, 8, 6, 7}}};
    attrs.insert(attrs.end(), more.begin(), more.end());
    return values<float>(output({.op = "TfIdfVectorizer", .inputs = {x}, .attrs = attrs}));
  };
  const Tensor x = tensor<int32_t>({12}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8});
  EXPECT_EQ(with(x, "TF", 2, 0), (Floats{0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(with(x, "TF", 2, 5), (Floats{0, 0, 0, 0, 1, 3, 1}));
  EXPECT_EQ(with(x, "TF", 1, 5), (Floats{0, 3, 1, 0, 1, 3, 1}));
  EXPECT_EQ(with(x, "IDF", 1, 5, {{"weights", Floats{1, 2, 3, 4, 5, 6, 7}}}), (Floats{0, 2, 3, 0, 5, 6, 7}));
  EXPECT_EQ(with(x, "TFIDF", 1, 5, {{"weights", Floats{1, 2, 3, 4, 5, 6, 7}}}), (Floats{0, 6, 3, 0, 5, 18, 7}));
  EXPECT_EQ(with(tensor<int32_t>({2, 3}, {3, 5, 6, 7, 8, 0}), "TF", 1, 0),
            (Floats{0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(with(x, "TF", 1, INT64_MAX), with(x, "TF", 1, 12));
  EXPECT_EQ(with(tensor<int32_t>({0}, {}), "TF", 1, INT64_MAX), Floats(7, 0.0f));
  const auto y = output({.op = "TfIdfVectorizer",
                         .inputs = {strings({3}, {"a", "b", "a"})},
                         .attrs = {{"mode", std::string("TF")},
                                   {"min_gram_length", int64_t{1}},
                                   {"max_gram_length", int64_t{1}},
                                   {"max_skip_count", int64_t{0}},
                                   {"ngram_counts", Ints{0}},
                                   {"ngram_indexes", Ints{1, 0}},
                                   {"pool_strings", Strings{"a", "b"}}}});
  EXPECT_EQ(values<float>(y), (Floats{1, 2}));
}

}  // namespace
}  // namespace trunnion::ops::test
