#include "ir/verify.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"

namespace trunnion::ir {
namespace {

Status broken(const Node* n, std::string_view what) {
  return error(Code::engine_error, "graph invariant broken at {}: {}", n ? n->label() : "the graph", what);
}

}  // namespace

Status verify(const Graph& graph) {
  std::unordered_map<const Value*, std::vector<const Node*>> uses;  // by value, one entry a use
  std::unordered_map<const Value*, int> outputs;
  std::unordered_set<const Value*> live, known;
  std::unordered_set<std::string> names;
  Status status;
  graph.for_each_value([&](Value* v) {
    live.insert(v);
    if (!v->producer()) known.insert(v);
    if (v->name().empty() || !names.insert(v->name()).second)
      status = broken(v->producer(), "value name '" + v->name() + "' is empty or not unique");
    if (v->graph() != &graph) status = broken(v->producer(), "value '" + v->name() + "' belongs to another graph");
  });
  TRN_TRY(status);
  int count = 0;
  for (const Node* n = graph.first(); n; n = n->next(), ++count) {
    if (n->graph() != &graph) return broken(n, "it belongs to another graph");
    const auto read = [&](const Value* v) -> Status {
      if (!live.contains(v)) return broken(n, "it reads a value that is not in the graph");
      if (!known.contains(v)) return broken(n, "it reads '" + v->name() + "' before it is made");
      uses[v].push_back(n);
      return {};
    };
    for (const Value* v : n->inputs())
      if (v) TRN_TRY(read(v));
    for (const Graph* body : n->bodies()) {
      if (body->owner() != n) return broken(n, "a body has another owner");
      for (const auto& c : body->captures()) {
        TRN_TRY(read(c.outer));
        if (c.inner->graph() != body) return broken(n, "a capture's inner value is not in the body");
      }
      TRN_TRY(verify(*body));
    }
    for (size_t k = 0; k < n->outputs().size(); ++k) {
      const Value* v = n->outputs()[k];
      if (!v) continue;
      if (!live.contains(v) || v->producer() != n || v->producer_index() != static_cast<int>(k))
        return broken(n, "output and producer do not agree");
      known.insert(v);
    }
  }
  if (count != graph.node_count()) return broken(nullptr, "the node count is wrong");
  for (const Value* v : graph.outputs()) {
    if (!known.contains(v)) return broken(nullptr, "an output is not made");
    ++outputs[v];
  }
  for (const Value* v : live) {
    auto have = v->users();
    auto want = uses[v];
    std::sort(have.begin(), have.end());
    std::sort(want.begin(), want.end());
    if (!std::equal(have.begin(), have.end(), want.begin(), want.end()))
      return broken(v->producer(), "the uses of '" + v->name() + "' are wrong");
    if (v->output_uses() != outputs[v])
      return broken(v->producer(), "the output uses of '" + v->name() + "' are wrong");
    if (v->producer() && !known.contains(v))
      return broken(v->producer(), "value '" + v->name() + "' has a producer that is not in the graph");
  }
  return {};
}

}  // namespace trunnion::ir
