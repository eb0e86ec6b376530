#include "ir/names.h"

#include <unordered_map>

namespace trunnion::ir {
namespace {

using Counts = std::unordered_map<std::string, int>;  // names of the graphs around, and how often

void separate(Graph& graph, Counts& outer) {
  std::vector<Value*> own;
  graph.for_each_value([&](Value* v) {
    if (!v->is_capture()) own.push_back(v);
  });
  if (graph.owner())
    for (Value* v : own)
      for (int n = 1; outer.contains(v->name()); ++n) {
        const std::string wanted = v->name() + "_in" + std::to_string(n);
        if (!outer.contains(wanted)) graph.rename(v, wanted);
      }
  for (const Value* v : own) ++outer[v->name()];
  for (Node* n = graph.first(); n; n = n->next())
    for (Graph* body : n->bodies()) separate(*body, outer);
  for (const Value* v : own)
    if (--outer[v->name()] == 0) outer.erase(v->name());
}

}  // namespace

void separate_names(Graph& top) {
  Counts outer;
  separate(top, outer);
}

}  // namespace trunnion::ir
