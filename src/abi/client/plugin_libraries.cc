// Registering libraries of execution providers.
#include <algorithm>

#include "abi/plugin/library.h"
#include "abi/slots.h"

namespace trunnion::abi {

ORT_FN(RegisterExecutionProviderLibrary, (OrtEnv * env, const char* registration_name, const ORTCHAR_T* path)) {
  TRN_REQUIRE(env, registration_name, path);
  if (!*registration_name) return invalid_argument("the name of the plugin is empty");
  return env->process->register_library(registration_name, path, env->log.logger);
}

ORT_FN(UnregisterExecutionProviderLibrary, (OrtEnv * env, const char* registration_name)) {
  TRN_REQUIRE(env, registration_name);
  return env->process->unregister_library(registration_name);
}

}  // namespace trunnion::abi
