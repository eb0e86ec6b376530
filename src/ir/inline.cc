#include "ir/inline.h"

#include <unordered_map>

#include "base/error.h"

namespace trunnion::ir {
namespace {

using Index = std::unordered_map<std::string, const Function*>;

std::string key(std::string_view domain, std::string_view name, std::string_view overload) {
  return fmt::format("{}:{}:{}", domain, name, overload);
}
std::string key(const Node& n) { return key(n.domain(), n.op_type(), n.overload()); }

// Depth-first over calls; `state` is 1 while a function is on the path.
Status check_cycles(const Function& f, const Index& index, std::unordered_map<const Function*, int>& state,
                    int depth = 0) {
  constexpr int kMaxDepth = 1000;  // of calls; beyond, the walk itself would need too much stack
  if (depth > kMaxDepth)
    return invalid_graph("function '{}' of domain '{}' stands at the end of more than {} nested calls", f.name,
                         f.domain, kMaxDepth);
  if (state[&f] == 2) return {};
  if (state[&f] == 1)
    return invalid_graph("function '{}' of domain '{}' calls itself: recursive functions are not allowed", f.name,
                         f.domain);
  state[&f] = 1;
  Status status;
  f.body->for_each_node_deep([&](Node* n) {
    const auto it = index.find(key(*n));
    if (status.ok() && it != index.end()) status = check_cycles(*it->second, index, state, depth + 1);
  });
  state[&f] = 2;
  return status;
}

// Attributes that refer to attributes of the function get the call's value or the function's default; else they go.
Status bind_attributes(Graph& body, const Node& call, const Function& f) {
  Status status;
  body.for_each_node_deep([&](Node* n) {
    std::vector<Attr> attrs(n->attrs().begin(), n->attrs().end());
    for (const auto& a : attrs) {
      if (a.ref.empty()) continue;
      const Attr* value = call.find_attr(a.ref);
      if (!value)
        for (const auto& d : f.attribute_defaults)
          if (d.name == a.ref) value = &d;
      if (const auto* graph = value ? value->get<std::shared_ptr<Graph>>() : nullptr) {
        if (!(*graph)->captures().empty()) {
          status = not_implemented("attribute '{}' hands a graph that reads outer values to a function", a.ref);
          return;
        }
        n->set_attr(a.name, std::shared_ptr<Graph>((*graph)->clone()));  // every node owns its bodies
        n->bodies().back()->set_owner(n);
      } else if (value && value->type() != AttrType::undefined)
        n->set_attr(a.name, value->data);
      else
        n->remove_attr(a.name);
    }
  });
  return status;
}

// An input that the call leaves out may not be read inside a body of the function: there it would have to be absent
// too.
Status check_absent_captures(const Graph& body, const Node& call) {
  for (const Node* n = body.first(); n; n = n->next())
    for (const Graph* inner : n->bodies())
      for (const auto& c : inner->captures())
        for (size_t i = 0; i < body.inputs().size(); ++i)
          if (c.outer == body.inputs()[i] && !call.input(static_cast<int>(i)))
            return invalid_graph("{}: input {} of the function is left out, but {} reads it in a body", call.label(), i,
                                 n->label());
  return {};
}

class Inliner {
 public:
  Inliner(const Index& index, const InlineLimits& limits) : index_(index), limits_(limits) {}

  Status run(Graph& g) {
    for (Node* n = g.first(); n;) {
      for (Graph* body : n->bodies()) TRN_TRY(run(*body));
      const auto it = index_.find(key(*n));
      if (it == index_.end()) {
        n = n->next();
        continue;
      }
      const Function& f = *it->second;
      if (n->inputs().size() > f.body->inputs().size() || n->outputs().size() > f.body->outputs().size())
        return invalid_graph("{}: the call has {} inputs and {} outputs, the function takes {} and gives {}",
                             n->label(), n->inputs().size(), n->outputs().size(), f.body->inputs().size(),
                             f.body->outputs().size());
      for (const auto& name : f.attribute_names)
        if (!n->find_attr(name)) return invalid_graph("{}: the function's attribute '{}' is missing", n->label(), name);
      nodes_ += f.body->node_count();
      if (nodes_ > limits_.nodes)
        return error(Code::fail, "{}: expanding the model's functions gives more than {} nodes", n->label(),
                     limits_.nodes);
      auto body = f.body->clone();
      TRN_TRY(bind_attributes(*body, *n, f));
      TRN_TRY(check_absent_captures(*body, *n));
      Node* before = n->prev();
      const auto results = g.splice(std::move(body), n->inputs(), n);
      for (Node* m = before ? before->next() : g.first(); m != n; m = m->next()) m->origins = n->origins;
      for (size_t k = 0; k < n->outputs().size(); ++k) {
        Value* old = n->output(static_cast<int>(k));
        if (!old) continue;
        if (!results[k])
          return invalid_graph("{}: output {} of the function is an input that the call leaves out", n->label(), k);
        const std::string name = old->name();
        Value* result = results[k];
        if (old->output_uses() > 0 && (!result->producer() || result->output_uses() > 0)) {
          // Handed through, or an output already: outputs keep the names that callers know by a copy.
          const std::string_view copy = name;
          const auto opset = f.opset_imports.find("");
          result = g.add_node("Identity", "", opset == f.opset_imports.end() ? 1 : opset->second, std::span(&result, 1),
                              std::span(&copy, 1), {}, n)
                       ->output(0);
          result->fact = old->fact;
        }
        g.replace_uses(old, result);
        if (result->producer() && old->output_uses() == 0 && result->output_uses() > 0) {
          g.rename(old, name + "_call");
          g.rename(result, name);  // outputs keep the names that callers know
        }
      }
      Node* first = before ? before->next() : g.first();
      Node* next = n->next();
      g.erase(n);
      n = first == n ? next : first;  // the body's nodes may be calls themselves
    }
    return {};
  }

 private:
  const Index& index_;
  const InlineLimits& limits_;
  int64_t nodes_ = 0;
};

}  // namespace

Status inline_functions(Model& model, const InlineLimits& limits) {
  if (model.functions.empty()) return {};
  Index index;
  for (const auto& f : model.functions) index.emplace(key(f.domain, f.name, f.overload), &f);
  std::unordered_map<const Function*, int> state;
  for (const auto& f : model.functions) TRN_TRY(check_cycles(f, index, state));
  return Inliner(index, limits).run(*model.graph);
}

}  // namespace trunnion::ir
