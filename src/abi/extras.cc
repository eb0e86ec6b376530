// TrunnionGetApi: what the engine offers beyond the ONNX Runtime C ABI.
#include "abi/environment_report.h"
#include "abi/session_handle.h"
#include "abi/slots.h"
#include "session/extract.h"
#include "session/inspect.h"
#include "session/json.h"
#include "session/operators.h"
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

session::Options options_of(const OrtSessionOptions* options) {
  return options ? options->options : session::Options{};
}

Status inspect(const OrtEnv* env, const char* path, const OrtSessionOptions* options, OrtAllocator* allocator,
               char** json) {
  TRN_REQUIRE(env, path, allocator, json);
  TRN_ASSIGN(const std::string text, session::inspect_model({env->log.logger, env->pool}, path, options_of(options)));
  return copy_string(allocator, text, json);
}

Status placement_summary(const OrtSession* session, OrtAllocator* allocator, char** text) {
  return give(session, allocator, text, [](const session::Session& s) { return s.placement_summary(); });
}

Status operators(OrtAllocator* allocator, char** json) {
  TRN_REQUIRE(allocator, json);
  return copy_string(allocator, session::operators_json(), json);
}

Status environment(const OrtEnv* env, OrtAllocator* allocator, char** json) {
  TRN_REQUIRE(env, allocator, json);
  return copy_string(allocator, environment_json(*env), json);
}

Status model_nodes(const OrtEnv* env, const char* path, const OrtSessionOptions* options, OrtAllocator* allocator,
                   char** json) {
  TRN_REQUIRE(env, path, allocator, json);
  TRN_ASSIGN(const std::string text,
             session::model_nodes_json({env->log.logger, env->pool}, path, options_of(options)));
  return copy_string(allocator, text, json);
}

Status extract(const OrtEnv* env, const char* path, const OrtSessionOptions* options, const char* const* inputs,
               size_t input_count, const char* const* outputs, size_t output_count, const char* to) {
  TRN_REQUIRE(env, path, to);
  if (input_count) TRN_REQUIRE(inputs);
  if (output_count) TRN_REQUIRE(outputs);
  std::vector<std::string> from, wanted;
  for (size_t i = 0; i < input_count; ++i) {
    TRN_REQUIRE(inputs[i]);
    from.emplace_back(inputs[i]);
  }
  for (size_t i = 0; i < output_count; ++i) {
    TRN_REQUIRE(outputs[i]);
    wanted.emplace_back(outputs[i]);
  }
  return session::extract_model({env->log.logger, env->pool}, path, options_of(options), from, wanted, to);
}

constexpr TrunnionApi kTrunnionApi = {
    TRUNNION_API_VERSION,    version,
    Slot<placement>::call,   Slot<load_timings>::call,
    Slot<memory>::call,      Slot<graph_text>::call,
    Slot<inspect>::call,     Slot<placement_summary>::call,
    Slot<operators>::call,   Slot<environment>::call,
    Slot<model_nodes>::call, Slot<extract>::call,
};

}  // namespace
}  // namespace trunnion::abi

extern "C" __attribute__((visibility("default"))) const TrunnionApi* TrunnionGetApi(uint32_t version) {
  return version >= 1 && version <= TRUNNION_API_VERSION ? &trunnion::abi::kTrunnionApi : nullptr;
}
