// Node_* and ValueInfo_*: what a graph's nodes and values are and how they hang together.
#include <algorithm>

#include "abi/model_handles.h"
#include "abi/slots.h"
#include "schema/schema.h"

namespace trunnion::abi {
namespace {

template <class List, class T>
Status fill(const List& from, const char* what, T* to, size_t room) {
  if (room < from.size()) return invalid_argument("room for {} {}, there are {}", room, what, from.size());
  if (!from.empty()) TRN_REQUIRE(to);
  for (size_t i = 0; i < from.size(); ++i) to[i] = from[i];
  return {};
}

// Nodes are linked when their graph is read, which is how a client came by them; one that it made itself is in none.
Status in_graph(const OrtNode* node) {
  if (node->graph) return {};
  return invalid_argument("node '{}' is not part of a graph that was read", node->name);
}

}  // namespace

ORT_FN(Node_GetId, (const OrtNode* node, size_t* node_id)) {
  TRN_REQUIRE(node, node_id);
  *node_id = node->id;
  return {};
}

ORT_FN(Node_GetName, (const OrtNode* node, const char** node_name)) {
  TRN_REQUIRE(node, node_name);
  *node_name = node->name.c_str();
  return {};
}

ORT_FN(Node_GetOperatorType, (const OrtNode* node, const char** operator_type)) {
  TRN_REQUIRE(node, operator_type);
  *operator_type = node->op_type.c_str();
  return {};
}

ORT_FN(Node_GetDomain, (const OrtNode* node, const char** domain_name)) {
  TRN_REQUIRE(node, domain_name);
  *domain_name = node->domain.c_str();
  return {};
}

ORT_FN(Node_GetSinceVersion, (const OrtNode* node, int* since_version)) {
  TRN_REQUIRE(node, since_version);
  TRN_TRY(in_graph(node));
  *since_version = node->since;
  return {};
}

ORT_FN(Node_GetNumInputs, (const OrtNode* node, size_t* num_inputs)) {
  TRN_REQUIRE(node, num_inputs);
  *num_inputs = node->inputs.size();
  return {};
}

// NULL where an optional input is left out.
ORT_FN(Node_GetInputs, (const OrtNode* node, const OrtValueInfo** inputs, size_t num_inputs)) {
  TRN_REQUIRE(node);
  TRN_TRY(in_graph(node));
  return fill(node->input_infos, "inputs", inputs, num_inputs);
}

ORT_FN(Node_GetNumOutputs, (const OrtNode* node, size_t* num_outputs)) {
  TRN_REQUIRE(node, num_outputs);
  *num_outputs = node->outputs.size();
  return {};
}

ORT_FN(Node_GetOutputs, (const OrtNode* node, const OrtValueInfo** outputs, size_t num_outputs)) {
  TRN_REQUIRE(node);
  TRN_TRY(in_graph(node));
  return fill(node->output_infos, "outputs", outputs, num_outputs);
}

// What the bodies of the node read from the graph around them.
ORT_FN(Node_GetNumImplicitInputs, (const OrtNode* node, size_t* num_implicit_inputs)) {
  TRN_REQUIRE(node, num_implicit_inputs);
  *num_implicit_inputs = node->implicit_inputs.size();
  return {};
}

ORT_FN(Node_GetImplicitInputs,
       (const OrtNode* node, const OrtValueInfo** implicit_inputs, size_t num_implicit_inputs)) {
  TRN_REQUIRE(node);
  return fill(node->implicit_inputs, "implicit inputs", implicit_inputs, num_implicit_inputs);
}

ORT_FN(Node_GetNumAttributes, (const OrtNode* node, size_t* num_attributes)) {
  TRN_REQUIRE(node, num_attributes);
  *num_attributes = node->attributes.size();
  return {};
}

ORT_FN(Node_GetAttributes, (const OrtNode* node, const OrtOpAttr** attributes, size_t num_attributes)) {
  TRN_REQUIRE(node);
  std::vector<const OrtOpAttr*> all;
  for (const auto& a : node->attributes) all.push_back(a.get());
  return fill(all, "attributes", attributes, num_attributes);
}

// NULL for one that the operator has and the node does not set; NOT_FOUND for one that the operator does not have.
ORT_FN(Node_GetAttributeByName, (const OrtNode* node, const char* attribute_name, const OrtOpAttr** attribute)) {
  TRN_REQUIRE(node, attribute_name, attribute);
  *attribute = nullptr;
  for (const auto& a : node->attributes) {
    if (a->attr.name != attribute_name) continue;
    *attribute = a.get();
    return {};
  }
  const schema::Schema* s = schema::find(node->domain, node->op_type, node->since);
  if (s && s->attribute(attribute_name) && !s->attribute(attribute_name)->required) return {};
  return error(Code::not_found, "node '{}' has no attribute '{}'", node->name, attribute_name);
}

ORT_FN(Node_GetNumSubgraphs, (const OrtNode* node, size_t* num_subgraphs)) {
  TRN_REQUIRE(node, num_subgraphs);
  *num_subgraphs = node->bodies.size();
  return {};
}

ORT_FN(Node_GetSubgraphs,
       (const OrtNode* node, const OrtGraph** subgraphs, size_t num_subgraphs, const char** attribute_names)) {
  TRN_REQUIRE(node);
  std::vector<const OrtGraph*> graphs;
  for (const auto& [name, body] : node->bodies) graphs.push_back(body.get());
  TRN_TRY(fill(graphs, "subgraphs", subgraphs, num_subgraphs));
  for (size_t i = 0; attribute_names && i < node->bodies.size(); ++i)
    attribute_names[i] = node->bodies[i].first.c_str();
  return {};
}

// NULL for a node that is in no graph yet.
ORT_FN(Node_GetGraph, (const OrtNode* node, const OrtGraph** graph)) {
  TRN_REQUIRE(node, graph);
  *graph = node->graph;
  return {};
}

// Empty while no provider has taken the node; plugins make a string of it unseen.
ORT_FN(Node_GetEpName, (const OrtNode* node, const char** out)) {
  TRN_REQUIRE(node, out);
  *out = node->provider.c_str();
  return {};
}

// NULL for what no node gives: inputs and initializers.
ORT_FN(ValueInfo_GetValueProducer,
       (const OrtValueInfo* value_info, const OrtNode** producer_node, size_t* producer_output_index)) {
  TRN_REQUIRE(value_info, producer_node);
  *producer_node = value_info->producer;
  if (producer_output_index) *producer_output_index = value_info->producer_index;
  return {};
}

ORT_FN(ValueInfo_GetValueNumConsumers, (const OrtValueInfo* value_info, size_t* num_consumers)) {
  TRN_REQUIRE(value_info, num_consumers);
  *num_consumers = value_info->users.size();
  return {};
}

// A node that reads the value twice stands twice; index -1: a body of the node reads it.
ORT_FN(ValueInfo_GetValueConsumers,
       (const OrtValueInfo* value_info, const OrtNode** nodes, int64_t* input_indices, size_t num_consumers)) {
  TRN_REQUIRE(value_info);
  const auto& users = value_info->users;
  if (num_consumers < users.size())
    return invalid_argument("room for {} consumers, there are {}", num_consumers, users.size());
  if (!users.empty()) TRN_REQUIRE(nodes, input_indices);
  for (size_t i = 0; i < users.size(); ++i) {
    nodes[i] = users[i].first;
    input_indices[i] = users[i].second;
  }
  return {};
}

// NULL for a value that is no initializer: this is how plugins ask.
ORT_FN(ValueInfo_GetInitializerValue, (const OrtValueInfo* value_info, const OrtValue** initializer_value)) {
  TRN_REQUIRE(value_info, initializer_value);
  *initializer_value = value_info->initializer;
  return {};
}

// Initializers are in memory when a graph is read: none has a file.
ORT_FN(ValueInfo_GetExternalInitializerInfo, (const OrtValueInfo* value_info, OrtExternalInitializerInfo** info)) {
  TRN_REQUIRE(value_info, info);
  *info = nullptr;
  return {};
}

ORT_FN(ValueInfo_IsRequiredGraphInput, (const OrtValueInfo* value_info, bool* is_required_graph_input)) {
  TRN_REQUIRE(value_info, is_required_graph_input);
  *is_required_graph_input = value_info->input == OrtValueInfo::Input::required;
  return {};
}

ORT_FN(ValueInfo_IsOptionalGraphInput, (const OrtValueInfo* value_info, bool* is_optional_graph_input)) {
  TRN_REQUIRE(value_info, is_optional_graph_input);
  *is_optional_graph_input = value_info->input == OrtValueInfo::Input::optional;
  return {};
}

ORT_FN(ValueInfo_IsGraphOutput, (const OrtValueInfo* value_info, bool* is_graph_output)) {
  TRN_REQUIRE(value_info, is_graph_output);
  *is_graph_output = value_info->graph_output;
  return {};
}

ORT_FN(ValueInfo_IsConstantInitializer, (const OrtValueInfo* value_info, bool* is_constant_initializer)) {
  TRN_REQUIRE(value_info, is_constant_initializer);
  *is_constant_initializer = value_info->initializer && value_info->input == OrtValueInfo::Input::none;
  return {};
}

ORT_FN(ValueInfo_IsFromOuterScope, (const OrtValueInfo* value_info, bool* is_from_outer_scope)) {
  TRN_REQUIRE(value_info, is_from_outer_scope);
  *is_from_outer_scope = value_info->outer;
  return {};
}

}  // namespace trunnion::abi
