#include "session/context_model.h"

#include <algorithm>

#include "base/error.h"
#include "base/os.h"
#include "onnx/exporter.h"
#include "plan/regions.h"

namespace trunnion::session {
namespace {

Result<std::string> target(const ir::Model& model, const Options& options) {
  std::string path(options.entry("ep.context_file_path").value_or(""));
  if (path.empty()) {
    if (model.path.empty())
      return invalid_argument("ep.context_enable is 1: a model from memory needs ep.context_file_path too");
    path = model.path.substr(0, model.path.find_last_of('.')) + "_ctx.onnx";
  }
  switch (os::file_kind(path)) {
    case os::FileKind::none:
      return path;
    case os::FileKind::directory:
      return invalid_argument("ep.context_file_path '{}' is a folder, not the name of a file", path);
    default:
      return error(Code::fail, "the file '{}' of the compiled model exists already; it is not written over", path);
  }
}

// The values of these names; those that the fused node has are enough.
Status find_values(const ir::Graph& graph, const std::vector<std::string>& names, std::vector<ir::Value*>& to) {
  for (const std::string& name : names) {
    ir::Value* v = name.empty() ? nullptr : graph.find(name);
    if (!v && !name.empty())
      return invalid_argument("a compiled node reads or gives '{}', which is no value of the model", name);
    to.push_back(v);
  }
  return {};
}

Status replace(ir::Graph& graph, ir::Node* fused, const ep::ContextNode& context) {
  ep::Region region{{fused}, false, {}, {}};
  TRN_TRY(find_values(graph, context.inputs, region.inputs));
  TRN_TRY(find_values(graph, context.outputs, region.outputs));
  for (const ir::Value* v : region.outputs)
    if (!v || v->producer() != fused)
      return invalid_argument("a compiled node gives '{}', which it was not asked for", v ? v->name() : "nothing");
  for (const ir::Value* v : fused->outputs())
    if (v && !v->unused() && std::find(region.outputs.begin(), region.outputs.end(), v) == region.outputs.end())
      return invalid_argument("a compiled node does not give '{}'", v->name());
  ir::Node* before = fused->prev();
  plan::fuse(graph, region, {context.op_type, nullptr, nullptr, nullptr}, context.domain);
  ir::Node* made = before ? before->next() : graph.first();
  graph.set_node_identity(made, context.name, "");
  for (const ir::Attr& a : context.attrs) made->set_attr(a.name, a.data);
  return {};
}

}  // namespace

Status write_context_model(const ir::Model& model, const plan::Placement& placement, const Options& options,
                           const Logger& logger) {
  if (placement.contexts.empty()) {
    if (options.context_model_sink) return {};
    TRN_LOG(logger, warning,
            "ep.context_enable is 1, but no provider gave anything for a file: no compiled model is written");
    return {};
  }
  std::string path;
  if (!options.context_model_sink) {
    TRN_ASSIGN(path, target(model, options));
  }
  ir::Model compiled;
  compiled.path = model.path;
  compiled.ir_version = model.ir_version;
  compiled.opset_imports = model.opset_imports;
  compiled.producer_name = model.producer_name;
  compiled.producer_version = model.producer_version;
  compiled.domain = model.domain;
  compiled.doc = model.doc;
  compiled.model_version = model.model_version;
  compiled.has_model_version = model.has_model_version;
  compiled.metadata = model.metadata;
  for (const auto& [provider, text] : placement.compatibility)
    compiled.metadata.emplace_back("ep_compatibility_info." + provider, text);
  compiled.graph = model.graph->clone();
  ir::Graph& graph = *compiled.graph;
  for (ir::Node* n = graph.first(); n;) {
    ir::Node* next = n->next();
    if (const auto it = placement.contexts.find(n->name()); it != placement.contexts.end()) {
      TRN_TRY(replace(graph, n, *it->second));
      compiled.opset_imports.try_emplace(it->second->domain, 1);
    } else if (std::find(placement.providers.begin(), placement.providers.end(), n->domain()) !=
               placement.providers.end()) {
      return not_implemented("{} gave nothing for a file for the nodes around '{}'", n->domain(),
                             n->origins.empty() ? n->name() : n->origins.front());
    }
    n = next;
  }
  std::vector<ir::Value*> unused;  // weights that only compiled nodes read
  graph.for_each_value([&](ir::Value* v) {
    if (v->is_constant() && v->unused()) unused.push_back(v);
  });
  for (ir::Value* v : unused) graph.erase(v);
  if (options.context_model_sink) return options.context_model_sink(compiled);
  TRN_TRY(onnx::export_model(compiled, path));
  TRN_LOG(logger, info, "the compiled model is written to '{}'", path);
  return {};
}

}  // namespace trunnion::session
