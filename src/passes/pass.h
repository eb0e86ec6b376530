// A pass: a named rewrite of a graph. passes/clean.cc holds the one portable list; a provider brings its own.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/precision.h"
#include "base/status.h"
#include "ir/graph.h"

namespace trunnion::passes {

struct PassContext {
  int64_t fold_limit_bytes =
      int64_t{1} << 20;  // a constant larger than this and than twice its inputs is not folded ...
  int64_t fold_weights_bytes = int64_t{1}
                               << 30;  // ... unless it serves as weights only; of those not more than this in all
  int64_t fold_growth_bytes = int64_t{128}
                              << 20;  // what folding may add in all, beyond the size of the model's own constants
  PrecisionChoice precision;          // what rewrites may do to the bits
  const Logger* log = nullptr;        // rewrites are told at verbose
  int changes = 0;                    // how many rewrites the running pass made
  const char* running = nullptr;      // the pass that runs, or that ran last

  // Spent of the limits above. The size of the model's constants is measured when the first one is folded.
  int64_t folded_weights = 0, folded_growth = 0, model_constants = -1;
};

struct Pass {
  const char* name;  // the string that disables it, e.g. "ConstantFolding"
  Status (*run)(ir::Graph&, PassContext&);
  bool required = false;  // what it does was promised: a graph without it is wrong, not only slower
};

// What a list of passes did, for logs and reports.
struct PassRecord {
  std::string name;
  int changes = 0;
  double milliseconds = 0;
};

struct RunOptions {
  std::vector<std::string> disabled;                             // names to skip
  bool verify = false;                                           // ir::verify after every pass
  int max_rounds = 1;                                            // repeat the list while something changes
  std::function<void(const char* pass, const ir::Graph&)> dump;  // called after a pass that changed something
};

// Runs the list in order over the graph and its bodies. Facts are inferred anew after every pass that changed
// something.
Status run_passes(ir::Graph& graph, std::span<const Pass> list, PassContext& context, const RunOptions& options,
                  std::vector<PassRecord>& records);

// A pass that failed or broke the graph, and how.
struct PassFault {
  std::string pass;
  std::string message;
};

// run_passes for lists that a graph can do without: a pass that fails, or that leaves an invalid graph, is undone and
// left out. `graph` is another one then: the list has run anew, without that pass, over a copy of what came in. A
// required pass is never left out: its fault is an error.
Status run_passes_or_undo(std::unique_ptr<ir::Graph>& graph, std::span<const Pass> list, PassContext& context,
                          const RunOptions& options, std::vector<PassRecord>& records, std::vector<PassFault>& faults);

// The portable list, in order: folding, eliminations, common subexpressions, dead code. Never introduces an operator.
std::span<const Pass> clean();

}  // namespace trunnion::passes
