// What rules ask about nodes, constants and facts. Every answer is "yes, provably" or no.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/rewriter.h"

namespace trunnion::passes {

// An operator of ai.onnx.
inline bool is_op(const ir::Node* n, std::string_view op_type) {
  return n && n->domain().empty() && n->op_type() == op_type;
}

// Elements of the i-th input when it is a constant, else null.
const Tensor* constant_input(const ir::Node& node, int i);
// Elements of an integer tensor (int64 or int32).
std::optional<std::vector<int64_t>> to_ints(const Tensor& tensor);
// A list of integers that is an attribute in some versions and a constant input in others; nullopt when it is neither.
std::optional<std::vector<int64_t>> ints_of(const ir::Node& node, std::string_view attr, int input);

// Every element is the number (of any numeric type).
bool all_elements_are(const Tensor& tensor, double number);

bool same_shape(const ir::Fact& a, const ir::Fact& b);
// Also of one element type: one value can stand for the other.
bool same_type(const ir::Fact& a, const ir::Fact& b);

// A 1-D int64 constant.
Result<Tensor> int64_tensor(std::span<const int64_t> values);

// Axes of a tensor of this rank, made non-negative; nullopt when one is out of range or stands twice.
std::optional<std::vector<int64_t>> normal_axes(std::vector<int64_t> axes, int rank);

// For passes of the form "replace output 0 by an input": calls choose(node) for every node in order; where it gives a
// value, the node is bypassed (and kept as it is where it makes a graph output that the value cannot become).
template <class F>
Status bypass_all(ir::Graph& graph, ir::Rewriter& rw, std::string_view rule, F&& choose) {
  for (ir::Node* n = graph.first(); n;) {
    ir::Node* next = n->next();
    ir::Value* out = n->output(0);
    if (out && !out->unused())
      if (ir::Value* with = choose(*n); with && (ir::Rewriter::can_replace(out, with) || !out->users().empty())) {
        rw.begin(rule, {n});
        rw.bypass(n, with);
      }
    n = next;
  }
  return {};
}

}  // namespace trunnion::passes
