#include "base/log.h"

#include "base/os.h"

namespace trunnion {
namespace {

constexpr std::string_view kCategory = "onnxruntime";  // log readers of ORT look for it

const char* colour_of(Severity severity) {
  switch (severity) {
    case Severity::warning:
      return "\033[0;93m";
    case Severity::error:
      return "\033[1;31m";
    case Severity::fatal:
      return "\033[1;37;41m";
    default:
      return "";
  }
}

bool printable(char c) { return static_cast<unsigned char>(c) >= 32 ? c != 127 : c == '\n' || c == '\t'; }

void append_printable(std::string& out, std::string_view text) {
  for (char c : text) {
    if (printable(c)) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
}

class StderrSink final : public LogSink {
 public:
  void write(const LogRecord& record) override { os::write_stderr(format_record(record, os::wall_ns(), coloured_)); }

 private:
  const bool coloured_ = os::stderr_is_terminal();
};

class CallbackSink final : public LogSink {
 public:
  explicit CallbackSink(std::function<void(const LogRecord&)> callback) : callback_(std::move(callback)) {}
  void write(const LogRecord& record) override { callback_(record); }

 private:
  std::function<void(const LogRecord&)> callback_;
};

class NullSink final : public LogSink {
 public:
  void write(const LogRecord&) override {}
};

}  // namespace

char severity_letter(Severity severity) {
  constexpr char kLetters[] = {'V', 'I', 'W', 'E', 'F'};
  size_t index = static_cast<size_t>(severity);
  return index < sizeof kLetters ? kLetters[index] : '?';
}

std::string format_record(const LogRecord& record, int64_t wall_ns, bool coloured) {
  constexpr int64_t kSecond = 1'000'000'000;
  int64_t seconds = wall_ns / kSecond, fraction = wall_ns % kSecond;
  if (fraction < 0) {
    fraction += kSecond;
    --seconds;
  }
  os::CalendarTime t = os::local_time(seconds);
  std::string out;
  const char* colour = coloured ? colour_of(record.severity) : "";
  out += colour;
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:09} [{}:{}:", t.year, t.month, t.day,
                 t.hour, t.minute, t.second, fraction, severity_letter(record.severity), record.category);
  append_printable(out, record.id);
  fmt::format_to(std::back_inserter(out), ", {}:{} {}] ", record.file, record.line, record.function);
  append_printable(out, record.text);
  if (*colour) out += "\033[m";
  out += '\n';
  return out;
}

std::shared_ptr<LogSink> make_stderr_sink() { return std::make_shared<StderrSink>(); }
std::shared_ptr<LogSink> make_callback_sink(std::function<void(const LogRecord&)> callback) {
  return std::make_shared<CallbackSink>(std::move(callback));
}
std::shared_ptr<LogSink> make_null_sink() { return std::make_shared<NullSink>(); }

Logger::Logger(std::shared_ptr<LogSink> sink, Severity lowest, std::string_view id)
    : sink_(std::move(sink)), id_(id.empty() ? nullptr : std::make_shared<const std::string>(id)), lowest_(lowest) {}

Logger Logger::with_lowest(Severity lowest) const {
  Logger other = *this;
  other.lowest_ = lowest;
  return other;
}

void Logger::write(Severity severity, std::string_view file, int line, std::string_view function,
                   std::string_view text) const {
  if (!sink_) return;
  size_t slash = file.find_last_of("/\\");
  if (slash != std::string_view::npos) file.remove_prefix(slash + 1);
  sink_->write({severity, kCategory, id(), file, line, function, text});
}

}  // namespace trunnion
