#include "engine.h"

#include <cstdio>

#include "failure.h"

namespace trunnion::cli {
namespace {

OrtAllocator* allocator() {
  OrtAllocator* a = nullptr;
  check(ort().GetAllocatorWithDefaultOptions(&a));
  return a;
}

std::string take(char* text) {
  std::string copy(text ? text : "");
  if (text) allocator()->Free(allocator(), text);
  return copy;
}

void log(void*, OrtLoggingLevel severity, const char*, const char*, const char*, const char* message) {
  if (severity >= ORT_LOGGING_LEVEL_ERROR) return;
  std::fprintf(stderr, "trunnion: %s: %s\n", severity == ORT_LOGGING_LEVEL_WARNING ? "warning" : "info",
               one_line(message).c_str());
}

ValueType describe(const OrtTypeInfo* info);

ValueType take_type(OrtTypeInfo* info) {
  const std::unique_ptr<OrtTypeInfo, void (*)(OrtTypeInfo*)> owner(info, ort().ReleaseTypeInfo);
  return describe(info);
}

void describe_tensor(const OrtTypeInfo* info, ValueType& type) {
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  check(ort().CastTypeInfoToTensorInfo(info, &tensor));
  if (!tensor) return;
  check(ort().GetTensorElementType(tensor, &type.element));
  type.has_shape = ort().TensorTypeAndShape_HasShape(tensor);
  if (!type.has_shape) return;
  size_t rank = 0;
  check(ort().GetDimensionsCount(tensor, &rank));
  type.shape.resize(rank);
  std::vector<const char*> symbols(rank);
  check(ort().GetDimensions(tensor, type.shape.data(), rank));
  check(ort().GetSymbolicDimensions(tensor, symbols.data(), rank));
  for (const char* symbol : symbols) type.symbols.emplace_back(symbol ? symbol : "");
}

ValueType describe(const OrtTypeInfo* info) {
  ValueType type;
  check(ort().GetOnnxTypeFromTypeInfo(info, &type.kind));
  OrtTypeInfo* inside = nullptr;
  if (type.kind == ONNX_TYPE_TENSOR || type.kind == ONNX_TYPE_SPARSETENSOR) {
    describe_tensor(info, type);
  } else if (type.kind == ONNX_TYPE_SEQUENCE) {
    const OrtSequenceTypeInfo* sequence = nullptr;
    check(ort().CastTypeInfoToSequenceTypeInfo(info, &sequence));
    check(ort().GetSequenceElementType(sequence, &inside));
  } else if (type.kind == ONNX_TYPE_MAP) {
    const OrtMapTypeInfo* map = nullptr;
    check(ort().CastTypeInfoToMapTypeInfo(info, &map));
    check(ort().GetMapKeyType(map, &type.element));
    check(ort().GetMapValueType(map, &inside));
  } else if (type.kind == ONNX_TYPE_OPTIONAL) {
    const OrtOptionalTypeInfo* optional = nullptr;
    check(ort().CastTypeInfoToOptionalTypeInfo(info, &optional));
    check(ort().GetOptionalContainedTypeInfo(optional, &inside));
  }
  if (inside) type.inside = std::make_shared<const ValueType>(take_type(inside));
  return type;
}

using CountOf = OrtStatus* (*)(const OrtSession*, size_t*);
using NameOf = OrtStatus* (*)(const OrtSession*, size_t, OrtAllocator*, char**);
using TypeOf = OrtStatus* (*)(const OrtSession*, size_t, OrtTypeInfo**);

std::vector<Port> ports(const OrtSession* session, CountOf count_of, NameOf name_of, TypeOf type_of) {
  size_t count = 0;
  check(count_of(session, &count));
  std::vector<Port> all(count);
  for (size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    check(name_of(session, i, allocator(), &name));
    all[i].name = take(name);
    OrtTypeInfo* info = nullptr;
    check(type_of(session, i, &info));
    all[i].type = take_type(info);
  }
  return all;
}

}  // namespace

const TrunnionApi& extras() {
  const TrunnionApi* const table = TrunnionGetApi(TRUNNION_API_VERSION);
  if (!table) unusable("the library is older than this program");
  return *table;
}

std::string version_text() {
  return fmt::format("trunnion {} (ONNX Runtime ABI {})", extras().Version(), OrtGetApiBase()->GetVersionString());
}

Engine::Engine(bool verbose) {
  OrtEnv* env = nullptr;
  check(ort().CreateEnvWithCustomLogger(log, nullptr, verbose ? ORT_LOGGING_LEVEL_INFO : ORT_LOGGING_LEVEL_WARNING,
                                        "trunnion", &env));
  env_.reset(env);
}

std::string ValueType::text() const {
  const auto within = [&] { return inside ? inside->text() : std::string("?"); };
  switch (kind) {
    case ONNX_TYPE_TENSOR:
      return fmt::format("tensor({})", element_facts(element).name);
    case ONNX_TYPE_SPARSETENSOR:
      return fmt::format("sparse_tensor({})", element_facts(element).name);
    case ONNX_TYPE_SEQUENCE:
      return fmt::format("seq({})", within());
    case ONNX_TYPE_MAP:
      return fmt::format("map({},{})", element_facts(element).name, within());
    case ONNX_TYPE_OPTIONAL:
      return fmt::format("optional({})", within());
    case ONNX_TYPE_OPAQUE:
      return "opaque";
    default:
      return "unknown";
  }
}

std::string ValueType::shape_text() const { return has_shape ? cli::shape_text(shape, symbols) : std::string(); }

std::string shape_text(const Shape& shape, const std::vector<std::string>& symbols) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i) text += ',';
    if (shape[i] >= 0)
      text += std::to_string(shape[i]);
    else
      text += i < symbols.size() && !symbols[i].empty() ? symbols[i] : "?";
  }
  return text + "]";
}

