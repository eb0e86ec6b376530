// What in the options of a session or a run has no effect: named in a warning, or in an error under
// session.strict_config. The configuration entries themselves are config_keys.h's.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "session/options.h"

namespace trunnion::session {

// Everything that can be judged without the model: entries, levels, numbers of threads, names of optimizers, variables
// of the environment.
Status check_options(const Options& options, const Logger& logger);

// Names that a model has of what options can replace or fix. Filled while the model is imported.
struct ModelNames {
  std::set<std::string, std::less<>> symbols, denotations, initializers;
};
Status check_names(const Options& options, const ModelNames& names, const Logger& logger);

// Entries of a run: lines to warn with. `told` holds the keys that were warned of, so that a run a millisecond does not
// fill the log.
Result<std::vector<std::string>> check_run_options(const RunOptions& options, bool strict,
                                                   std::set<std::string, std::less<>>& told);

}  // namespace trunnion::session
