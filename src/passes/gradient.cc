// Gradient (ai.onnx.preview.training 1): reverse-mode differentiation of the graph that stands around the node.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "ops/catalog.h"
#include "passes/derivatives.h"

namespace trunnion::passes {
namespace {

using ir::Node;
using ir::Value;

class Differentiation {
 public:
  Differentiation(Node* node, const Logger* log)
      : node_(node), graph_(*node->graph()), rw_(graph_, "ExpandOperators", log), m_(rw_, node, opset_for(graph_)) {}

  Status run() {
    rw_.begin("Gradient", {node_});
    TRN_TRY(read());
    TRN_TRY(find_path());
    TRN_TRY(substitute());
    TRN_TRY(go_back());
    for (size_t i = 0; i < xs_.size() && i < node_->outputs().size(); ++i) {
      Value* out = node_->output(static_cast<int>(i));
      if (!out) continue;
      const auto it = gradients_.find(xs_[i]);
      Value* g = it == gradients_.end() ? filled_like(m_, xs_[i], 0) : it->second;
      if (!out->unused()) rw_.replace_or_copy(out, g, node_, m_.opset());
    }
    rw_.erase(node_);
    return {};
  }

 private:
  Result<Value*> named(const std::string& name, const char* attribute) {
    if (Value* v = graph_.find(name)) return v;
    return invalid_graph("{}: attribute {} names '{}', which is no value of the graph that the node is in",
                         node_->label(), attribute, name);
  }

  Status read() {
    for (const char* attribute : {"xs", "zs"})
      for (const auto& name : node_->strings(attribute)) {
        TRN_ASSIGN(Value * v, named(name, attribute));
        (std::string_view(attribute) == "xs" ? xs_ : zs_).push_back(v);
      }
    TRN_ASSIGN(y_, named(node_->attr("y", ""), "y"));
    if (node_->inputs().size() != xs_.size() + zs_.size() || node_->outputs().size() > xs_.size())
      return invalid_graph("{}: it has {} inputs and {} outputs; xs and zs name {} and {} values", node_->label(),
                           node_->inputs().size(), node_->outputs().size(), xs_.size(), zs_.size());
    if (!kFloats.has(y_->fact.dtype())) return no_float(y_);
    for (const Value* x : xs_)
      if (!kFloats.has(x->fact.dtype())) return no_float(x);
    return {};
  }

  Status no_float(const Value* v) const {
    return invalid_argument("{}: '{}' has type {}, needs a float type", node_->label(), v->name(), v->fact.type.text());
  }

  bool is_leaf(const Value* v) const {
    return std::find(xs_.begin(), xs_.end(), v) != xs_.end() || std::find(zs_.begin(), zs_.end(), v) != zs_.end();
  }

  // What a node reads, in bodies too.
  template <class F>
  static void read_of(const Node* n, F&& fn) {
    for (Value* v : n->inputs())
      if (v) fn(v);
    for (const ir::Graph* body : n->bodies())
      for (const auto& c : body->captures()) fn(c.outer);
  }

  // The nodes between the variables and y, in order. Those behind the Gradient are moved in front of it.
  Status find_path() {
    std::vector<Value*> open{y_};
    while (!open.empty()) {
      Value* v = open.back();
      open.pop_back();
      Node* n = v->producer();
      if (!n || is_leaf(v) || !ancestors_.insert(n).second) continue;
      read_of(n, [&](Value* input) { open.push_back(input); });
    }
    if (ancestors_.contains(node_))
      return invalid_graph("{}: '{}' depends on the node itself", node_->label(), y_->name());
    std::unordered_set<const Value*> active(xs_.begin(), xs_.end());
    std::vector<Node*> late;
    bool behind = false;
    for (Node* n = graph_.first(); n; n = n->next()) {
      behind |= n == node_;
      if (!ancestors_.contains(n)) continue;
      if (behind) late.push_back(n);
      bool depends = false;
      read_of(n, [&](const Value* v) { depends |= active.contains(v); });
      if (!depends) continue;
      bool floating = false;
      for (const Value* v : n->outputs())
        if (v && !is_leaf(v) && (v->fact.dtype() == DType::undefined || is_float(v->fact.dtype()))) {
          active.insert(v);
          floating = true;
        }
      if (floating) path_.push_back(n);
    }
    for (Node* n : late) rw_.move_before(n, node_);
    return {};
  }

