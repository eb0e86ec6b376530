// The compile API: a model goes in, the model that the providers made of it comes out, with EPContext nodes for what
// they compiled. The CPU compiles nothing ahead of time: alone it gives the model after the optimizations of the chosen
// level.
#include <cstring>

#include "abi/custom_operators.h"
#include "abi/model_writer.h"
#include "abi/session_handle.h"
#include "abi/slots.h"
#include "base/os.h"
#include "onnx/exporter.h"

struct OrtModelCompilationOptions {
  trunnion::session::Options session;

  std::string input_path;
  std::span<const std::byte> input_bytes;
  const OrtModel* input_model = nullptr;

  std::string output_path;
  OrtAllocator* output_allocator = nullptr;
  void** output_buffer = nullptr;
  size_t* output_size = nullptr;
  OrtWriteBufferFunc write = nullptr;
  void* write_state = nullptr;

  std::string weights_path;  // weights with at least weights_threshold bytes go there; empty: into the model
  size_t weights_threshold = 0;
  OrtGetInitializerLocationFunc locate = nullptr;
  void* locate_state = nullptr;
  uint32_t flags = OrtCompileApiFlags_NONE;

  TRN_HANDLE(OrtModelCompilationOptions);
};

namespace trunnion::abi {
namespace {

// Weights of a compiled model that go into a file beside it.
class WeightFile {
 public:
  // A relative path is meant from the folder of the model.
  WeightFile(const OrtModelCompilationOptions& o, const std::string& model)
      : path_(o.weights_path), location_(o.weights_path), threshold_(o.weights_threshold) {
    if (path_.starts_with('/'))
      location_ = path_.substr(path_.find_last_of('/') + 1);
    else if (!path_.empty())
      path_ = model.substr(0, model.find_last_of('/') + 1) + path_;
  }

  std::optional<onnx::ExternalPlace> take(const onnx::TensorProtoView& t) {
    constexpr size_t kAlignment = 4096;
    if (path_.empty() || t.raw_data.empty() || t.raw_data.size() < threshold_) return std::nullopt;
    const size_t offset = (content_.size() + kAlignment - 1) / kAlignment * kAlignment;
    content_.resize(offset);
    content_.insert(content_.end(), t.raw_data.begin(), t.raw_data.end());
    return onnx::ExternalPlace{location_, offset, t.raw_data.size()};
  }
  Status write() const { return content_.empty() ? Status{} : os::write_file_atomically(path_, content_); }

