#include "session/inspect.h"

#include <map>

#include "base/error.h"
#include "ir/inline.h"
#include "ops/catalog.h"
#include "plan/node_cost.h"
#include "session/json.h"

namespace trunnion::session {
namespace {

std::string port_json(const std::string& name, const Type& type) {
  return fmt::format("{{\"name\":{},\"type\":{},\"shape\":{}}}", json_text(name), json_text(type.text()),
                     json_shape(type));
}

Dim count_of(const ir::Value* v) { return v && v->fact.has_rank() ? element_count(v->fact.shape()) : Dim(); }

struct Totals {
  std::map<std::pair<std::string, std::string>, int64_t> operators;
  int64_t nodes = 0, parameters = 0, parameter_bytes = 0;
  Dim flops = 0, activation_bytes = 0;
  std::vector<std::string> problems;
};

void visit(ir::Graph& graph, Totals& t, bool shapes) {
  graph.for_each_value([&](ir::Value* v) {
    if (!v->constant().valid()) return;
    t.parameters += v->constant().count();
    t.parameter_bytes += static_cast<int64_t>(v->constant().bytes());
  });
  for (ir::Node* n = graph.first(); n; n = n->next()) {
    ++t.nodes;
    ++t.operators[{n->domain(), n->op_type()}];
    if (const Tensor* value = n->op_type() == "Constant" ? n->tensor_attr("value") : nullptr; value && value->valid()) {
      t.parameters += value->count();
      t.parameter_bytes += static_cast<int64_t>(value->bytes());
      continue;
    }
    for (ir::Graph* body : n->bodies()) visit(*body, t, shapes);
    if (!n->def || !n->def->flags.control_flow) {
      if (n->schema || n->def)
        if (auto s = ops::can_run(*n); !s.ok()) t.problems.push_back(s.message());
    }
    if (!shapes) continue;
    t.flops = t.flops + plan::node_cost(*n).flops;
    for (const ir::Value* v : n->outputs())
      if (v && v->fact.type.is_tensor())
        t.activation_bytes = t.activation_bytes + count_of(v) * Dim(static_cast<int64_t>(size_of(v->fact.dtype())));
  }
}

}  // namespace

Result<std::string> inspect_model(const Environment& environment, const std::string& path, const Options& options) {
  TRN_ASSIGN(auto model, Session::read_model(environment, path, options));
  Totals t;
  if (auto s = ir::inline_functions(*model); !s.ok()) t.problems.push_back(s.message());
  ir::Graph& graph = *model->graph;
  graph.for_each_node_deep([&](ir::Node* n) {
    if (auto s = ops::resolve(*n); !s.ok()) t.problems.push_back(s.message());
  });
  // A free dimension of an input without a name is called input.axis, so that what follows from it can be said.
  for (ir::Value* v : graph.inputs()) {
    if (!v->fact.has_rank()) continue;
    for (int axis = 0; axis < v->fact.rank(); ++axis) {
      Dim& d = (*v->fact.type.shape)[axis];
      if (!d.is_unknown()) continue;
      d = Dim::symbol(fmt::format("{}.{}", v->name(), axis));
    }
  }
  if (graph.outputs().empty()) t.problems.push_back("the graph has no outputs: there is nothing to run it for");
  bool shapes = t.problems.empty();
  if (shapes)
    if (auto s = ops::infer(graph); !s.ok()) {
      t.problems.push_back(s.message());
      shapes = false;
    }
  visit(graph, t, shapes);

  std::string opsets, metadata;
  for (const auto& [domain, version] : model->opset_imports)
    opsets +=
        fmt::format("{}{}:{}", opsets.empty() ? "" : ",", json_text(domain.empty() ? "ai.onnx" : domain), version);
  for (const auto& [key, value] : model->metadata)
    metadata += fmt::format("{}{}:{}", metadata.empty() ? "" : ",", json_text(key), json_text(value));
  std::vector<const ir::Value*> inputs;
  for (const ir::Value* v : graph.inputs())
    if (!v->constant().valid()) inputs.push_back(v);
  const auto port = [](const ir::Value* v) { return port_json(v->name(), v->fact.type); };
  return fmt::format(
      "{{\"path\":{},\"ir_version\":{},\"producer\":{},\"producer_version\":{},\"graph\":{},\"opsets\":{{{}}},"
      "\"metadata\":{{{}}},"
      "\"inputs\":{},\"outputs\":{},\"nodes\":{},\"operators\":{},\"parameters\":{},\"parameter_bytes\":{},\"flops\":{}"
      ",\"activation_bytes\":{},\"problems\":{}}}",
      json_text(path), model->ir_version, json_text(model->producer_name), json_text(model->producer_version),
      json_text(graph.name), opsets, metadata, json_list(inputs, port), json_list(graph.outputs(), port), t.nodes,
      json_list(t.operators,
                [](const auto& o) {
                  return fmt::format("{{\"domain\":{},\"op\":{},\"count\":{}}}", json_text(o.first.first),
                                     json_text(o.first.second), o.second);
                }),
      t.parameters, t.parameter_bytes, json_text(t.flops.text()), json_text(t.activation_bytes.text()),
      json_list(t.problems, json_text));
}

}  // namespace trunnion::session
