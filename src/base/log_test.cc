#include "base/log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <vector>

namespace trunnion {
namespace {

struct Seen {
  Severity severity;
  std::string category, id, file, function, text;
  int line;
};

std::shared_ptr<LogSink> collect(std::vector<Seen>& into) {
  return make_callback_sink([&into](const LogRecord& r) {
    into.push_back({r.severity, std::string(r.category), std::string(r.id), std::string(r.file),
                    std::string(r.function), std::string(r.text), r.line});
  });
}

TEST(Log, WritesWhatIsEnabledAndFormatsNothingElse) {
  std::vector<Seen> seen;
  Logger log(collect(seen), Severity::warning, "session");
  int formatted = 0;
  auto value = [&] { return ++formatted; };
  TRN_LOG(log, info, "hidden {}", value());
  EXPECT_EQ(formatted, 0);
  TRN_LOG(log, warning, "shown {}", value());
  int line = __LINE__ - 1;
  TRN_LOG(log, fatal, "plain");
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(formatted, 1);
  EXPECT_EQ(seen[0].text, "shown 1");
  EXPECT_EQ(seen[0].severity, Severity::warning);
  EXPECT_EQ(seen[0].category, "onnxruntime");
  EXPECT_EQ(seen[0].id, "session");
  EXPECT_EQ(seen[0].file, "log_test.cc");
  EXPECT_EQ(seen[0].line, line);
  EXPECT_EQ(seen[0].function, "TestBody");
  EXPECT_EQ(seen[1].severity, Severity::fatal);
}

TEST(Log, DerivedLoggers) {
  std::vector<Seen> seen;
  Logger log(collect(seen), Severity::error, "a");
  Logger verbose = log.with_lowest(Severity::verbose).with_id("b");
  TRN_LOG(log, warning, "no");
  TRN_LOG(verbose, verbose, "yes");
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].id, "b");
  EXPECT_EQ(log.id(), "a");
  Logger none;
  EXPECT_FALSE(none.enabled(Severity::fatal));
  TRN_LOG(none, fatal, "nowhere");
  none.write(Severity::fatal, "f", 1, "g", "nowhere");
}

TEST(Log, LineHasTheFormOfOrt) {
  const char* set = std::getenv("TZ");
  std::string saved = set ? set : "";
  setenv("TZ", "UTC", 1);
  tzset();
  LogRecord record{Severity::warning, "onnxruntime", "id", "graph.cc", 12, "Resolve", "text"};
  EXPECT_EQ(format_record(record, 951782399'000000042),
            "2000-02-28 23:59:59.000000042 [W:onnxruntime:id, graph.cc:12 Resolve] text\n");
  EXPECT_EQ(format_record(record, -1), "1969-12-31 23:59:59.999999999 [W:onnxruntime:id, graph.cc:12 Resolve] text\n");
  record.severity = Severity::error;
  std::string coloured = format_record(record, 0, true);
  EXPECT_EQ(coloured.substr(0, 7), "\033[1;31m");
  EXPECT_EQ(coloured.substr(coloured.size() - 4), "\033[m\n");
  set ? setenv("TZ", saved.c_str(), 1) : unsetenv("TZ");
  tzset();
}

TEST(Log, ControlCharactersOfNamesAreShown) {
  LogRecord record{Severity::info, "onnxruntime", "", "f.cc", 1, "f", "a\033[31mb\r\n\tc\x7f\xc3\xa4"};
  std::string line = format_record(record, 0);
  EXPECT_NE(line.find("f] a\\x1b[31mb\\x0d\n\tc\\x7f\xc3\xa4\n"), std::string::npos) << line;
}

TEST(Log, StderrSinkWritesOneLine) {
  testing::internal::CaptureStderr();
  Logger log(make_stderr_sink(), Severity::info);
  TRN_LOG(log, info, "number {}", 5);
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find(" [I:onnxruntime:, log_test.cc:"), std::string::npos) << text;
  EXPECT_NE(text.find(" TestBody] number 5\n"), std::string::npos) << text;
}

TEST(Log, Letters) {
  std::string letters;
  for (int i = 0; i < 6; ++i) letters += severity_letter(static_cast<Severity>(i));
  EXPECT_EQ(letters, "VIWEF?");
}

}  // namespace
}  // namespace trunnion