 private:
  std::string path_, location_;
  size_t threshold_;
  std::vector<std::byte> content_;
};

// The client says where a weight is kept (it has written it there), or that the model is to hold it.
Result<std::optional<onnx::ExternalPlace>> ask(const OrtModelCompilationOptions& o, const onnx::TensorProtoView& t) {
  const OrtValue value{Tensor::borrow(dtype_from_code(t.data_type).value_or(DType::undefined), t.dims,
                                      const_cast<std::byte*>(t.raw_data.data()), nullptr),
                       nullptr};
  OrtExternalInitializerInfo* info = nullptr;
  const std::string name(t.name);
  TRN_TRY(guarded([&] { return from_ort(o.locate(o.locate_state, name.c_str(), &value, nullptr, &info)); }));
  if (!info) return std::optional<onnx::ExternalPlace>{};
  const std::unique_ptr<OrtExternalInitializerInfo> owned(info);
  if (info->offset < 0) return invalid_argument("weight '{}': the offset {} is negative", name, info->offset);
  return std::optional(onnx::ExternalPlace{info->path, static_cast<uint64_t>(info->offset), info->size});
}

Status deliver(const OrtModelCompilationOptions& o, const std::string& path, const std::vector<std::byte>& bytes) {
  if (o.write) return guarded([&] { return from_ort(o.write(o.write_state, bytes.data(), bytes.size())); });
  if (!o.output_buffer) return os::write_file_atomically(path, bytes);
  void* to = o.output_allocator->Alloc(o.output_allocator, bytes.size());
  if (!to) return error(Code::fail, "the allocator gave no memory for a model of {} bytes", bytes.size());
  std::memcpy(to, bytes.data(), bytes.size());
  *o.output_buffer = to;
  *o.output_size = bytes.size();
  return {};
}

ir::Model without_graph(const ir::Model& m) {
  return {m.path,
          m.ir_version,
          m.opset_imports,
          m.producer_name,
          m.producer_version,
          m.domain,
          m.doc,
          m.model_version,
          m.has_model_version,
          m.metadata,
          nullptr,
          {}};
}

// Beside the input: "model.onnx" becomes "model_ctx.onnx".
std::string default_output(const std::string& input) {
  const auto dot = input.find_last_of('.');
  const auto slash = input.find_last_of('/');
  const bool extension = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  return (extension ? input.substr(0, dot) : input) + "_ctx.onnx";
}

}  // namespace

TABLE_FN_AS(void, OrtCompileApi, ReleaseModelCompilationOptions, (OrtModelCompilationOptions * input)) { delete input; }

TABLE_FN(OrtCompileApi, CreateModelCompilationOptionsFromSessionOptions,
         (const OrtEnv* env, const OrtSessionOptions* session_options, OrtModelCompilationOptions** out)) {
  TRN_REQUIRE(env, session_options, out);
  auto made = std::make_unique<OrtModelCompilationOptions>();
  made->session = session_options->options;
  made->session.optimization_level = session::OptimizationLevel::disable_all;
  *out = made.release();
  return {};
}

TABLE_FN(OrtCompileApi, ModelCompilationOptions_SetInputModelPath,
         (OrtModelCompilationOptions * model_compile_options, const ORTCHAR_T* input_model_path)) {
  TRN_REQUIRE(model_compile_options, input_model_path);
  if (!*input_model_path) return invalid_argument("the path of the input model is empty");
  model_compile_options->input_path = input_model_path;
  model_compile_options->input_bytes = {};
  model_compile_options->input_model = nullptr;
  return {};
}

TABLE_FN(OrtCompileApi, ModelCompilationOptions_SetInputModelFromBuffer,
         (OrtModelCompilationOptions * model_compile_options, const void* input_model_data,
          size_t input_model_data_size)) {
  TRN_REQUIRE(model_compile_options, input_model_data);
  if (!input_model_data_size) return invalid_argument("the input model has no bytes");
  model_compile_options->input_path.clear();
  model_compile_options->input_bytes = {static_cast<const std::byte*>(input_model_data), input_model_data_size};
  model_compile_options->input_model = nullptr;
  return {};
}

TABLE_FN(OrtCompileApi, ModelCompilationOptions_SetInputModel,
         (OrtModelCompilationOptions * model_compile_options, const OrtModel* model)) {
  TRN_REQUIRE(model_compile_options, model);
  if (!model->graph) return invalid_argument("the input model has no graph");
  model_compile_options->input_path.clear();
  model_compile_options->input_bytes = {};
  model_compile_options->input_model = model;
  return {};
}

TABLE_FN(OrtCompileApi, ModelCompilationOptions_SetOutputModelPath,
         (OrtModelCompilationOptions * model_compile_options, const ORTCHAR_T* output_model_path)) {
  TRN_REQUIRE(model_compile_options, output_model_path);
  if (!*output_model_path) return invalid_argument("the path of the output model is empty");
  model_compile_options->output_path = output_model_path;
  model_compile_options->output_buffer = nullptr;
  model_compile_options->write = nullptr;
  return {};
}

TABLE_FN(OrtCompileApi, ModelCompilationOptions_SetOutputModelExternalInitializersFile,
         (OrtModelCompilationOptions * model_compile_options, const ORTCHAR_T* external_initializers_file_path,
          size_t external_initializers_size_threshold)) {
  TRN_REQUIRE(model_compile_options, external_initializers_file_path);
  if (!*external_initializers_file_path) return invalid_argument("the path of the external initializers is empty");
  model_compile_options->weights_path = external_initializers_file_path;
  model_compile_options->weights_threshold = external_initializers_size_threshold;
  model_compile_options->locate = nullptr;
  return {};
}

TABLE_FN(OrtCompileApi, ModelCompilationOptions_SetOutputModelBuffer,
         (OrtModelCompilationOptions * model_compile_options, OrtAllocator* allocator, void** output_model_buffer_ptr,
          size_t* output_model_buffer_size_ptr)) {
  TRN_REQUIRE(model_compile_options, allocator, output_model_buffer_ptr, output_model_buffer_size_ptr);
  model_compile_options->output_path.clear();
  model_compile_options->output_allocator = allocator;
  model_compile_options->output_buffer = output_model_buffer_ptr;
  model_compile_options->output_size = output_model_buffer_size_ptr;
  model_compile_options->write = nullptr;
  return {};
}

TABLE_FN(OrtCompileApi, ModelCompilationOptions_SetOutputModelWriteFunc,
         (OrtModelCompilationOptions * model_compile_options, OrtWriteBufferFunc write_func, void* state)) {
  TRN_REQUIRE(model_compile_options);
  if (!write_func) return invalid_argument("argument 'write_func' must not be NULL");
  model_compile_options->output_path.clear();
  model_compile_options->output_buffer = nullptr;
  model_compile_options->write = write_func;
  model_compile_options->write_state = state;
  return {};
}

TABLE_FN(OrtCompileApi, ModelCompilationOptions_SetOutputModelGetInitializerLocationFunc,
         (OrtModelCompilationOptions * model_compile_options,
          OrtGetInitializerLocationFunc get_initializer_location_func, void* state)) {
  TRN_REQUIRE(model_compile_options);
  if (!get_initializer_location_func)
    return invalid_argument("argument 'get_initializer_location_func' must not be NULL");
  model_compile_options->locate = get_initializer_location_func;
  model_compile_options->locate_state = state;
  model_compile_options->weights_path.clear();
  return {};
}

// The next three are for providers that compile: the session hands them on by these keys.
TABLE_FN(OrtCompileApi, ModelCompilationOptions_SetEpContextEmbedMode,
         (OrtModelCompilationOptions * model_compile_options, bool embed_ep_context_in_model)) {
  TRN_REQUIRE(model_compile_options);
  model_compile_options->session.config["ep.context_embed_mode"] = embed_ep_context_in_model ? "1" : "0";
  return {};
}

TABLE_FN(OrtCompileApi, ModelCompilationOptions_SetEpContextBinaryInformation,
         (OrtModelCompilationOptions * model_compile_options, const ORTCHAR_T* output_directory,
          const ORTCHAR_T* model_name)) {
  TRN_REQUIRE(model_compile_options, output_directory, model_name);
  if (!*output_directory || !*model_name) return invalid_argument("neither folder nor model name may be empty");
  const std::string folder = output_directory;
  model_compile_options->session.config["ep.context_file_path"] =
      folder + (folder.ends_with('/') ? "" : "/") + model_name;
  return {};
}

TABLE_FN(OrtCompileApi, ModelCompilationOptions_SetWeightlessEnabled,
         (OrtModelCompilationOptions * model_compile_options, bool use_weightless)) {
  TRN_REQUIRE(model_compile_options);
  model_compile_options->session.config["ep.enable_weightless_mode"] = use_weightless ? "2" : "0";
  return {};
}

TABLE_FN(OrtCompileApi, ModelCompilationOptions_SetEpContextDataWriteFunc,
         (OrtModelCompilationOptions * model_compile_options, OrtWriteNamedBufferFunc write_func, void* state)) {
  TRN_REQUIRE(model_compile_options);
  model_compile_options->session.ep_context_write = reinterpret_cast<void*>(write_func);
  model_compile_options->session.ep_context_write_state = state;
  return {};
}

TABLE_FN(OrtCompileApi, ModelCompilationOptions_SetFlags,
         (OrtModelCompilationOptions * model_compile_options, uint32_t flags)) {
  TRN_REQUIRE(model_compile_options);
  constexpr uint32_t kKnown =
      OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED | OrtCompileApiFlags_ERROR_IF_OUTPUT_FILE_EXISTS;
  if (flags & ~kKnown) return invalid_argument("flags {:#x} have bits that mean nothing", flags);
  model_compile_options->flags = flags;
  return {};
}

TABLE_FN(OrtCompileApi, ModelCompilationOptions_SetGraphOptimizationLevel,
         (OrtModelCompilationOptions * model_compile_options, GraphOptimizationLevel graph_optimization_level)) {
  TRN_REQUIRE(model_compile_options);
  OrtSessionOptions checked{model_compile_options->session};
  TRN_TRY(from_ort(OrtGetApiBase()->GetApi(1)->SetSessionGraphOptimizationLevel(&checked, graph_optimization_level)));
  model_compile_options->session.optimization_level = checked.options.optimization_level;
  return {};
}

TABLE_FN(OrtCompileApi, CompileModel, (const OrtEnv* env, const OrtModelCompilationOptions* model_options)) {
  TRN_REQUIRE(env, model_options);
  const OrtModelCompilationOptions& o = *model_options;
  if (o.input_path.empty() && o.input_bytes.empty() && !o.input_model)
    return invalid_argument("CompileModel: no input model was set");
  std::string path = o.output_path;
  if (path.empty() && !o.output_buffer && !o.write) {
    if (o.input_path.empty()) return invalid_argument("CompileModel: no output was set, and the input is no file");
    path = default_output(o.input_path);
  }
  if (!path.empty() && (o.flags & OrtCompileApiFlags_ERROR_IF_OUTPUT_FILE_EXISTS) &&
      os::file_kind(path) != os::FileKind::none)
    return error(Code::fail, "CompileModel: the output file '{}' exists", path);

  OrtSessionOptions options{o.session};
  options.options.optimized_model_path.clear();
  options.options.config["ep.context_enable"] = "1";
  bool compiled = false;
  ir::Model optimized;  // given when nothing was compiled
  const auto give = [&](const ir::Model& model) -> Status {
    WeightFile weights(o, path);
    const auto place = [&](const onnx::TensorProtoView& t) -> Result<std::optional<onnx::ExternalPlace>> {
      if (o.locate) return ask(o, t);
      return weights.take(t);
    };
    TRN_ASSIGN(const auto bytes, onnx::export_bytes(model, place));
    TRN_TRY(weights.write());
    return deliver(o, path, bytes);
  };
  options.options.context_model_sink = [&](const ir::Model& model) {
    compiled = true;
    return give(model);
  };
  options.options.optimized_model_sink = [&](const ir::Model& model) -> Status {  // before it is placed
    optimized = without_graph(model);
    optimized.graph = model.graph->clone();
    return {};
  };
  session::ModelSource source{o.input_path, o.input_bytes, nullptr};
  std::vector<std::byte> made;
  if (o.input_model) {
    TRN_ASSIGN(made, model_bytes(*o.input_model));
    source.bytes = made;
  }
  OrtSession* session = nullptr;
  TRN_TRY(create_session(*env, std::move(source), &options, &session));
  const std::unique_ptr<OrtSession> owned(session);  // its weights are those of the model
  if (compiled) return {};
  if (o.flags & OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED)
    return error(Code::fail,
                 "Unable to compile any nodes: no execution provider of the session compiles what the model has; the "
                 "CPU runs its operators as they are");
  return give(optimized);
}

}  // namespace trunnion::abi
