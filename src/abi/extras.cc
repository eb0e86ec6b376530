// TrunnionGetApi: what the engine offers beyond the ONNX Runtime C ABI.
#include "abi/session_handle.h"
#include "abi/slots.h"
#include "session/inspect.h"
#include "session/operators.h"
#include "session/profile.h"
#include "trunnion/trunnion.h"

namespace trunnion::abi {
namespace {

const char* version() { return TRUNNION_VERSION; }

Status give(const OrtSession* session, OrtAllocator* allocator, char** out,
            std::string (*text)(const session::Session&)) {
  TRN_REQUIRE(session, allocator, out);
  return copy_string(allocator, text(*session->session), out);
}

Status placement(const OrtSession* session, OrtAllocator* allocator, char** json) {
  return give(session, allocator, json, [](const session::Session& s) { return s.placement_json(); });
}

Status load_timings(const OrtSession* session, OrtAllocator* allocator, char** json) {
  return give(session, allocator, json, [](const session::Session& s) {
    std::string steps;
    double total = 0;
    for (const auto& t : s.load_timings()) {
      steps += fmt::format("{}{{\"name\":{},\"ms\":{:.3f}}}", steps.empty() ? "" : ",", session::json_text(t.stage),
                           t.milliseconds);
      total += t.milliseconds;
    }
    return fmt::format("{{\"steps\":[{}],\"total_ms\":{:.3f}}}", steps, total);
  });
}

Status memory(const OrtSession* session, OrtAllocator* allocator, char** json) {
  return give(session, allocator, json, [](const session::Session& s) {
    const auto m = s.memory();
    return fmt::format("{{\"weights_bytes\":{},\"arena_bytes\":{},\"output_bytes\":{},\"cached_plans\":{}}}",
                       m.weights_bytes, m.arena_bytes, m.output_bytes, m.cached_plans);
  });
}

Status graph_text(const OrtSession* session, OrtAllocator* allocator, char** text) {
  return give(session, allocator, text, [](const session::Session& s) { return s.graph_text(); });
}

Status inspect(const OrtEnv* env, const char* path, const OrtSessionOptions* options, OrtAllocator* allocator,
               char** json) {
  TRN_REQUIRE(env, path, allocator, json);
  TRN_ASSIGN(const std::string text, session::inspect_model({env->log.logger, env->pool}, path,
                                                            options ? options->options : session::Options{}));
  return copy_string(allocator, text, json);
}

Status placement_summary(const OrtSession* session, OrtAllocator* allocator, char** text) {
  return give(session, allocator, text, [](const session::Session& s) { return s.placement_summary(); });
}

Status operators(OrtAllocator* allocator, char** json) {
  TRN_REQUIRE(allocator, json);
  return copy_string(allocator, session::operators_json(), json);
}

constexpr TrunnionApi kTrunnionApi = {
    TRUNNION_API_VERSION,  version,
    Slot<placement>::call, Slot<load_timings>::call,
    Slot<memory>::call,    Slot<graph_text>::call,
    Slot<inspect>::call,   Slot<placement_summary>::call,
    Slot<operators>::call,
};

}  // namespace
}  // namespace trunnion::abi

extern "C" __attribute__((visibility("default"))) const TrunnionApi* TrunnionGetApi(uint32_t version) {
  return version >= 1 && version <= TRUNNION_API_VERSION ? &trunnion::abi::kTrunnionApi : nullptr;
}
