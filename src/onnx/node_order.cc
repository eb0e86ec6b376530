#include "onnx/node_order.h"

#include <functional>
#include <numeric>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"

namespace trunnion::onnx {
namespace {

using Names = std::unordered_set<std::string_view>;

// Calls fn for every outer name that the node reads, those read inside its bodies included: a name that a body defines
// itself (input, initializer, node output) is its own. Depth is bounded by the reader.
void for_each_read(const NodeView& node, const std::vector<const Names*>& own,
                   const std::function<void(std::string_view)>& fn) {
  const auto read = [&](std::string_view name) {
    for (const Names* names : own)
      if (names->contains(name)) return;
    if (!name.empty()) fn(name);
  };
  for (auto name : node.inputs) read(name);
  for (const auto& a : node.attributes)
    for (const auto& g : a.graphs) {
      Names names;
      for (const auto& v : g.inputs) names.insert(v.name);
      for (const auto& t : g.initializers) names.insert(t.name);
      for (const auto& t : g.sparse_initializers) names.insert(t.values.name);
      for (const auto& n : g.nodes)
        for (auto name : n.outputs) names.insert(name);
      auto inner = own;
      inner.push_back(&names);
      for (const auto& n : g.nodes) for_each_read(n, inner, fn);
      for (const auto& o : g.outputs) {
        bool local = names.contains(o.name);
        if (!local) read(o.name);
      }
    }
}

}  // namespace

Result<std::vector<int>> node_order(const std::vector<NodeView>& nodes) {
  std::unordered_map<std::string_view, int> producer;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (auto name : nodes[i].outputs)
      if (!name.empty()) producer.emplace(name, static_cast<int>(i));

  std::vector<int> order(nodes.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int>> readers(nodes.size());
  std::vector<int> waiting(nodes.size(), 0);
  bool sorted = true;
  for (size_t i = 0; i < nodes.size(); ++i)
    for_each_read(nodes[i], {}, [&](std::string_view name) {
      const auto it = producer.find(name);
      if (it == producer.end()) return;
      sorted = sorted && it->second < static_cast<int>(i);
      readers[static_cast<size_t>(it->second)].push_back(static_cast<int>(i));
      ++waiting[i];
    });
  if (sorted) return order;

  order.clear();
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (waiting[i] == 0) ready.push(static_cast<int>(i));
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    order.push_back(i);
    for (int r : readers[static_cast<size_t>(i)])
      if (--waiting[static_cast<size_t>(r)] == 0) ready.push(r);
  }
  if (order.size() == nodes.size()) return order;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (waiting[i] > 0)
      return invalid_graph(
          "This is an invalid model. Error: the graph is not acyclic: node '{}' ({}) depends on its own output",
          nodes[i].name, nodes[i].op_type);
  return order;
}

}  // namespace trunnion::onnx
