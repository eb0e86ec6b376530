// The model editor: types, values, nodes and graphs made by a client, and a session from them.
#include "abi/model_handles.h"
#include "abi/model_writer.h"
#include "abi/session_handle.h"
#include "abi/slots.h"
#include "base/mapped_file.h"

namespace trunnion::abi {
namespace {

OrtTypeInfo* wrap(Type type) { return make_type_info(type).release(); }

template <class T>
Status take(std::vector<std::unique_ptr<T>>& into, T** from, size_t count, const char* what) {
  if (count) TRN_REQUIRE(from);
  TRN_TRY(check_handles(from, count));
  for (size_t i = 0; i < count; ++i)
    if (!from[i]) return invalid_argument("{} {} is NULL", what, i);
  into.clear();
  into.reserve(count);
  for (size_t i = 0; i < count; ++i) into.emplace_back(from[i]);
  return {};
}

Result<std::vector<std::string>> names(const char* const* from, size_t count) {
  if (count) TRN_REQUIRE(from);
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) out.emplace_back(from[i] ? from[i] : "");
  return out;
}

}  // namespace

TABLE_FN(OrtModelEditorApi, CreateTensorTypeInfo,
         (const OrtTensorTypeAndShapeInfo* tensor_info, OrtTypeInfo** type_info)) {
  TRN_REQUIRE(tensor_info, type_info);
  auto info = std::make_unique<OrtTypeInfo>();
  info->type = ONNX_TYPE_TENSOR;
  info->tensor = std::make_shared<const OrtTensorTypeAndShapeInfo>(*tensor_info);
  *type_info = info.release();
  return {};
}

TABLE_FN(OrtModelEditorApi, CreateSparseTensorTypeInfo,
         (const OrtTensorTypeAndShapeInfo* tensor_info, OrtTypeInfo** type_info)) {
  TRN_TRY(OrtModelEditorApi_CreateTensorTypeInfo(tensor_info, type_info));
  (*type_info)->type = ONNX_TYPE_SPARSETENSOR;
  return {};
}

TABLE_FN(OrtModelEditorApi, CreateMapTypeInfo,
         (ONNXTensorElementDataType map_key_type, const OrtTypeInfo* map_value_type, OrtTypeInfo** type_info)) {
  TRN_REQUIRE(map_value_type, type_info);
  *type_info = wrap(Type::map(dtype_of(map_key_type), type_of(*map_value_type)));
  return {};
}

TABLE_FN(OrtModelEditorApi, CreateSequenceTypeInfo, (const OrtTypeInfo* sequence_type, OrtTypeInfo** type_info)) {
  TRN_REQUIRE(sequence_type, type_info);
  *type_info = wrap(Type::sequence(type_of(*sequence_type)));
  return {};
}

TABLE_FN(OrtModelEditorApi, CreateOptionalTypeInfo, (const OrtTypeInfo* contained_type, OrtTypeInfo** type_info)) {
  TRN_REQUIRE(contained_type, type_info);
  *type_info = wrap(Type::optional_of(type_of(*contained_type)));
  return {};
}

TABLE_FN(OrtModelEditorApi, CreateValueInfo,
         (const char* name, const OrtTypeInfo* type_info, OrtValueInfo** value_info)) {
  TRN_REQUIRE(name, type_info, value_info);
  if (!*name) return invalid_argument("CreateValueInfo: the name is empty");
  auto made = std::make_unique<OrtValueInfo>();
  made->name = name;
  made->type = *type_info;
  *value_info = made.release();
  return {};
}

