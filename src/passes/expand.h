// Operators that ONNX defines as graphs of others, put into these graphs once types are known: FlexAttention, whose
// modifiers are graphs that a model brings along, and Gradient, which speaks of the graph around it.
#pragma once
#include "base/log.h"
#include "base/status.h"
#include "ir/graph.h"
#include "ir/rewriter.h"

namespace trunnion::passes {

// Whether nodes of that operator are written out.
bool expands(std::string_view domain, std::string_view op);

// Every such node of the graph and its bodies. The graph is resolved and inferred before and after.
Status expand_operators(ir::Graph& graph, const Logger* log);

Status expand_flex_attention(ir::Node* node, const Logger* log);
Status expand_gradient(ir::Node* node, const Logger* log);

// The opset of new nodes in the graph: that of its own nodes, if these are as new as what NodeMaker writes.
int opset_for(const ir::Graph& graph);

// Writes new nodes in front of one.
class NodeMaker {
 public:
  NodeMaker(ir::Rewriter& rewriter, ir::Node* before, int opset) : rw_(rewriter), before_(before), opset_(opset) {}
  ir::Rewriter& rewriter() const { return rw_; }
  ir::Node* before() const { return before_; }
  int opset() const { return opset_; }

  ir::Value* make(std::string_view op, std::initializer_list<ir::Value*> inputs, std::vector<ir::Attr> attrs = {});
  ir::Value* make(std::string_view op, std::span<ir::Value* const> inputs, std::vector<ir::Attr> attrs = {});
  // A rank-1 int64 constant.
  ir::Value* ints(std::span<const int64_t> values);
  ir::Value* ints(std::initializer_list<int64_t> values) { return ints(std::span(values.begin(), values.size())); }
  // A scalar of one of the float types.
  ir::Value* number(double value, DType type);
  // Dimensions [begin, end) of v.
  ir::Value* dims(ir::Value* v, int64_t begin, int64_t end);
  ir::Value* shape(ir::Value* v) { return make("Shape", {v}); }
  ir::Value* cast(ir::Value* v, DType to);

 private:
  ir::Rewriter& rw_;
  ir::Node* before_;
  int opset_;
};

}  // namespace trunnion::passes
