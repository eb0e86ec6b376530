#include "onnx/node_order.h"

#include <functional>
#include <numeric>
#include <queue>
#include <string_view>
#include <unordered_map>

#include "base/error.h"

namespace trunnion::onnx {
namespace {

// Calls fn for every name that the node reads, those read inside its bodies included. Depth is bounded by the reader.
void for_each_read(const NodeView& node, const std::function<void(std::string_view)>& fn) {
  for (auto name : node.inputs)
    if (!name.empty()) fn(name);
  for (const auto& a : node.attributes)
    for (const auto& g : a.graphs) {
      for (const auto& n : g.nodes) for_each_read(n, fn);
      for (const auto& o : g.outputs) fn(o.name);
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
    for_each_read(nodes[i], [&](std::string_view name) {
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
      return invalid_graph("This is an invalid model. Error: the graph is not acyclic: node '{}' ({}) depends on its own output", nodes[i].name, nodes[i].op_type);
  return order;
}

}  // namespace trunnion::onnx
