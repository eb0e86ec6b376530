// Graph_*: what a graph consists of. Lists are read in two calls: how many there are, then into the caller's array.
#include "abi/model_handles.h"
#include "abi/session_handle.h"
#include "abi/slots.h"
#include "schema/schema.h"

namespace trunnion::abi {
namespace {

// The pointers of a graph are made when it is first read.
const OrtGraph& linked(const OrtGraph* graph) {
  link_graph(*const_cast<OrtGraph*>(graph));
  return *graph;
}

template <class List, class T>
Status fill(const List& from, const char* what, T* to, size_t room) {
  if (room < from.size()) return invalid_argument("room for {} {}, there are {}", room, what, from.size());
  if (!from.empty()) TRN_REQUIRE(to);
  for (size_t i = 0; i < from.size(); ++i) to[i] = &*from[i];
  return {};
}

}  // namespace

ORT_FN(Graph_GetName, (const OrtGraph* graph, const char** graph_name)) {
  TRN_REQUIRE(graph, graph_name);
  *graph_name = graph->name.c_str();
  return {};
}

// Empty for a model that was never a file.
ORT_FN(Graph_GetModelPath, (const OrtGraph* graph, const ORTCHAR_T** model_path)) {
  TRN_REQUIRE(graph, model_path);
  *model_path = graph->path.c_str();
  return {};
}

ORT_FN(Graph_GetOnnxIRVersion, (const OrtGraph* graph, int64_t* onnx_ir_version)) {
  TRN_REQUIRE(graph, onnx_ir_version);
  *onnx_ir_version = graph->ir_version ? graph->ir_version : schema::max_ir_version();
  return {};
}

ORT_FN(Graph_GetNumOperatorSets, (const OrtGraph* graph, size_t* num_operator_sets)) {
  TRN_REQUIRE(graph, num_operator_sets);
  *num_operator_sets = graph->opsets.size();
  return {};
}

ORT_FN(Graph_GetOperatorSets,
       (const OrtGraph* graph, const char** domains, int64_t* opset_versions, size_t num_operator_sets)) {
  TRN_REQUIRE(graph, domains, opset_versions);
  if (num_operator_sets < graph->opsets.size())
    return invalid_argument("room for {} operator sets, there are {}", num_operator_sets, graph->opsets.size());
  for (size_t i = 0; i < graph->opsets.size(); ++i) {
    domains[i] = graph->opsets[i].first.c_str();
    opset_versions[i] = graph->opsets[i].second;
  }
  return {};
}

ORT_FN(Graph_GetNumInputs, (const OrtGraph* graph, size_t* num_inputs)) {
  TRN_REQUIRE(graph, num_inputs);
  *num_inputs = graph->inputs.size();
  return {};
}

ORT_FN(Graph_GetInputs, (const OrtGraph* graph, const OrtValueInfo** inputs, size_t num_inputs)) {
  TRN_REQUIRE(graph);
  return fill(linked(graph).inputs, "inputs", inputs, num_inputs);
}

ORT_FN(Graph_GetNumOutputs, (const OrtGraph* graph, size_t* num_outputs)) {
  TRN_REQUIRE(graph, num_outputs);
  *num_outputs = graph->outputs.size();
  return {};
}

ORT_FN(Graph_GetOutputs, (const OrtGraph* graph, const OrtValueInfo** outputs, size_t num_outputs)) {
  TRN_REQUIRE(graph);
  return fill(linked(graph).outputs, "outputs", outputs, num_outputs);
}

ORT_FN(Graph_GetNumInitializers, (const OrtGraph* graph, size_t* num_initializers)) {
  TRN_REQUIRE(graph, num_initializers);
  *num_initializers = graph->initializers.size();
  return {};
}

ORT_FN(Graph_GetInitializers, (const OrtGraph* graph, const OrtValueInfo** initializers, size_t num_initializers)) {
  TRN_REQUIRE(graph);
  return fill(linked(graph).initializer_infos, "initializers", initializers, num_initializers);
}

ORT_FN(Graph_GetNumNodes, (const OrtGraph* graph, size_t* num_nodes)) {
  TRN_REQUIRE(graph, num_nodes);
  *num_nodes = graph->nodes.size();
  return {};
}

ORT_FN(Graph_GetNodes, (const OrtGraph* graph, const OrtNode** nodes, size_t num_nodes)) {
  TRN_REQUIRE(graph);
  return fill(linked(graph).nodes, "nodes", nodes, num_nodes);
}

// NULL for the main graph.
ORT_FN(Graph_GetParentNode, (const OrtGraph* graph, const OrtNode** node)) {
  TRN_REQUIRE(graph, node);
  *node = graph->parent;
  return {};
}

ORT_FN(Graph_GetGraphView, (const OrtGraph* src_graph, const OrtNode** nodes, size_t num_nodes, OrtGraph** dst_graph)) {
  TRN_REQUIRE(src_graph, dst_graph);
  if (num_nodes) TRN_REQUIRE(nodes);
  TRN_ASSIGN(auto view, graph_view(linked(src_graph), {nodes, num_nodes}));
  *dst_graph = view.release();
  return {};
}

ORT_FN(Graph_GetModelMetadata, (const OrtGraph* graph, OrtModelMetadata** out)) {
  TRN_REQUIRE(graph, out);
  auto metadata = std::make_unique<OrtModelMetadata>();
  metadata->graph_name = graph->name;
  metadata->version = std::numeric_limits<int64_t>::max();
  *out = metadata.release();
  return {};
}

}  // namespace trunnion::abi
