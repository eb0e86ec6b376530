// OrtEnv: several may live at once; each has its own log, all share one Process.
#include "abi/env.h"

#include "abi/slots.h"
#include "base/denormals.h"

namespace trunnion::abi {
namespace {

struct EnvRequest {
  OrtLoggingLevel level;
  const char* logid;
  OrtLoggingFunction function = nullptr;
  void* param = nullptr;
  const OrtThreadingOptions* threading = nullptr;
  const OrtKeyValuePairs* config = nullptr;
};

Result<std::shared_ptr<ThreadPool>> make_pool(const session::ThreadingOptions& wanted) {
  for (const auto& [name, count] :
       {std::pair("intra_op_num_threads", wanted.intra_op_threads), {"inter_op_num_threads", wanted.inter_op_threads}})
    if (count < -1)  // -1 is how many programs say "automatic"
      return invalid_argument("{} is {}: there is no such number of threads", name, count);
  ThreadPool::Options options;
  options.threads = wanted.intra_op_threads > 0 ? wanted.intra_op_threads : default_thread_count();
  options.allow_spinning = wanted.allow_spinning;
  options.hooks = wanted.hooks;
  if (wanted.denormal_as_zero) options.work_hooks.start = [](void*, void*) { flush_denormals(); };
  TRN_ASSIGN(options.affinity, parse_affinity(wanted.intra_op_affinity, options.threads - 1));
  return std::make_shared<ThreadPool>(std::move(options));
}

Status create(const EnvRequest& request, OrtEnv** out) {
  auto env = std::make_unique<OrtEnv>();
  auto sink = request.function ? make_user_sink(request.function, request.param) : make_stderr_sink();
  env->log.logger = Logger(std::move(sink), static_cast<Severity>(request.level), request.logid ? request.logid : "");
  if (request.threading) {
    TRN_ASSIGN(env->pool, make_pool(request.threading->options));
    env->flush_denormals = request.threading->options.denormal_as_zero;
  }
  if (request.config) env->config = request.config->entries;
  env->process = Process::acquire();
  if (request.config) env->process->set_config(env->config);
  *out = env.release();
  return {};
}

}  // namespace

std::shared_ptr<LogSink> make_user_sink(OrtLoggingFunction function, void* param) {
  return make_callback_sink([function, param](const LogRecord& r) {
    const std::string where = fmt::format("{}:{} {}", r.file, r.line, r.function);
    function(param, static_cast<OrtLoggingLevel>(r.severity), std::string(r.category).c_str(),
             std::string(r.id).c_str(), where.c_str(), std::string(r.text).c_str());
  });
}

ORT_FN(CreateEnv, (OrtLoggingLevel log_severity_level, const char* logid, OrtEnv** out)) {
  TRN_REQUIRE(out);
  return create({log_severity_level, logid}, out);
}

ORT_FN(CreateEnvWithCustomLogger, (OrtLoggingFunction logging_function, void* logger_param,
                                   OrtLoggingLevel log_severity_level, const char* logid, OrtEnv** out)) {
  TRN_REQUIRE(out);
  return create({log_severity_level, logid, logging_function, logger_param}, out);
}

ORT_FN(CreateEnvWithGlobalThreadPools,
       (OrtLoggingLevel log_severity_level, const char* logid, const OrtThreadingOptions* tp_options, OrtEnv** out)) {
  TRN_REQUIRE(tp_options, out);
  return create({log_severity_level, logid, nullptr, nullptr, tp_options}, out);
}

ORT_FN(CreateEnvWithCustomLoggerAndGlobalThreadPools,
       (OrtLoggingFunction logging_function, void* logger_param, OrtLoggingLevel log_severity_level, const char* logid,
        const OrtThreadingOptions* tp_options, OrtEnv** out)) {
  TRN_REQUIRE(tp_options, out);
  return create({log_severity_level, logid, logging_function, logger_param, tp_options}, out);
}

ORT_FN(CreateEnvWithOptions, (const OrtEnvCreationOptions* options, OrtEnv** out)) {
  TRN_REQUIRE(options, out);
  return create(
      {static_cast<OrtLoggingLevel>(options->logging_severity_level), options->log_id, options->custom_logging_function,
       options->custom_logging_param, options->threading_options, options->config_entries},
      out);
}

ORT_FN_AS(void, ReleaseEnv, (OrtEnv * env)) { delete env; }

ORT_FN(UpdateEnvWithCustomLogLevel, (OrtEnv * ort_env, OrtLoggingLevel log_severity_level)) {
  TRN_REQUIRE(ort_env);
  ort_env->log.logger = ort_env->log.logger.with_lowest(static_cast<Severity>(log_severity_level));
  return {};
}

// Nothing is ever sent anywhere; accepted because clients call them.
ORT_FN(EnableTelemetryEvents, (const OrtEnv* env)) {
  TRN_REQUIRE(env);
  return {};
}
ORT_FN(DisableTelemetryEvents, (const OrtEnv* env)) {
  TRN_REQUIRE(env);
  return {};
}
ORT_FN(SetLanguageProjection, (const OrtEnv* ort_env, OrtLanguageProjection)) {
  TRN_REQUIRE(ort_env);
  return {};
}

ORT_FN(SetPerSessionThreadPoolCallbacks, (OrtEnv * env, const OrtThreadPoolCallbacksConfig* config)) {
  TRN_REQUIRE(env, config);
  if (config->version < 25 || config->version > ORT_API_VERSION)
    return invalid_argument("OrtThreadPoolCallbacksConfig::version is {}, not 25 to {}", config->version,
                            ORT_API_VERSION);
  env->work_hooks = {config->on_enqueue, config->on_start_work, config->on_stop_work, config->on_abandon,
                     config->user_context};
  return {};
}

ORT_FN(CreateAndRegisterAllocator, (OrtEnv * env, const OrtMemoryInfo* mem_info, const OrtArenaCfg*)) {
  TRN_REQUIRE(env, mem_info);
  if (mem_info->device_type != OrtMemoryInfoDeviceType_CPU)
    return invalid_argument("CreateAndRegisterAllocator: only CPU memory is supported, not '{}'", mem_info->name);
  return env->process->add_allocator(*mem_info, default_allocator(), true);
}

ORT_FN(CreateAndRegisterAllocatorV2, (OrtEnv * env, const char* provider_type, const OrtMemoryInfo* mem_info,
                                      const OrtArenaCfg*, const char* const*, const char* const*, size_t)) {
  TRN_REQUIRE(env, provider_type, mem_info);
  if (provider_type != kCpuProvider || mem_info->device_type != OrtMemoryInfoDeviceType_CPU)
    return invalid_argument("CreateAndRegisterAllocatorV2: no allocator of {} for '{}' memory", provider_type,
                            mem_info->name);
  return env->process->add_allocator(*mem_info, default_allocator(), true);
}

ORT_FN(RegisterAllocator, (OrtEnv * env, OrtAllocator* allocator)) {
  TRN_REQUIRE(env, allocator);
  const OrtMemoryInfo* memory = allocator->Info(allocator);
  if (!memory) return invalid_argument("RegisterAllocator: the allocator does not say what memory it gives");
  return env->process->add_allocator(*memory, allocator, true);
}

ORT_FN(UnregisterAllocator, (OrtEnv * env, const OrtMemoryInfo* mem_info)) {
  TRN_REQUIRE(env, mem_info);
  return env->process->remove_allocator(*mem_info);
}

ORT_FN(GetSharedAllocator, (OrtEnv * env, const OrtMemoryInfo* mem_info, OrtAllocator** allocator)) {
  TRN_REQUIRE(env, mem_info, allocator);
  TRN_ASSIGN(*allocator, env->process->find_allocator(*mem_info));
  return {};
}

ORT_FN(CreateSharedAllocator, (OrtEnv * env, const OrtEpDevice* ep_device, OrtDeviceMemoryType mem_type,
                               OrtAllocatorType allocator_type, const OrtKeyValuePairs*, OrtAllocator** allocator)) {
  TRN_REQUIRE(env, ep_device);
  if (ep_device->factory) {
    const auto& memory = mem_type == OrtDeviceMemoryType_DEFAULT ? ep_device->device_memory : ep_device->host_memory;
    if (!memory) return invalid_argument("CreateSharedAllocator: {} has no such memory", ep_device->ep_name);
    TRN_ASSIGN(OrtAllocator * made, env->process->allocator_for(*memory));
    if (allocator) *allocator = made;
    return {};
  }
  if (mem_type != OrtDeviceMemoryType_DEFAULT)
    return invalid_argument("CreateSharedAllocator: {} has no allocator for such memory", ep_device->ep_name);
  OrtMemoryInfo memory = *cpu_memory();
  memory.allocator_type = allocator_type;
  if (allocator) *allocator = default_allocator();
  return env->process->add_allocator(memory, default_allocator(), true);
}

ORT_FN(ReleaseSharedAllocator, (OrtEnv * env, const OrtEpDevice* ep_device, OrtDeviceMemoryType)) {
  TRN_REQUIRE(env, ep_device);
  return {};
}

ORT_FN(Logger_LogMessage, (const OrtLogger* logger, OrtLoggingLevel log_severity_level, const char* message,
                           const ORTCHAR_T* file_path, int line_number, const char* func_name)) {
  TRN_REQUIRE(logger, message);
  const auto severity = static_cast<Severity>(log_severity_level);
  if (logger->logger.enabled(severity))
    logger->logger.write(severity, file_path ? file_path : "", line_number, func_name ? func_name : "", message);
  return {};
}

ORT_FN(Logger_GetLoggingSeverityLevel, (const OrtLogger* logger, OrtLoggingLevel* out)) {
  TRN_REQUIRE(logger, out);
  *out = static_cast<OrtLoggingLevel>(logger->logger.lowest());
  return {};
}

}  // namespace trunnion::abi
