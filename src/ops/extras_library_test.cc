// The engine without libtrunnion_extras.so, and with another file in its place. Each case is a process of its own,
// because a library that was once found stays.
#include "ops/extras_library.h"

#include <cstdio>
#include <cstdlib>

#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun regex() {
  return {.op = "RegexFullMatch", .inputs = {strings({1}, {"a"})}, .attrs = {{"pattern", std::string("a")}}};
}

class ExtrasLibrary : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  // Prints what the node says when the library is `path`.
  [[noreturn]] static void say(const char* path, const OpRun& op) {
    ::setenv("TRUNNION_EXTRAS_LIBRARY", path, 1);
    const auto r = run(op);
    std::fprintf(stderr, "%s\n", r.ok() ? "it ran" : r.status().message().c_str());
    std::exit(0);
  }
};

TEST_F(ExtrasLibrary, MissingItIsNamedWithOperatorNodeAndPackage) {
  EXPECT_EXIT(
      say("/no/such/file.so", regex()), ::testing::ExitedWithCode(0),
      "RegexFullMatch 'node': it needs RE2 .Debian package libre2-dev., which libtrunnion_extras.so.1 brings, and "
      "that is not there: .*/no/such/file.so");
  EXPECT_EXIT(say("/no/such/file.so", {.op = "ImageDecoder", .inputs = {tensor<uint8_t>({1}, {1})}}),
              ::testing::ExitedWithCode(0), "ImageDecoder 'node': it needs image codecs .*libtiff-dev");
}

TEST_F(ExtrasLibrary, OtherOperatorsDoNotNeedIt) {
  EXPECT_EXIT(say("/no/such/file.so", {.op = "StringConcat", .inputs = {strings({1}, {"a"}), strings({1}, {"b"})}}),
              ::testing::ExitedWithCode(0), "it ran");
}

TEST_F(ExtrasLibrary, AnotherLibraryIsRefused) {
  EXPECT_EXIT(say("libm.so.6", regex()), ::testing::ExitedWithCode(0), "libm.so.6' has no symbol 'trunnion_extras'");
}

TEST(ExtrasParts, LeftOutOnesAreNamedWithTheirPackage) {
  EXPECT_EQ(extras_left_out(TRUNNION_EXTRAS_TIFF).message(),
            "it needs libtiff (Debian package libtiff-dev), and libtrunnion_extras.so.1 was built without");
  EXPECT_EQ(extras_left_out(TRUNNION_EXTRAS_TIFF).code(), Code::not_implemented);
}

}  // namespace
}  // namespace trunnion::ops::test
