// A pass: a named rewrite of a graph. passes/clean.cc holds the one portable list; a provider brings its own.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace trunnion::passes {

struct PassContext {
  int64_t fold_limit_bytes = int64_t{1} << 20;  // constant folding never makes a constant larger than this and than its inputs
  bool keep_input_names = true;                 // graph inputs and outputs keep their names always; inner ones may go
  int changes = 0;                              // how many rewrites the running pass made
};

struct Pass {
  const char* name;  // the string that disables it, e.g. "ConstantFolding"
  Status (*run)(ir::Graph&, PassContext&);
};

// What a list of passes did, for logs and reports.
struct PassRecord {
  std::string name;
  int changes = 0;
  double milliseconds = 0;
};

struct RunOptions {
  std::vector<std::string> disabled;  // names to skip
  bool verify = false;                // ir::verify after every pass
  int max_rounds = 1;                 // repeat the list while something changes
  std::function<void(const char* pass, const ir::Graph&)> dump;  // called after a pass that changed something
};

// Runs the list in order over the graph and its bodies. Facts are inferred anew after every pass that changed something.
Status run_passes(ir::Graph& graph, std::span<const Pass> list, PassContext& context, const RunOptions& options,
                  std::vector<PassRecord>& records);

// The portable list, in order: folding, eliminations, common subexpressions, dead code. Never introduces an operator.
std::span<const Pass> clean();

}  // namespace trunnion::passes
