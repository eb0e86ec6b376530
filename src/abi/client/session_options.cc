// OrtSessionOptions: every setter writes one field of session::Options.
#include "abi/env.h"
#include "abi/slots.h"

namespace trunnion::abi {

ORT_FN(CreateSessionOptions, (OrtSessionOptions * *options)) {
  TRN_REQUIRE(options);
  *options = new OrtSessionOptions;
  return {};
}

ORT_FN(CloneSessionOptions, (const OrtSessionOptions* in_options, OrtSessionOptions** out_options)) {
  TRN_REQUIRE(in_options, out_options);
  *out_options = new OrtSessionOptions(*in_options);
  return {};
}

ORT_FN_AS(void, ReleaseSessionOptions, (OrtSessionOptions * options)) { delete options; }

ORT_FN(SetOptimizedModelFilePath, (OrtSessionOptions * options, const ORTCHAR_T* optimized_model_filepath)) {
  TRN_REQUIRE(options, optimized_model_filepath);
  options->options.optimized_model_path = optimized_model_filepath;
  return {};
}

ORT_FN(SetSessionExecutionMode, (OrtSessionOptions * options, ExecutionMode execution_mode)) {
  TRN_REQUIRE(options);
  if (execution_mode != ORT_SEQUENTIAL && execution_mode != ORT_PARALLEL)
    return invalid_argument("execution_mode {} is not valid", static_cast<int>(execution_mode));
  options->options.execution_mode = static_cast<session::ExecutionMode>(execution_mode);
  return {};
}

ORT_FN(GetSessionExecutionMode, (const OrtSessionOptions* options, ExecutionMode* out)) {
  TRN_REQUIRE(options, out);
  *out = static_cast<ExecutionMode>(options->options.execution_mode);
  return {};
}

ORT_FN(EnableProfiling, (OrtSessionOptions * options, const ORTCHAR_T* profile_file_prefix)) {
  TRN_REQUIRE(options, profile_file_prefix);
  options->options.profiling = true;
  options->options.profile_prefix = profile_file_prefix;
  return {};
}

ORT_FN(DisableProfiling, (OrtSessionOptions * options)) {
  TRN_REQUIRE(options);
  options->options.profiling = false;
  return {};
}

ORT_FN(EnableMemPattern, (OrtSessionOptions * options)) {
  TRN_REQUIRE(options);
  options->options.memory_pattern = true;
  return {};
}

ORT_FN(DisableMemPattern, (OrtSessionOptions * options)) {
  TRN_REQUIRE(options);
  options->options.memory_pattern = false;
  return {};
}

ORT_FN(GetMemPatternEnabled, (const OrtSessionOptions* options, int* out)) {
  TRN_REQUIRE(options, out);
  *out = options->options.memory_pattern;
  return {};
}

ORT_FN(EnableCpuMemArena, (OrtSessionOptions * options)) {
  TRN_REQUIRE(options);
  options->options.cpu_arena = true;
  return {};
}

ORT_FN(DisableCpuMemArena, (OrtSessionOptions * options)) {
  TRN_REQUIRE(options);
  options->options.cpu_arena = false;
  return {};
}

ORT_FN(SetSessionLogId, (OrtSessionOptions * options, const char* logid)) {
  TRN_REQUIRE(options, logid);
  options->options.log_id = logid;
  return {};
}

ORT_FN(SetSessionLogVerbosityLevel, (OrtSessionOptions * options, int session_log_verbosity_level)) {
  TRN_REQUIRE(options);
  options->options.log_verbosity = session_log_verbosity_level;
  return {};
}

ORT_FN(SetSessionLogSeverityLevel, (OrtSessionOptions * options, int session_log_severity_level)) {
  TRN_REQUIRE(options);
  options->options.log_severity = session_log_severity_level;
  return {};
}

ORT_FN(SetUserLoggingFunction,
       (OrtSessionOptions * options, OrtLoggingFunction user_logging_function, void* user_logging_param)) {
  TRN_REQUIRE(options);
  options->options.log_sink =
      user_logging_function ? make_user_sink(user_logging_function, user_logging_param) : nullptr;
  return {};
}

ORT_FN(SetSessionGraphOptimizationLevel,
       (OrtSessionOptions * options, GraphOptimizationLevel graph_optimization_level)) {
  TRN_REQUIRE(options);
  switch (graph_optimization_level) {
    case ORT_DISABLE_ALL:
    case ORT_ENABLE_BASIC:
    case ORT_ENABLE_EXTENDED:
    case ORT_ENABLE_LAYOUT:
    case ORT_ENABLE_ALL:
      break;
    default:
      return invalid_argument("graph_optimization_level {} is not valid", static_cast<int>(graph_optimization_level));
  }
  options->options.optimization_level = static_cast<session::OptimizationLevel>(graph_optimization_level);
  return {};
}

ORT_FN(SetIntraOpNumThreads, (OrtSessionOptions * options, int intra_op_num_threads)) {
  TRN_REQUIRE(options);
  options->options.intra_op_threads = intra_op_num_threads;
  return {};
}

ORT_FN(SetInterOpNumThreads, (OrtSessionOptions * options, int inter_op_num_threads)) {
  TRN_REQUIRE(options);
  options->options.inter_op_threads = inter_op_num_threads;
  return {};
}

ORT_FN(DisablePerSessionThreads, (OrtSessionOptions * options)) {
  TRN_REQUIRE(options);
  options->options.per_session_threads = false;
  return {};
}

ORT_FN(SetDeterministicCompute, (OrtSessionOptions * options, bool value)) {
  TRN_REQUIRE(options);
  options->options.deterministic = value;
  return {};
}

ORT_FN(SessionOptionsSetLoadCancellationFlag, (OrtSessionOptions * options, bool cancel)) {
  TRN_REQUIRE(options);
  options->options.cancel_load->store(cancel);
  return {};
}

ORT_FN(AddFreeDimensionOverride, (OrtSessionOptions * options, const char* dim_denotation, int64_t dim_value)) {
  TRN_REQUIRE(options, dim_denotation);
  options->options.dimension_by_denotation.emplace_back(dim_denotation, dim_value);
  return {};
}

ORT_FN(AddFreeDimensionOverrideByName, (OrtSessionOptions * options, const char* dim_name, int64_t dim_value)) {
  TRN_REQUIRE(options, dim_name);
  options->options.dimension_by_name.emplace_back(dim_name, dim_value);
  return {};
}

ORT_FN(AddSessionConfigEntry, (OrtSessionOptions * options, const char* config_key, const char* config_value)) {
  TRN_REQUIRE(options, config_key, config_value);
  return session::set_config(options->options.config, config_key, config_value);
}

namespace {

void note(const OrtSessionOptions& options, const char* key) {
  if (!options.asked) return;
  const std::lock_guard lock(options.asked->mutex);
  options.asked->keys.insert(key);
}

}  // namespace

ORT_FN(HasSessionConfigEntry, (const OrtSessionOptions* options, const char* config_key, int* out)) {
  TRN_REQUIRE(options, config_key, out);
  note(*options, config_key);
  *out = options->options.entry(config_key).has_value();
  return {};
}

ORT_FN(GetSessionConfigEntry,
       (const OrtSessionOptions* options, const char* config_key, char* config_value, size_t* size)) {
  TRN_REQUIRE(options, config_key, size);
  note(*options, config_key);
  const auto value = options->options.entry(config_key);
  if (!value) return invalid_argument("the session options have no entry '{}'", config_key);
  return copy_to_buffer(*value, config_value, size, "GetSessionConfigEntry");
}

ORT_FN(GetSessionOptionsConfigEntries, (const OrtSessionOptions* options, OrtKeyValuePairs** out)) {
  TRN_REQUIRE(options, out);
  if (options->asked) {
    const std::lock_guard lock(options->asked->mutex);
    options->asked->all = true;
  }
  auto pairs = std::make_unique<OrtKeyValuePairs>();
  pairs->entries = options->options.config;
  pairs->refresh();
  *out = pairs.release();
  return {};
}

ORT_FN(AddInitializer, (OrtSessionOptions * options, const char* name, const OrtValue* val)) {
  TRN_REQUIRE(options, name, val);
  if (!*name) return invalid_argument("AddInitializer: the name is empty");
  if (!val->value.is_tensor()) return invalid_argument("AddInitializer: '{}' is not a dense tensor", name);
  TRN_TRY(host_tensor(*val));
  if (!options->options.initializers.emplace(name, val->value).second)
    return invalid_argument("AddInitializer: '{}' was added before", name);
  return {};
}

ORT_FN(AddExternalInitializers, (OrtSessionOptions * options, const char* const* initializer_names,
                                 const OrtValue* const* initializers, size_t num_initializers)) {
  TRN_REQUIRE(options);
  if (num_initializers) TRN_REQUIRE(initializer_names, initializers);
  for (size_t i = 0; i < num_initializers; ++i) {
    TRN_REQUIRE(initializer_names[i], initializers[i]);
    TRN_TRY(host_tensor(*initializers[i]));
    if (!options->options.external_initializers.emplace(initializer_names[i], initializers[i]->value).second)
      return invalid_argument("AddExternalInitializers: '{}' was added before", initializer_names[i]);
  }
  return {};
}

ORT_FN(AddExternalInitializersFromFilesInMemory,
       (OrtSessionOptions * options, const ORTCHAR_T* const* external_initializer_file_names,
        char* const* external_initializer_file_buffer_array, const size_t* external_initializer_file_lengths,
        size_t num_external_initializer_files)) {
  TRN_REQUIRE(options);
  if (num_external_initializer_files)
    TRN_REQUIRE(external_initializer_file_names, external_initializer_file_buffer_array,
                external_initializer_file_lengths);
  for (size_t i = 0; i < num_external_initializer_files; ++i) {
    TRN_REQUIRE(external_initializer_file_names[i], external_initializer_file_buffer_array[i]);
    options->options.external_files.push_back({external_initializer_file_names[i],
                                               external_initializer_file_buffer_array[i],
                                               external_initializer_file_lengths[i]});
  }
  return {};
}

ORT_FN(SessionOptionsSetEpContextDataReadFunc,
       (OrtSessionOptions * options, OrtReadNamedBufferFunc read_func, void* state)) {
  TRN_REQUIRE(options);
  options->options.ep_context_read = reinterpret_cast<void*>(read_func);
  options->options.ep_context_read_state = state;
  return {};
}

}  // namespace trunnion::abi
