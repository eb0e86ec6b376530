// The one way in which passes change a graph. It counts and logs every rewrite, hands the origins of replaced nodes on
// to their successors, and keeps the names and types of graph outputs.
//
//   Rewriter rw(graph, "MergeTransposes", context.log);
//   rw.begin("merge", {first, second});          // one rewrite; nodes inserted from here on stand for these two
//   Node* n = rw.insert("Transpose", "", second->opset(), {first->input(0)}, {"t"}, attrs, second);
//   rw.bypass(second, n->output(0));
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "ir/graph.h"

namespace trunnion::ir {

class Rewriter {
 public:
  Rewriter(Graph& graph, std::string_view pass, const Logger* log = nullptr) : graph_(graph), pass_(pass), log_(log) {}
  Graph& graph() const { return graph_; }
  int changes() const { return changes_; }

  // Begins a rewrite of these nodes (and ends the one before).
  void begin(std::string_view rule, std::span<const Node* const> nodes);
  void begin(std::string_view rule, std::initializer_list<const Node*> nodes) {
    begin(rule, std::span(nodes.begin(), nodes.size()));
  }

  // Whether replace(old, with) leaves `old` without uses. It does not when `old` is a graph output and `with` cannot
  // take that place: an input, a capture, a constant, or an output with a name of its own. Ask before begin().
  static bool can_replace(const Value* old, const Value* with);
  // `with` holds the same elements as `old` and is read in its place from now on. As far as can_replace allows, it
  // becomes the graph output that `old` was, under the old name. Gaps in what is known of `with` are filled from `old`.
  // Must stand before all users of `old`. True when `old` has no uses left.
  bool replace(Value* old, Value* with);
  // replace() for output 0 of the node; erases the node when none of its outputs is used any more.
  bool bypass(Node* node, Value* with);

  // Like replace(), but where `with` cannot be the graph output, an Identity of it before `before` becomes it: `old`
  // has no uses afterwards. `opset` is that of the Identity.
  void replace_or_copy(Value* old, Value* with, Node* before, int opset);
  // A constant under the old name (graph outputs keep theirs: then it has a new one) is read by all nodes that read
  // `old`.
  Value* replace_by_constant(Value* old, Tensor tensor);

  // Moves the nodes of a body of `node` in front of it. Returns what stands for the body's outputs; the node stays,
  // with an empty shell of a body, and is to be erased. The body has no inputs (an If's branch).
  std::vector<Value*> inline_body(Node* node, Graph& body);

  // New nodes carry the origins of the nodes given to begin().
  Node* insert(std::string_view op_type, std::string_view domain, int opset, std::span<Value* const> inputs,
               std::span<const std::string_view> output_names, std::vector<Attr> attrs, Node* before,
               std::string_view name = {});
  Node* insert(std::string_view op_type, std::string_view domain, int opset, std::initializer_list<Value*> inputs,
               std::initializer_list<std::string_view> output_names, std::vector<Attr> attrs, Node* before,
               std::string_view name = {}) {
    return insert(op_type, domain, opset, std::span(inputs.begin(), inputs.size()),
                  std::span(output_names.begin(), output_names.size()), std::move(attrs), before, name);
  }
  Value* constant(std::string_view name, Tensor tensor) { return graph_.add_constant(name, std::move(tensor)); }

  void set_input(Node* node, int index, Value* value) { graph_.set_input(node, index, value); }
  void resize_inputs(Node* node, int count) { graph_.resize_inputs(node, count); }
  void set_attr(Node* node, std::string name, Attr::Data data) { node->set_attr(std::move(name), std::move(data)); }
  void remove_attr(Node* node, std::string_view name) { node->remove_attr(name); }
  void change_op(Node* node, std::string_view op_type, std::string_view domain, int opset) {
    graph_.change_op(node, op_type, domain, opset);
  }
  void move_before(Node* node, Node* before) { graph_.move_before(node, before); }

  // `into` stands for what `from` stood for, too.
  void absorb(Node* into, const Node* from);

  void erase(Node* node) { graph_.erase(node); }     // its outputs must be unused
  void erase(Value* value) { graph_.erase(value); }  // an unused constant
  bool erase_if_unused(Node* node);
  // Erases constants among these values (nulls allowed) that nothing uses.
  void erase_unused_constants(std::span<Value* const> values);

 private:
  Graph& graph_;
  std::string pass_;
  const Logger* log_;
  std::vector<std::string> origins_;
  int changes_ = 0;
};

}  // namespace trunnion::ir