  // Where the node is fed other values than the named ones, the path is computed once more from those.
  Status substitute() {
    std::unordered_map<const Value*, Value*> with;
    for (size_t i = 0; i < xs_.size() + zs_.size(); ++i) {
      Value*& named = i < xs_.size() ? xs_[i] : zs_[i - xs_.size()];
      Value* given = node_->input(static_cast<int>(i));
      if (!given) return invalid_graph("{}: input {} is left out", node_->label(), i);
      if (given != named) with[named] = given;
      if (given != named) named = given;
    }
    if (with.empty()) return {};
    // What depends on a replaced value, also where no gradient flows.
    for (Node* n = graph_.first(); n != node_; n = n->next()) {
      if (!ancestors_.contains(n)) continue;
      bool depends = false;
      read_of(n, [&](const Value* v) { depends |= with.contains(v); });
      if (!depends) continue;
      if (!n->bodies().empty())
        return not_implemented("{}: it is fed other values than those that it names, and {} cannot be computed again",
                               node_->label(), n->label());
      std::vector<Value*> inputs;
      for (Value* v : n->inputs()) {
        const auto it = with.find(v);
        inputs.push_back(it == with.end() ? v : it->second);
      }
      std::vector<std::string_view> names;
      for (const Value* v : n->outputs()) names.push_back(v ? std::string_view(v->name()) : std::string_view());
      Node* copy = rw_.insert(n->op_type(), n->domain(), n->opset(), inputs, names,
                              std::vector<ir::Attr>(n->attrs().begin(), n->attrs().end()), node_);
      for (size_t k = 0; k < names.size(); ++k)
        if (n->output(static_cast<int>(k))) with[n->output(static_cast<int>(k))] = copy->output(static_cast<int>(k));
      if (const auto at = std::find(path_.begin(), path_.end(), n); at != path_.end()) *at = copy;
    }
    if (const auto it = with.find(y_); it != with.end()) y_ = it->second;
    TRN_TRY(ops::resolve(graph_));
    return ops::infer(graph_);
  }

  void add(Value* to, Value* g) {
    Value*& sum = gradients_[to];
    sum = sum ? m_.make("Add", {sum, g}) : g;
  }

  Status go_back() {
    std::unordered_set<const Value*> active(xs_.begin(), xs_.end());
    for (const Node* n : path_)
      for (const Value* v : n->outputs()) active.insert(v);
    add(y_, filled_like(m_, y_, 1));
    for (auto n = path_.rbegin(); n != path_.rend(); ++n) {
      std::vector<Value*> gradient;
      bool any = false;
      for (Value* v : (*n)->outputs()) {
        const auto it = v ? gradients_.find(v) : gradients_.end();
        gradient.push_back(it == gradients_.end() || (v != y_ && is_leaf(v)) ? nullptr : it->second);
        any |= gradient.back() != nullptr;
      }
      if (!any) continue;
      BackwardStep step{*n, gradient, {}, {}};
      for (const Value* v : (*n)->inputs()) step.wanted.push_back(v && active.contains(v));
      if (auto s = differentiate(m_, step); !s.ok()) return s.with_context(node_->label());
      for (size_t i = 0; i < step.inputs.size(); ++i)
        if (step.inputs[i] && step.wanted[i]) add((*n)->input(static_cast<int>(i)), step.inputs[i]);
    }
    return {};
  }

  Node* node_;
  ir::Graph& graph_;
  ir::Rewriter rw_;
  NodeMaker m_;
  std::vector<Value*> xs_, zs_;
  Value* y_ = nullptr;
  std::unordered_set<const Node*> ancestors_;  // of y, up to the variables
  std::vector<Node*> path_;                    // those that a gradient flows through, in order
  std::unordered_map<const Value*, Value*> gradients_;
};

}  // namespace

Status expand_gradient(ir::Node* node, const Logger* log) {
  TRN_TRY(Differentiation(node, log).run());
  return {};
}

}  // namespace trunnion::passes
