// Session configuration entries: which keys exist, and which of them mean something to this engine.
#pragma once
#include <string_view>

#include "base/log.h"
#include "base/status.h"
#include "session/options.h"

namespace trunnion::session {

enum class KeyKind : uint8_t {
  unknown,   // on no list
  ours,      // read by this engine
  accepted,  // ONNX Runtime's, without meaning here
};
KeyKind config_key_kind(std::string_view key);

// Looks at every entry. A key of ONNX Runtime's that means nothing here is logged at INFO; one on no list gives a
// warning with near names, or an error when session.strict_config is 1. Values of our own keys are checked.
Status check_config(const ConfigMap& config, const Logger& logger);

}  // namespace trunnion::session
