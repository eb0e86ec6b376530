// What a model is, without running it: for `trunnion inspect` and tools.
#pragma once
#include <string>

#include "session/environment.h"
#include "session/options.h"
#include "session/session.h"

namespace trunnion::session {

// A JSON object: path, ir_version, producer, opsets, metadata, inputs, outputs, operators with counts, parameters,
// flops and activation_bytes (texts: numbers, or expressions of the model's symbols, "?" where shapes do not follow; a
// free dimension of an input that has no name is called input.axis),
// problems (what would not run, and why). Options count as far as they change shapes (free-dimension overrides).
// Fails only when the file cannot be read as a model.
Result<std::string> inspect_model(const Environment& environment, const std::string& path, const Options& options);

}  // namespace trunnion::session
