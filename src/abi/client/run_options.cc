// OrtRunOptions.
#include "abi/handles.h"
#include "abi/slots.h"

namespace trunnion::abi {

ORT_FN(CreateRunOptions, (OrtRunOptions * *out)) {
  TRN_REQUIRE(out);
  *out = new OrtRunOptions;
  return {};
}

ORT_FN_AS(void, ReleaseRunOptions, (OrtRunOptions * options)) { delete options; }

ORT_FN(RunOptionsSetRunLogVerbosityLevel, (OrtRunOptions * options, int log_verbosity_level)) {
  TRN_REQUIRE(options);
  options->options.log_verbosity = log_verbosity_level;
  return {};
}

ORT_FN(RunOptionsSetRunLogSeverityLevel, (OrtRunOptions * options, int log_severity_level)) {
  TRN_REQUIRE(options);
  options->options.log_severity = log_severity_level;
  return {};
}

ORT_FN(RunOptionsSetRunTag, (OrtRunOptions * options, const char* run_tag)) {
  TRN_REQUIRE(options);
  if (run_tag) options->options.tag = run_tag;
  return {};
}

ORT_FN(RunOptionsGetRunLogVerbosityLevel, (const OrtRunOptions* options, int* log_verbosity_level)) {
  TRN_REQUIRE(options, log_verbosity_level);
  *log_verbosity_level = options->options.log_verbosity;
  return {};
}

ORT_FN(RunOptionsGetRunLogSeverityLevel, (const OrtRunOptions* options, int* log_severity_level)) {
  TRN_REQUIRE(options, log_severity_level);
  *log_severity_level = options->options.log_severity;
  return {};
}

ORT_FN(RunOptionsGetRunTag, (const OrtRunOptions* options, const char** run_tag)) {
  TRN_REQUIRE(options, run_tag);
  *run_tag = options->options.tag.c_str();
  return {};
}

ORT_FN(RunOptionsSetTerminate, (OrtRunOptions * options)) {
  TRN_REQUIRE(options);
  options->options.terminate.store(true);
  return {};
}

ORT_FN(RunOptionsUnsetTerminate, (OrtRunOptions * options)) {
  TRN_REQUIRE(options);
  options->options.terminate.store(false);
  return {};
}

ORT_FN(AddRunConfigEntry, (OrtRunOptions * options, const char* config_key, const char* config_value)) {
  TRN_REQUIRE(options, config_key, config_value);
  return session::set_config(options->options.config, config_key, config_value);
}

ORT_FN_AS(const char*, GetRunConfigEntry, (const OrtRunOptions* options, const char* config_key)) {
  if (!options || !config_key) return nullptr;
  const auto it = options->options.config.find(config_key);
  return it == options->options.config.end() ? nullptr : it->second.c_str();
}

ORT_FN(RunOptionsEnableProfiling, (OrtRunOptions * options, const ORTCHAR_T* profile_file_prefix)) {
  TRN_REQUIRE(options, profile_file_prefix);
  options->options.profiling = true;
  options->options.profile_prefix = profile_file_prefix;
  return {};
}

ORT_FN(RunOptionsDisableProfiling, (OrtRunOptions * options)) {
  TRN_REQUIRE(options);
  options->options.profiling = false;
  return {};
}

ORT_FN_AS(void, RunOptionsSetSyncStream, (OrtRunOptions * options, OrtSyncStream* sync_stream)) {
  if (options) options->options.sync_stream = sync_stream;
}

}  // namespace trunnion::abi
