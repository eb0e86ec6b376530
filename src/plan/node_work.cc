#include "plan/node_work.h"

#include <utility>

#include "plan/node_cost.h"

namespace trunnion::plan {
namespace {

double with_ones(const Dim& d, bool& free_sizes) {
  if (d.is_int()) return static_cast<double>(d.value());
  free_sizes = true;
  const auto n = d.evaluate([](std::string_view) -> std::optional<int64_t> { return 1; });
  return n ? static_cast<double>(*n) : 1;
}

}  // namespace

std::optional<double> bytes_of(const Type& type, bool& free_sizes) {
  if (!type.is_tensor() || !type.shape || type.dtype == DType::undefined || type.dtype == DType::string)
    return std::nullopt;
  double bytes = static_cast<double>(size_of(type.dtype));
  for (const Dim& d : *type.shape) bytes *= with_ones(d, free_sizes);
  return bytes;
}

void add_work(const ir::Node& node, Work& work) {
  ++work.nodes;
  const NodeCost cost = node_cost(node);
  for (const auto& [amount, to] : {std::pair(&cost.flops, &work.flops), {&cost.bytes, &work.bytes}}) {
    if (amount->is_unknown())
      work.unknown_sizes = true;
    else
      *to += with_ones(*amount, work.free_sizes);
  }
  for (const ir::Graph* body : node.bodies())
    for (const ir::Node* n = body->first(); n; n = n->next()) add_work(*n, work);
}

}  // namespace trunnion::plan
