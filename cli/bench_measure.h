// Runs a loaded model for a while: one caller, several callers, and what goes around a run.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "engine.h"
#include "feeds.h"

namespace trunnion::cli {

// What is going on, on one line of a terminal; nothing where stderr is none.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(const std::string& text);  // at most ten times a second for the same stage
  void stage(const std::string& text);

 private:
  bool on_;
  double shown_ = 0;
};

double now_seconds();

// Calls `run` for so long, and until `least` calls are counted; gives their times in milliseconds, in order. The first
// three are not counted (one, where a call takes above 0.1 s).
std::vector<double> time_calls(const std::function<void()>& run, double seconds, size_t least,
                               const std::function<void(double share, size_t calls)>& tell);

struct Callers {
  int count = 0;
  double runs_per_second = 0;
  std::vector<double> times;  // of all callers, in milliseconds, sorted
};
Callers many_callers(const LoadedModel& model, const Arguments& arguments, int callers, double seconds);

// Values made around the inputs' arrays, and all outputs copied to memory of the caller: medians in milliseconds.
struct Around {
  double feed_ms = 0, fetch_ms = 0;
};
Around around_a_run(const LoadedModel& model, const std::vector<Feed>& feeds);

}  // namespace trunnion::cli
