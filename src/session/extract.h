// Parts of a model as models of their own, for tools that look for the node that goes wrong.
#pragma once
#include <span>
#include <string>

#include "session/environment.h"
#include "session/options.h"

namespace trunnion::session {

// The nodes of the main graph in order, functions inlined: a JSON array of objects with label, name, op_type, domain,
// inputs (names of what it reads, in bodies too; constants are left out) and outputs (objects with name and type).
Result<std::string> model_nodes_json(const Environment& environment, const std::string& path, const Options& options);

// Writes the nodes that lead from `inputs` (empty: the model's own) to `outputs`, with the weights that they read, to
// the file `to`. An input may be any value of the main graph; outputs likewise. Errors name a value that is not there,
// and an input that would still be needed.
Status extract_model(const Environment& environment, const std::string& path, const Options& options,
                     std::span<const std::string> inputs, std::span<const std::string> outputs, const std::string& to);

}  // namespace trunnion::session
