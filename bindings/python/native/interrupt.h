// Ctrl-C while a model runs: the run is told to terminate, and Python raises KeyboardInterrupt when it has.
#pragma once
#include "options.h"

namespace trunnion::python {

// Makes SIGINT reach runs, where Python's own handler is the one that counts. Called where sessions are made, so that
// programs without one keep their signals as they are.
void catch_interrupts();

// The options of a run that the main thread may have to leave; on other threads just the options. The GIL is held where
// it is made, told the end and destroyed.
class InterruptibleRun {
 public:
  explicit InterruptibleRun(nb::handle run_options);
  ~InterruptibleRun();
  InterruptibleRun(const InterruptibleRun&) = delete;

  const OrtRunOptions* options() const { return options_; }
  // Throws KeyboardInterrupt in place of the status that it led to.
  void ended(OrtStatus* status);

 private:
  nb::object given_;
  OrtRunOptions* options_ = nullptr;
  OrtRunOptions* outer_ = nullptr;  // of a run whose log callback makes this one
  bool watched_ = false, keep_terminate_ = false;
};

}  // namespace trunnion::python
