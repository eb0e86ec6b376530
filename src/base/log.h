// Logging: a Logger (sink, lowest severity, id) travels in contexts; nothing is global. Use TRN_LOG.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace trunnion {

// Numeric values are those of ONNX Runtime's OrtLoggingLevel.
enum class Severity : unsigned char { verbose = 0, info = 1, warning = 2, error = 3, fatal = 4 };

char severity_letter(Severity severity);  // V I W E F

struct LogRecord {
  Severity severity;
  std::string_view category;
  std::string_view id;    // names the session or run
  std::string_view file;  // without folders
  int line;
  std::string_view function;
  std::string_view text;
};

// Where records go. write() may be called from several threads at once and must not throw.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void write(const LogRecord& record) = 0;
};

// `YYYY-MM-DD HH:MM:SS.nnnnnnnnn [W:onnxruntime:<id>, file.cc:line Func] text` and a newline, with the given time.
// Control characters of the text other than newline and tab are shown as \xNN, for names come from models.
std::string format_record(const LogRecord& record, int64_t wall_ns, bool coloured = false);

std::shared_ptr<LogSink> make_stderr_sink();  // colours on a terminal
std::shared_ptr<LogSink> make_callback_sink(std::function<void(const LogRecord&)> callback);
std::shared_ptr<LogSink> make_null_sink();

// Cheap to copy. A default one logs nothing.
class Logger {
 public:
  Logger() = default;
  Logger(std::shared_ptr<LogSink> sink, Severity lowest, std::string_view id = {});

  bool enabled(Severity severity) const { return sink_ && severity >= lowest_; }
  Severity lowest() const { return lowest_; }
  std::string_view id() const { return id_ ? std::string_view(*id_) : std::string_view(); }
  const std::shared_ptr<LogSink>& sink() const { return sink_; }

  // The same sink with another id or another lowest severity.
  Logger with_id(std::string_view id) const { return Logger(sink_, lowest_, id); }
  Logger with_lowest(Severity lowest) const;

  // Hands on without looking at the severity; `file` may carry folders.
  void write(Severity severity, std::string_view file, int line, std::string_view function,
             std::string_view text) const;

 private:
  std::shared_ptr<LogSink> sink_;
  std::shared_ptr<const std::string> id_;
  Severity lowest_ = Severity::warning;
};

}  // namespace trunnion

// TRN_LOG(logger, warning, "node '{}' was skipped", name): formats only when the severity is enabled.
#define TRN_LOG(logger, severity, ...)                                                                          \
  do {                                                                                                          \
    const ::trunnion::Logger& trn_log_ = (logger);                                                              \
    if (trn_log_.enabled(::trunnion::Severity::severity)) {                                                     \
      trn_log_.write(::trunnion::Severity::severity, __FILE__, __LINE__, __func__, ::fmt::format(__VA_ARGS__)); \
    }                                                                                                           \
  } while (0)
