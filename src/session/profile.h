// The profile of a session: a JSON array of complete events in Chrome's trace form, one a line, as ONNX Runtime writes
// it.
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "run/executor.h"

namespace trunnion::session {

class Profile final : public run::Recorder {
 public:
  explicit Profile(std::string prefix);

  void step(const plan::Step& step, int64_t begin_ns, int64_t end_ns) override;
  void event(std::string_view category, std::string_view name, int64_t begin_ns, int64_t end_ns);
  int64_t start_ns() const { return start_ns_; }

  // Writes <prefix>_<time>.json and gives its name. Later events are dropped.
  Result<std::string> finish();

 private:
  void add(std::string_view category, std::string_view name, std::string_view args, int64_t begin_ns, int64_t end_ns);
  std::string prefix_;
  int64_t start_ns_;
  std::mutex mutex_;
  std::string text_;
  bool finished_ = false;
};

// A JSON string with quotes.
std::string json_text(std::string_view text);

}  // namespace trunnion::session