LoadedModel::LoadedModel(const Engine& engine, const std::string& path, const SessionOptions& options) {
  OrtSession* session = nullptr;
  check(ort().CreateSession(engine.get(), path.c_str(), options.get(), &session));
  session_.reset(session);
  const OrtApi& api = ort();
  inputs_ = ports(session, api.SessionGetInputCount, api.SessionGetInputName, api.SessionGetInputTypeInfo);
  outputs_ = ports(session, api.SessionGetOutputCount, api.SessionGetOutputName, api.SessionGetOutputTypeInfo);
  overridable_ = ports(session, api.SessionGetOverridableInitializerCount, api.SessionGetOverridableInitializerName,
                       api.SessionGetOverridableInitializerTypeInfo);
  for (const Port& port : outputs_) output_names_.push_back(port.name.c_str());
}

std::vector<Value> LoadedModel::run(const std::vector<const char*>& names,
                                    const std::vector<const OrtValue*>& inputs) const {
  std::vector<OrtValue*> results(output_names_.size());
  check(ort().Run(session_.get(), nullptr, names.data(), inputs.data(), inputs.size(), output_names_.data(),
                  output_names_.size(), results.data()));
  return std::vector<Value>(results.begin(), results.end());
}

std::string LoadedModel::text_of(Extra function) const {
  char* text = nullptr;
  check(function(session_.get(), allocator(), &text));
  return take(text);
}

std::string LoadedModel::placement_summary() const { return text_of(extras().SessionPlacementSummary); }
std::string LoadedModel::placement_json() const { return text_of(extras().SessionPlacementJson); }
std::string LoadedModel::load_timings_json() const { return text_of(extras().SessionLoadTimingsJson); }
std::string LoadedModel::memory_json() const { return text_of(extras().SessionMemoryJson); }
std::string LoadedModel::graph_text() const { return text_of(extras().SessionGraphText); }

std::string LoadedModel::end_profiling() {
  char* name = nullptr;
  check(ort().SessionEndProfiling(session_.get(), allocator(), &name));
  return take(name);
}

std::string inspect_json(const Engine& engine, const std::string& path, const SessionOptions& options) {
  char* text = nullptr;
  check(extras().InspectModelJson(engine.get(), path.c_str(), options.get(), allocator(), &text));
  return take(text);
}

std::string operators_json() {
  char* text = nullptr;
  check(extras().OperatorsJson(allocator(), &text));
  return take(text);
}

std::string environment_json(const Engine& engine) {
  char* text = nullptr;
  check(extras().EnvironmentJson(engine.get(), allocator(), &text));
  return take(text);
}

std::string model_nodes_json(const Engine& engine, const std::string& path, const SessionOptions& options) {
  char* text = nullptr;
  check(extras().ModelNodesJson(engine.get(), path.c_str(), options.get(), allocator(), &text));
  return take(text);
}

void extract_model(const Engine& engine, const std::string& path, const SessionOptions& options,
                   const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                   const std::string& to) {
  std::vector<const char*> from, wanted;
  for (const std::string& name : inputs) from.push_back(name.c_str());
  for (const std::string& name : outputs) wanted.push_back(name.c_str());
  check(extras().ExtractModel(engine.get(), path.c_str(), options.get(), from.data(), from.size(), wanted.data(),
                              wanted.size(), to.c_str()));
}

}  // namespace trunnion::cli
