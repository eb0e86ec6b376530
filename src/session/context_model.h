// The model with what providers compiled in place of the nodes that they took: ep.context_enable = 1.
#pragma once
#include "base/log.h"
#include "ir/graph.h"
#include "plan/placement.h"
#include "session/options.h"

namespace trunnion::session {

// Gives it to the options' sink, or writes it to ep.context_file_path or beside the model. Nothing is given, and a
// warning in place of a file, when providers compiled nothing.
Status write_context_model(const ir::Model& model, const plan::Placement& placement, const Options& options,
                           const Logger& logger);

}  // namespace trunnion::session