// Takes the attributes over, like every function here that puts one object into another.
TABLE_FN(OrtModelEditorApi, CreateNode,
         (const char* operator_name, const char* domain_name, const char* node_name, const char* const* input_names,
          size_t input_names_len, const char* const* output_names, size_t output_names_len, OrtOpAttr** attributes,
          size_t attribs_len, OrtNode** node)) {
  TRN_REQUIRE(operator_name, node);
  if (attribs_len) TRN_REQUIRE(attributes);
  TRN_TRY(check_handles(attributes, attribs_len));
  auto made = std::make_unique<OrtNode>();
  made->op_type = operator_name;
  made->domain = domain_name ? domain_name : "";
  made->name = node_name ? node_name : "";
  TRN_ASSIGN(made->inputs, names(input_names, input_names_len));
  TRN_ASSIGN(made->outputs, names(output_names, output_names_len));
  for (size_t i = 0; i < attribs_len; ++i) {
    if (!attributes[i]) return invalid_argument("CreateNode: attribute {} is NULL", i);
    made->attributes.push_back(std::make_shared<const OrtOpAttr>(*attributes[i]));
  }
  for (size_t i = 0; i < attribs_len; ++i) delete attributes[i];
  *node = made.release();
  return {};
}

TABLE_FN(OrtModelEditorApi, CreateGraph, (OrtGraph * *graph)) {
  TRN_REQUIRE(graph);
  *graph = new OrtGraph;
  return {};
}

TABLE_FN(OrtModelEditorApi, SetGraphInputs, (OrtGraph * graph, OrtValueInfo** inputs, size_t inputs_len)) {
  TRN_REQUIRE(graph);
  graph->linked = false;
  return take(graph->inputs, inputs, inputs_len, "input");
}

TABLE_FN(OrtModelEditorApi, SetGraphOutputs, (OrtGraph * graph, OrtValueInfo** outputs, size_t outputs_len)) {
  TRN_REQUIRE(graph);
  graph->linked = false;
  return take(graph->outputs, outputs, outputs_len, "output");
}

TABLE_FN(OrtModelEditorApi, AddInitializerToGraph, (OrtGraph * graph, const char* name, OrtValue* tensor, bool)) {
  TRN_REQUIRE(graph, name, tensor);
  TRN_TRY(host_tensor(*tensor));
  const auto [it, added] = graph->initializers.try_emplace(name);
  if (!added) return invalid_argument("AddInitializerToGraph: '{}' was added before", name);
  it->second.reset(tensor);
  graph->linked = false;
  return {};
}

TABLE_FN(OrtModelEditorApi, AddNodeToGraph, (OrtGraph * graph, OrtNode* node)) {
  TRN_REQUIRE(graph, node);
  graph->nodes.reserve(graph->nodes.size() + 1);
  node->id = graph->nodes.size();
  graph->nodes.emplace_back(node);
  graph->linked = false;
  return {};
}

TABLE_FN(OrtModelEditorApi, CreateModel,
         (const char* const* domain_names, const int* opset_versions, size_t opset_entries_len, OrtModel** model)) {
  TRN_REQUIRE(model);
  if (opset_entries_len) TRN_REQUIRE(domain_names, opset_versions);
  auto made = std::make_unique<OrtModel>();
  for (size_t i = 0; i < opset_entries_len; ++i)
    made->opsets.emplace_back(domain_names[i] ? domain_names[i] : "", opset_versions[i]);
  *model = made.release();
  return {};
}

TABLE_FN(OrtModelEditorApi, AddGraphToModel, (OrtModel * model, OrtGraph* graph)) {
  TRN_REQUIRE(model, graph);
  model->graph.reset(graph);
  graph->opsets = model->opsets;
  graph->linked = false;
  return {};
}

TABLE_FN(OrtModelEditorApi, CreateSessionFromModel,
         (const OrtEnv* env, const OrtModel* model, const OrtSessionOptions* options, OrtSession** out)) {
  TRN_REQUIRE(env, model, out);
  if (!model->graph) return invalid_argument("CreateSessionFromModel: the model has no graph");
  TRN_ASSIGN(const auto bytes, model_bytes(*model));
  return create_session(*env, {{}, bytes, nullptr}, options, out);
}

