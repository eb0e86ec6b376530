// Names of a graph become pointers between its values and nodes.
#include <algorithm>
#include <set>

#include "abi/model_handles.h"
#include "base/error.h"
#include "schema/schema.h"

namespace trunnion::abi {
namespace {

class Linker {
 public:
  explicit Linker(OrtGraph& graph) : graph_(graph) {}

  void run() {
    graph_.initializer_infos.clear();
    for (auto* list : {&graph_.inputs, &graph_.outputs, &graph_.inner})
      for (const auto& v : *list) forget(*v);
    for (auto* list : {&graph_.inputs, &graph_.outputs, &graph_.inner})
      for (const auto& v : *list) by_name_.emplace(v->name, v.get());
    for (const auto& v : graph_.inputs)
      v->input = graph_.initializers.contains(v->name) ? OrtValueInfo::Input::optional : OrtValueInfo::Input::required;
    for (const auto& v : graph_.outputs) {
      v->graph_output = true;
      find(v->name)->graph_output = true;
    }
    for (const auto& [name, value] : graph_.initializers) {
      OrtValueInfo* info = find(name);
      info->initializer = value.get();
      if (info->type.type == ONNX_TYPE_UNKNOWN) info->type = *make_type_info(value->value.type());
      graph_.initializer_infos.push_back(info);
    }
    for (const auto& n : graph_.nodes) produce(*n);
    for (const auto& n : graph_.nodes) consume(*n);
    // An output that is an input or initializer too has two infos: both tell the same.
    for (const auto& v : graph_.outputs) {
      const OrtValueInfo* same = by_name_.at(v->name);
      if (same == v.get()) continue;
      v->input = same->input;
      v->initializer = same->initializer;
      v->users = same->users;
    }
    graph_.linked = true;
  }

 private:
  static void forget(OrtValueInfo& v) {
    v.producer = nullptr;
    v.producer_index = 0;
    v.users.clear();
    v.initializer = nullptr;
    v.input = OrtValueInfo::Input::none;
    v.graph_output = false;
  }

  OrtValueInfo* find(const std::string& name) {
    auto& info = by_name_[name];
    if (!info) {
      graph_.inner.push_back(std::make_unique<OrtValueInfo>());
      info = graph_.inner.back().get();
      info->name = name;
    }
    return info;
  }

  void produce(OrtNode& n) {
    n.graph = &graph_;
    int opset = 0;
    for (const auto& [domain, version] : graph_.opsets)
      if (schema::domain_text(domain) == schema::domain_text(n.domain)) opset = version;
    const schema::Schema* s = schema::find(n.domain, n.op_type, opset);
    n.since = s ? s->since : opset;
    n.output_infos.clear();
    for (size_t k = 0; k < n.outputs.size(); ++k) {
      OrtValueInfo* v = n.outputs[k].empty() ? nullptr : find(n.outputs[k]);
      n.output_infos.push_back(v);
      if (!v) continue;
      v->producer = &n;
      v->producer_index = k;
    }
  }

  void consume(OrtNode& n) {
    n.input_infos.clear();
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      OrtValueInfo* v = n.inputs[i].empty() ? nullptr : find(n.inputs[i]);
      n.input_infos.push_back(v);
      if (v) v->users.emplace_back(&n, static_cast<int64_t>(i));
    }
    n.implicit_inputs.clear();
    for (const auto& [attribute, body] : n.bodies) {
      link_graph(*body);
      body->parent = &n;
      for (const auto& v : body->inner) {
        if (!v->outer) continue;
        OrtValueInfo* here = find(v->name);
        if (std::ranges::find(n.implicit_inputs, here) != n.implicit_inputs.end()) continue;
        n.implicit_inputs.push_back(here);
        here->users.emplace_back(&n, -1);
      }
    }
  }

  OrtGraph& graph_;
  std::map<std::string, OrtValueInfo*> by_name_;
};

std::unique_ptr<OrtValueInfo> copy_info(const OrtValueInfo& from) {
  auto info = std::make_unique<OrtValueInfo>();
  info->name = from.name;
  info->type = from.type;
  return info;
}

}  // namespace

void link_graph(OrtGraph& graph) {
  if (!graph.linked) Linker(graph).run();
}

Result<std::unique_ptr<OrtGraph>> graph_view(const OrtGraph& graph, std::span<const OrtNode* const> nodes) {
  auto view = std::make_unique<OrtGraph>();
  view->name = graph.name;
  view->path = graph.path;
  view->ir_version = graph.ir_version;
  view->opsets = graph.opsets;
  view->parent = graph.parent;
  const std::set<const OrtNode*> inside(nodes.begin(), nodes.end());
  std::set<const OrtValueInfo*> seen;
  for (const OrtNode* n : nodes) {
    if (!n) return invalid_argument("a node of the view is NULL");
    if (n->graph != &graph) return invalid_argument("node '{}' is not one of the graph's", n->name);
    const auto read = [&](const OrtValueInfo* v) {
      if (!v || !seen.insert(v).second) return;
      if (v->initializer) {
        const auto it = graph.initializers.find(v->name);
        if (it != graph.initializers.end()) view->initializers.emplace(v->name, it->second);
        if (v->input == OrtValueInfo::Input::none) return;
      }
      if (!v->producer || !inside.contains(v->producer)) view->inputs.push_back(copy_info(*v));
    };
    for (const OrtValueInfo* v : n->input_infos) read(v);
    for (const OrtValueInfo* v : n->implicit_inputs) read(v);
    for (const OrtValueInfo* v : n->output_infos) {
      if (!v) continue;
      const bool left = std::ranges::any_of(v->users, [&](const auto& use) { return !inside.contains(use.first); });
      (v->graph_output || left ? view->outputs : view->inner).push_back(copy_info(*v));
    }
    auto copy = std::make_unique<OrtNode>(*n);
    view->nodes.push_back(std::move(copy));
  }
  link_graph(*view);
  return view;
}

}  // namespace trunnion::abi
