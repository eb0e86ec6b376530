// If, Loop, Scan and SequenceMap: steps that run the programs of their bodies.
#pragma once
#include "run/executor.h"

namespace trunnion::run {

// Runs control-flow step `index` of the frame's program and sets its outputs in the frame.
Status run_control_flow(Executor& executor, int index, Frame& frame, const RunEnv& env);

}  // namespace trunnion::run