// A session of a model that a client adds to. The model must be whole as it stands; what is added takes effect when
// the session is finalized, which loads it anew.
TABLE_FN(OrtModelEditorApi, CreateModelEditorSession,
         (const OrtEnv* env, const ORTCHAR_T* model_path, const OrtSessionOptions* options, OrtSession** out)) {
  TRN_REQUIRE(env, model_path, out);
  TRN_ASSIGN(const auto file, MappedFile::open(model_path, OpenMode::copy));
  TRN_TRY(create_session(*env, {model_path, {}, nullptr}, options, out));
  const auto bytes = file->bytes();
  (*out)->editing = std::make_unique<OrtSession::Editing>(
      OrtSession::Editing{*env, model_path, std::vector<std::byte>(bytes.begin(), bytes.end()), false});
  return {};
}

TABLE_FN(OrtModelEditorApi, CreateModelEditorSessionFromArray,
         (const OrtEnv* env, const void* model_data, size_t model_data_length, const OrtSessionOptions* options,
          OrtSession** out)) {
  TRN_REQUIRE(env, model_data, out);
  const std::span bytes(static_cast<const std::byte*>(model_data), model_data_length);
  TRN_TRY(create_session(*env, {{}, bytes, nullptr}, options, out));
  (*out)->editing = std::make_unique<OrtSession::Editing>(
      OrtSession::Editing{*env, {}, std::vector<std::byte>(bytes.begin(), bytes.end()), false});
  return {};
}

TABLE_FN(OrtModelEditorApi, ApplyModelToModelEditorSession, (OrtSession * session, OrtModel* model)) {
  TRN_REQUIRE(session, model);
  if (!session->editing) return invalid_argument("the session was not made for editing, or was finalized");
  if (!model->graph) return invalid_argument("ApplyModelToModelEditorSession: the model has no graph");
  TRN_ASSIGN(session->editing->bytes, augmented_model(session->editing->bytes, *model));
  session->editing->changed = true;
  return {};
}

TABLE_FN(OrtModelEditorApi, FinalizeModelEditorSession,
         (OrtSession * session, const OrtSessionOptions* options, OrtPrepackedWeightsContainer*)) {
  TRN_REQUIRE(session);
  if (!session->editing) return invalid_argument("the session was not made for editing, or was finalized");
  if (session->editing->changed) {
    const auto& editing = *session->editing;
    OrtSessionOptions again = options ? *options : OrtSessionOptions{session->session->options()};
    const auto slash = editing.path.find_last_of('/');
    if (!editing.path.empty())  // where the weights beside the file lie
      again.options.config.try_emplace("session.model_external_initializers_file_folder_path",
                                       slash == std::string::npos ? "." : editing.path.substr(0, slash + 1));
    OrtSession* made = nullptr;
    TRN_TRY(create_session(editing.env, {{}, editing.bytes, nullptr}, &again, &made));
    session->session = std::move(made->session);
    delete made;
  }
  session->editing.reset();
  return {};
}

TABLE_FN(OrtModelEditorApi, SessionGetOpsetForDomain, (const OrtSession* session, const char* domain, int* opset)) {
  TRN_REQUIRE(session, domain, opset);
  const std::string_view key = std::string_view(domain) == "ai.onnx" ? "" : domain;
  const auto& imports = session->session->model().opset_imports;
  const auto it = imports.find(std::string(key));
  if (it == imports.end()) return error(Code::fail, "the model does not use the domain '{}'", domain);
  *opset = it->second;
  return {};
}

ORT_FN_AS(void, ReleaseValueInfo, (OrtValueInfo * value_info)) { delete value_info; }
ORT_FN_AS(void, ReleaseNode, (OrtNode * node)) { delete node; }
ORT_FN_AS(void, ReleaseGraph, (OrtGraph * graph)) { delete graph; }
ORT_FN_AS(void, ReleaseModel, (OrtModel * model)) { delete model; }

ORT_FN(GetValueInfoName, (const OrtValueInfo* value_info, const char** name)) {
  TRN_REQUIRE(value_info, name);
  *name = value_info->name.c_str();
  return {};
}

ORT_FN(GetValueInfoTypeInfo, (const OrtValueInfo* value_info, const OrtTypeInfo** type_info)) {
  TRN_REQUIRE(value_info, type_info);
  *type_info = &value_info->type;
  return {};
}

}  // namespace trunnion::abi
