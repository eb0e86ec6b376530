#include <algorithm>

#include "base/os.h"
#include "ir/verify.h"
#include "ops/catalog.h"
#include "passes/pass.h"

namespace trunnion::passes {
namespace {

// Bodies first: what they simplify may free values of the graph around them.
Status run_deep(const Pass& pass, ir::Graph& graph, PassContext& context) {
  for (ir::Node* n = graph.first(); n; n = n->next())
    for (ir::Graph* body : n->bodies()) TRN_TRY(run_deep(pass, *body, context));
  return pass.run(graph, context);
}

bool is_disabled(const RunOptions& options, std::string_view name) {
  return std::ranges::find(options.disabled, name) != options.disabled.end();
}

}  // namespace

Status run_passes(ir::Graph& graph, std::span<const Pass> list, PassContext& context, const RunOptions& options,
                  std::vector<PassRecord>& records) {
  for (int round = 0; round < options.max_rounds; ++round) {
    bool changed = false;
    for (const Pass& pass : list) {
      if (is_disabled(options, pass.name)) continue;
      context.changes = 0;
      context.running = pass.name;
      const int64_t begin = os::monotonic_ns();
      if (auto s = run_deep(pass, graph, context); !s.ok()) return s.with_context(std::string("pass ") + pass.name);
      if (context.changes) {
        TRN_TRY(ops::resolve(graph));
        if (auto s = ops::infer(graph); !s.ok()) return s.with_context(std::string("after pass ") + pass.name);
        changed = true;
        if (options.dump) options.dump(pass.name, graph);
      }
      records.push_back({pass.name, context.changes, static_cast<double>(os::monotonic_ns() - begin) * 1e-6});
      if (options.verify && context.changes)
        if (auto s = ir::verify(graph); !s.ok()) return s.with_context(std::string("after pass ") + pass.name);
    }
    if (!changed) break;
  }
  return {};
}

Status run_passes_or_undo(std::unique_ptr<ir::Graph>& graph, std::span<const Pass> list, PassContext& context,
                          const RunOptions& options, std::vector<PassRecord>& records, std::vector<PassFault>& faults) {
  RunOptions run = options;
  const size_t recorded = records.size();
  const PassContext untouched = context;
  for (;;) {
    if (std::ranges::all_of(list, [&](const Pass& p) { return p.required || is_disabled(run, p.name); })) {
      run.verify = true;  // there is nothing to undo
      return run_passes(*graph, list, context, run, records);
    }
    std::unique_ptr<ir::Graph> before = graph->clone();
    const Status failed = run_passes(*graph, list, context, run, records);
    const Status broken = failed.ok() ? ir::verify(*graph) : Status{};
    if (failed.ok() && broken.ok()) return {};
    const std::string pass = context.running ? context.running : "";
    if (!failed.ok() && std::ranges::any_of(list, [&](const Pass& p) { return p.required && p.name == pass; }))
      return failed;
    graph = std::move(before);
    context = untouched;
    records.resize(recorded);
    if (!failed.ok()) {
      faults.push_back({pass, std::string(failed.message())});
      run.disabled.push_back(pass);
    } else if (!run.verify) {
      run.verify = true;  // which of them it was shows when the graph is checked after each
    } else {
      faults.push_back({"", std::string(broken.message())});  // none owns up to it: do without all
      for (const Pass& p : list)
        if (!p.required) run.disabled.push_back(p.name);
    }
  }
}

}  // namespace trunnion::passes
