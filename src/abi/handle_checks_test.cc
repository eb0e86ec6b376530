#include "abi/handle_checks.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "abi/handles.h"
#include "abi/slots.h"

static_assert(TRN_CHECK_HANDLES, "this test has the look-up, whatever the library has");

namespace trunnion::abi {
namespace {

Status count(const OrtRunOptions* options, int64_t* out) {
  TRN_REQUIRE(options, out);
  *out = options->options.log_verbosity;
  return {};
}
Status all(const OrtStatus* const* handles, size_t count) { return check_handles(handles, count); }
void drop(OrtRunOptions* options) { delete options; }
const char* name(const OrtMemoryInfo* info) { return info ? info->name.c_str() : "none"; }

constexpr auto count_of = CheckedSlot<count, "CountOf">::call;
constexpr auto all_of = CheckedSlot<all, "AllOf">::call;
constexpr auto release = CheckedSlot<drop, "ReleaseRunOptions">::call;
constexpr auto name_of = CheckedSlot<name, "NameOf">::call;

std::string text(OrtStatus* status) {
  if (!status) return "";
  EXPECT_EQ(status->status.code(), Code::invalid_argument);
  const std::string message = status->status.message();
  delete status;
  return message;
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(HandleChecks, ALivingHandlePasses) {
  auto* options = new OrtRunOptions;
  options->options.log_verbosity = 7;
  int64_t out = 0;
  EXPECT_EQ(text(count_of(options, &out)), "");
  EXPECT_EQ(out, 7);
  testing::internal::CaptureStderr();
  release(options);
  release(nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(HandleChecks, NullIsTheFunctionsBusiness) {
  int64_t out = 0;
  EXPECT_EQ(text(count_of(nullptr, &out)), "argument 'options' must not be NULL");
  EXPECT_STREQ(name_of(nullptr), "none");
}

TEST(HandleChecks, AReleasedHandleGivesAStatusOrALine) {
  auto* options = new OrtRunOptions;
  release(options);
  int64_t out = 0;
  const std::string message = text(count_of(options, &out));
  EXPECT_TRUE(message.starts_with("CountOf: ") && has(message, "is no OrtRunOptions that lives: it was released"))
      << message;
  testing::internal::CaptureStderr();
  release(options);
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(line.starts_with("ReleaseRunOptions: ") && has(line, "is no OrtRunOptions that lives")) << line;
}

TEST(HandleChecks, AHandleOfAnotherKindIsNamed) {
  OrtThreadingOptions threading;
  int64_t out = 0;
  const std::string message = text(count_of(reinterpret_cast<OrtRunOptions*>(&threading), &out));
  EXPECT_TRUE(has(message, "a handle of the wrong kind: OrtThreadingOptions, not OrtRunOptions")) << message;
  int any = 0;
  testing::internal::CaptureStderr();
  EXPECT_EQ(name_of(reinterpret_cast<OrtMemoryInfo*>(&any)), nullptr);
  EXPECT_TRUE(has(testing::internal::GetCapturedStderr(), "NameOf: "));
}

TEST(HandleChecks, ArraysAreLookedAtEntryByEntry) {
  auto* gone = new OrtStatus;
  OrtStatus alive;
  const OrtStatus* handles[] = {&alive, nullptr, gone};
  EXPECT_EQ(text(all_of(handles, 3)), "");
  delete gone;
  EXPECT_EQ(text(all_of(handles, 2)), "");
  EXPECT_TRUE(has(text(all_of(handles, 3)), "is no OrtStatus that lives"));
  EXPECT_EQ(text(all_of(nullptr, 0)), "");
}

// Aggregates are made in place, copied and moved about; each object is known by its own address.
TEST(HandleChecks, CopiesAreObjectsOfTheirOwn) {
  const auto lives = [](const OrtStatus& s) { return check_live(&s, "OrtStatus").ok(); };
  std::vector<OrtStatus> many;
  for (int i = 0; i < 20; ++i) many.push_back(OrtStatus{Status(Code::fail, "x")});
  for (const OrtStatus& s : many) EXPECT_TRUE(lives(s));
  const OrtStatus* const last = &many.back();
  many.pop_back();
  EXPECT_FALSE(lives(*last));
  OrtStatus a{Status(Code::fail, "a")}, b = a;
  b = std::move(a);
  EXPECT_TRUE(lives(a) && lives(b));
  const auto made = [] { return OrtStatus{Status(Code::fail, "made")}; }();
  EXPECT_TRUE(lives(made));
}

TEST(HandleChecks, ManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) {
        auto* options = new OrtRunOptions;
        int64_t out = 0;
        EXPECT_EQ(text(count_of(options, &out)), "");
        release(options);
      }
    });
  for (auto& t : threads) t.join();
}

}  // namespace
}  // namespace trunnion::abi
