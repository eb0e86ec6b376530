// Session configuration `precision` and `precision.nodes`.
#pragma once
#include "base/precision.h"
#include "session/options.h"

namespace trunnion::session {

// INVALID_ARGUMENT names the entry that is wrong. A node that the graph does not have is told as a warning, with near
// names (an error under session.strict_config).
Result<PrecisionChoice> precision_options(const Options& options, const ir::Graph& graph, const Logger& logger);

}  // namespace trunnion::session
