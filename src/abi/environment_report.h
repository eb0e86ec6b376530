// The environment as JSON: what session/system_report.h says, and the providers and plugins of the process.
#pragma once
#include <string>

#include "abi/env.h"

namespace trunnion::abi {

std::string environment_json(const OrtEnv& env);

}  // namespace trunnion::abi
