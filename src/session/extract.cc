#include "session/extract.h"

#include <algorithm>
#include <vector>

#include "base/edit_distance.h"
#include "base/error.h"
#include "ir/inline.h"
#include "onnx/exporter.h"
#include "ops/catalog.h"
#include "session/json.h"
#include "session/session.h"

namespace trunnion::session {
namespace {

Result<std::shared_ptr<ir::Model>> known_model(const Environment& environment, const std::string& path,
                                               const Options& options) {
  TRN_ASSIGN(auto model, Session::read_model(environment, path, options));
  TRN_TRY(ir::inline_functions(*model));
  if (options.custom_operators) TRN_TRY(options.custom_operators->bind(*model->graph));
  TRN_TRY(ops::resolve(*model->graph));
  TRN_TRY(ops::infer(*model->graph));
  return model;
}

// Names of the values of the graph that a node reads, by its bodies too.
void add_reads(const ir::Node& n, std::vector<const ir::Value*>& reads) {
  const auto add = [&](const ir::Value* v) {
    if (v && !v->is_constant() && std::ranges::find(reads, v) == reads.end()) reads.push_back(v);
  };
  for (const ir::Value* v : n.inputs()) add(v);
  for (const ir::Graph* body : n.bodies())
    for (const auto& c : body->captures()) add(c.outer);
}

Result<ir::Value*> find(const ir::Graph& graph, const std::string& name) {
  if (ir::Value* v = graph.find(name)) return v;
  std::vector<std::string_view> names;
  graph.for_each_value([&](ir::Value* v) { names.push_back(v->name()); });
  return invalid_argument("the model's graph has no value '{}'{}", name, did_you_mean(name, names));
}

// A value becomes an input of the graph, under its name. What made it is left without users.
void cut_at(ir::Graph& graph, ir::Value* v) {
  if (!v->producer()) return;
  const std::string name = v->name();
  graph.rename(v, name + ".cut");
  ir::Value* in = graph.add_input(name, v->fact);
  graph.replace_uses(v, in);
}

void drop_unused(ir::Graph& graph) {
  for (ir::Node* n = graph.last(); n;) {
    ir::Node* before = n->prev();
    if (std::ranges::all_of(n->outputs(), [](const ir::Value* v) { return !v || v->unused(); })) graph.erase(n);
    n = before;
  }
}

}  // namespace

Result<std::string> model_nodes_json(const Environment& environment, const std::string& path, const Options& options) {
  TRN_ASSIGN(auto model, known_model(environment, path, options));
  std::string nodes;
  for (const ir::Node* n = model->graph->first(); n; n = n->next()) {
    std::vector<const ir::Value*> reads;
    add_reads(*n, reads);
    std::string inputs, outputs;
    for (const ir::Value* v : reads) inputs += (inputs.empty() ? "" : ",") + json_text(v->name());
    for (const ir::Value* v : n->outputs())
      if (v)
        outputs += fmt::format("{}{{\"name\":{},\"type\":{}}}", outputs.empty() ? "" : ",", json_text(v->name()),
                               json_text(v->fact.type.text()));
    nodes += fmt::format("{}{{\"label\":{},\"name\":{},\"op_type\":{},\"domain\":{},\"inputs\":[{}],\"outputs\":[{}]}}",
                         nodes.empty() ? "" : ",\n", json_text(n->label()), json_text(n->name()),
                         json_text(n->op_type()), json_text(n->domain()), inputs, outputs);
  }
  return "[" + nodes + "]";
}

Status extract_model(const Environment& environment, const std::string& path, const Options& options,
                     std::span<const std::string> inputs, std::span<const std::string> outputs, const std::string& to) {
  TRN_ASSIGN(auto model, known_model(environment, path, options));
  ir::Graph& graph = *model->graph;
  if (outputs.empty()) return invalid_argument("a part of a model needs at least one output");
  std::vector<ir::Value*> wanted;
  for (const std::string& name : outputs) {
    TRN_ASSIGN(ir::Value * v, find(graph, name));
    if (std::ranges::find(wanted, v) == wanted.end()) wanted.push_back(v);
  }
  while (!graph.outputs().empty()) graph.remove_output(static_cast<int>(graph.outputs().size()) - 1);
  for (ir::Value* v : wanted) graph.add_output(v);
  for (const std::string& name : inputs) {
    TRN_ASSIGN(ir::Value * v, find(graph, name));
    if (std::ranges::find(wanted, v) != wanted.end() && v->producer()) {  // an output: it has to be computed still
      if (v->users().empty()) continue;
      return invalid_argument("'{}' cannot be both an input and an output of a part", name);
    }
    cut_at(graph, v);
  }
  drop_unused(graph);
  for (int i = static_cast<int>(graph.inputs().size()) - 1; i >= 0; --i) {
    const ir::Value* v = graph.inputs()[static_cast<size_t>(i)];
    const bool named = inputs.empty() || std::ranges::find(inputs, v->name()) != inputs.end();
    if (v->unused() && !(named && inputs.empty()))
      graph.remove_input(i);
    else if (!named && !v->constant().valid())
      return invalid_argument("the part from {} to {} needs '{}' too", fmt::join(inputs, ", "),
                              fmt::join(outputs, ", "), v->name());
  }
  return onnx::export_model(*model, to);
}

}  // namespace trunnion::session
