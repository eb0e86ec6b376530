// The profile of a session: a JSON array of complete events in Chrome's trace form, one a line, with the names and
// fields of ONNX Runtime's, and for every executed node also what it costs (dur_ns, flops, arithmetic).
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "plan/placement.h"
#include "run/executor.h"

namespace trunnion::session {

class Profile final : public run::Recorder {
 public:
  // `placement` says who runs the nodes; it may be filled later and must live as long.
  Profile(std::string prefix, const plan::Placement& placement);

  void step(const run::StepRecord& record) override;
  // `args`: the inside of a JSON object.
  void event(std::string_view category, std::string_view name, int64_t begin_ns, int64_t end_ns,
             std::string_view args = "");
  void event(const ep::TraceEvent& e);
  int64_t start_ns() const { return start_ns_; }

  // Writes <prefix>_<time>.json and gives its name. Later events are dropped, and so are those beyond a million.
  Result<std::string> finish();

 private:
  void add(const std::string& line);

  std::string prefix_;
  const plan::Placement& placement_;
  int64_t start_ns_;
  std::mutex mutex_;
  std::string text_;
  int64_t events_ = 0, dropped_ = 0;
  bool finished_ = false;
};

}  // namespace trunnion::session
