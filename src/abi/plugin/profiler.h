// The profiler of a plugin's provider: told what the session's profile is told of the provider's regions, and asked for
// its own events when the profile ends.
#pragma once
#include <atomic>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "ep/provider.h"
#include "trunnion/ort_abi.h"

struct OrtProfilingEvent {
  trunnion::ep::TraceEvent event;
};

struct OrtProfilingEventsContainer {
  std::vector<trunnion::ep::TraceEvent> events;
};

namespace trunnion::abi {

class PluginProfiler {
 public:
  // Null: the provider has none.
  static Result<std::unique_ptr<PluginProfiler>> make(OrtEp& ep);
  ~PluginProfiler();

  // The profile began so long ago.
  Status start(int64_t elapsed_ns);
  // Around what a region runs, on the thread that runs it. Its errors are not the run's.
  uint64_t begin();
  void end(uint64_t id, const std::string& name, const std::string& provider, int64_t begin_ns, int64_t end_ns);
  // Nothing is told afterwards.
  Result<std::vector<ep::TraceEvent>> finish();

 private:
  explicit PluginProfiler(OrtEpProfilerImpl* impl) : impl_(impl) {}

  OrtEpProfilerImpl* impl_;
  int64_t start_ns_ = 0;
  std::atomic<uint64_t> next_ = 1;
  std::atomic<bool> on_ = false;
  std::shared_mutex mutex_;  // shared while the plugin is told something
};

}  // namespace trunnion::abi
