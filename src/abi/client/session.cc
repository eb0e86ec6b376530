// OrtSession: making one, and what it says about its inputs and outputs.
#include <algorithm>

#include "abi/custom_operators.h"
#include "abi/plugin/provider.h"
#include "abi/session_handle.h"
#include "abi/slots.h"

namespace trunnion::abi {

namespace {

// Lets the client choose among the devices of the environment, when it asked to and named no provider.
Status choose_providers(const Process& process, session::Options& options) {
  const auto choose = reinterpret_cast<EpSelectionDelegate>(options.provider_policy_delegate);
  if (!choose || !options.providers.empty()) return {};
  constexpr size_t kMost = 8;
  std::vector<const OrtEpDevice*> devices = process.ep_devices();
  std::vector<const OrtEpDevice*> selected(kMost, nullptr);
  size_t count = 0;
  const OrtKeyValuePairs metadata;
  TRN_TRY(guarded([&] {
    return from_ort(choose(devices.data(), devices.size(), &metadata, nullptr, selected.data(), kMost, &count,
                           options.provider_policy_state));
  }));
  if (count == 0 || count > kMost)
    return error(Code::fail, "the selection of execution providers chose {} devices, not 1 to {}", count, kMost);
  for (size_t i = 0; i < count; ++i) {
    if (std::ranges::find(devices, selected[i]) == devices.end())
      return error(Code::fail, "the selection of execution providers chose something that is no device");
    const std::string& name = selected[i]->ep_name;
    if (options.providers.empty() || options.providers.back().name != name) options.providers.push_back({name, {}, {}});
    options.providers.back().devices.push_back(selected[i]);
  }
  return {};
}

// Lets the providers of plugins be made with the session.
Status attach_plugins(const Process& process, session::Options& options) {
  for (session::ProviderChoice& choice : options.providers) {
    if (choice.devices.empty()) continue;
    std::vector<const OrtEpDevice*> devices;
    for (const void* d : choice.devices) devices.push_back(static_cast<const OrtEpDevice*>(d));
    const auto& known = process.ep_devices();
    for (const OrtEpDevice* d : devices)
      if (std::ranges::find(known, d) == known.end())
        return invalid_argument("a device of {} is there no more: its plugin was unregistered", choice.name);
    auto library = process.library_of(devices.front());
    if (!library) continue;
    // What the plugin reads the session's options from.
    auto shown = std::make_shared<OrtSessionOptions>(OrtSessionOptions{options, std::make_shared<OrtAskedEntries>()});
    shown->options.providers.clear();
    choice.source = std::make_shared<PluginSource>(std::move(library), std::move(devices), std::move(shown));
  }
  return {};
}

}  // namespace

Status create_session(const OrtEnv& env, session::ModelSource source, const OrtSessionOptions* options,
                      OrtSession** out) {
  auto session = std::make_unique<OrtSession>();
  session->process = env.process;
  session::Options wanted = options ? options->options : session::Options{};
  wanted.work_hooks = env.work_hooks;
  TRN_TRY(choose_providers(*env.process, wanted));
  TRN_TRY(attach_plugins(*env.process, wanted));
  if (!wanted.custom_op_domains.empty()) {
    Logger log = env.log.logger;
    if (wanted.log_sink) log = Logger(wanted.log_sink, log.lowest(), log.id());
    if (!wanted.log_id.empty()) log = log.with_id(wanted.log_id);
    if (wanted.log_severity >= 0) log = log.with_lowest(static_cast<Severity>(wanted.log_severity));
    wanted.custom_operators =
        std::make_shared<CustomOperators>(wanted.custom_op_domains, CustomSession{{log}, wanted.config});
  }
  TRN_ASSIGN(session->session,
             session::Session::load({env.log.logger, env.pool, env.process->packs(), env.flush_denormals},
                                    std::move(source), std::move(wanted)));
  *out = session.release();
  return {};
}

namespace {

std::span<const std::byte> bytes_of(const void* data, size_t size) {
  return {static_cast<const std::byte*>(data), size};
}

using Ports = std::span<const session::Port>;

Status count(Ports ports, size_t* out) {
  TRN_REQUIRE(out);
  *out = ports.size();
  return {};
}

Status check(Ports ports, size_t index) {
  if (index >= ports.size()) return invalid_argument("index {} is out of range: there are {}", index, ports.size());
  return {};
}

Status name(Ports ports, size_t index, OrtAllocator* allocator, char** value) {
  TRN_REQUIRE(allocator, value);
  TRN_TRY(check(ports, index));
  return copy_string(allocator, ports[index].name, value);
}

Status type_info(Ports ports, size_t index, OrtTypeInfo** out) {
  TRN_REQUIRE(out);
  TRN_TRY(check(ports, index));
  *out = make_type_info(ports[index].type).release();
  return {};
}

template <class T>
Status fill(Ports ports, const T* with, const T** out, size_t num) {
  if (num) TRN_REQUIRE(out);
  if (num != ports.size()) return invalid_argument("{} entries are asked for, there are {}", num, ports.size());
  std::fill_n(out, num, with);
  return {};
}

}  // namespace

ORT_FN(CreateSession,
       (const OrtEnv* env, const ORTCHAR_T* model_path, const OrtSessionOptions* options, OrtSession** out)) {
  TRN_REQUIRE(env, model_path, out);
  if (!*model_path) return error(Code::no_such_file, "the path of the model is empty");
  return create_session(*env, {model_path, {}, nullptr}, options, out);
}

ORT_FN(CreateSessionFromArray, (const OrtEnv* env, const void* model_data, size_t model_data_length,
                                const OrtSessionOptions* options, OrtSession** out)) {
  TRN_REQUIRE(env, model_data, out);
  return create_session(*env, {{}, bytes_of(model_data, model_data_length), nullptr}, options, out);
}

ORT_FN(CreateSessionWithPrepackedWeightsContainer,
       (const OrtEnv* env, const ORTCHAR_T* model_path, const OrtSessionOptions* options,
        OrtPrepackedWeightsContainer* prepacked_weights_container, OrtSession** out)) {
  TRN_REQUIRE(prepacked_weights_container);
  return OrtApi_CreateSession(env, model_path, options, out);
}

ORT_FN(CreateSessionFromArrayWithPrepackedWeightsContainer,
       (const OrtEnv* env, const void* model_data, size_t model_data_length, const OrtSessionOptions* options,
        OrtPrepackedWeightsContainer* prepacked_weights_container, OrtSession** out)) {
  TRN_REQUIRE(prepacked_weights_container);
  return OrtApi_CreateSessionFromArray(env, model_data, model_data_length, options, out);
}

ORT_FN_AS(void, ReleaseSession, (OrtSession * session)) {
  // A profile that nobody ended is written now. A failure (it was ended) has no one to be told.
  if (session && session->session->options().profiling) static_cast<void>(session->session->end_profiling());
  delete session;
}

ORT_FN(SessionGetInputCount, (const OrtSession* session, size_t* out)) {
  TRN_REQUIRE(session);
  return count(session->session->inputs(), out);
}
ORT_FN(SessionGetOutputCount, (const OrtSession* session, size_t* out)) {
  TRN_REQUIRE(session);
  return count(session->session->outputs(), out);
}
ORT_FN(SessionGetOverridableInitializerCount, (const OrtSession* session, size_t* out)) {
  TRN_REQUIRE(session);
  return count(session->session->overridable_initializers(), out);
}

ORT_FN(SessionGetInputName, (const OrtSession* session, size_t index, OrtAllocator* allocator, char** value)) {
  TRN_REQUIRE(session);
  return name(session->session->inputs(), index, allocator, value);
}
ORT_FN(SessionGetOutputName, (const OrtSession* session, size_t index, OrtAllocator* allocator, char** value)) {
  TRN_REQUIRE(session);
  return name(session->session->outputs(), index, allocator, value);
}
ORT_FN(SessionGetOverridableInitializerName,
       (const OrtSession* session, size_t index, OrtAllocator* allocator, char** value)) {
  TRN_REQUIRE(session);
  return name(session->session->overridable_initializers(), index, allocator, value);
}

ORT_FN(SessionGetInputTypeInfo, (const OrtSession* session, size_t index, OrtTypeInfo** out)) {
  TRN_REQUIRE(session);
  return type_info(session->session->inputs(), index, out);
}
ORT_FN(SessionGetOutputTypeInfo, (const OrtSession* session, size_t index, OrtTypeInfo** out)) {
  TRN_REQUIRE(session);
  return type_info(session->session->outputs(), index, out);
}
ORT_FN(SessionGetOverridableInitializerTypeInfo, (const OrtSession* session, size_t index, OrtTypeInfo** out)) {
  TRN_REQUIRE(session);
  return type_info(session->session->overridable_initializers(), index, out);
}

// Inputs and outputs are in host memory and belong to the CPU.
ORT_FN(SessionGetMemoryInfoForInputs,
       (const OrtSession* session, const OrtMemoryInfo** inputs_memory_info, size_t num_inputs)) {
  TRN_REQUIRE(session);
  return fill(session->session->inputs(), cpu_memory().get(), inputs_memory_info, num_inputs);
}
ORT_FN(SessionGetMemoryInfoForOutputs,
       (const OrtSession* session, const OrtMemoryInfo** outputs_memory_info, size_t num_outputs)) {
  TRN_REQUIRE(session);
  return fill(session->session->outputs(), cpu_memory().get(), outputs_memory_info, num_outputs);
}
ORT_FN(SessionGetEpDeviceForInputs,
       (const OrtSession* session, const OrtEpDevice** inputs_ep_devices, size_t num_inputs)) {
  TRN_REQUIRE(session);
  return fill(session->session->inputs(), session->process->ep_devices().front(), inputs_ep_devices, num_inputs);
}
ORT_FN(SessionGetEpDeviceForOutputs,
       (const OrtSession* session, const OrtEpDevice** outputs_ep_devices, size_t num_outputs)) {
  TRN_REQUIRE(session);
  return fill(session->session->outputs(), session->process->ep_devices().front(), outputs_ep_devices, num_outputs);
}

ORT_FN(SessionEndProfiling, (OrtSession * session, OrtAllocator* allocator, char** out)) {
  TRN_REQUIRE(session, allocator, out);
  TRN_ASSIGN(const std::string file, session->session->end_profiling());
  return copy_string(allocator, file, out);
}

ORT_FN(SessionGetProfilingStartTimeNs, (const OrtSession* session, uint64_t* out)) {
  TRN_REQUIRE(session, out);
  *out = static_cast<uint64_t>(session->session->profiling_start_ns());
  return {};
}

// The CPU has no options that change while it runs; those meant for other providers do no harm.
ORT_FN(SetEpDynamicOptions, (OrtSession * session, const char* const* keys, const char* const* values, size_t kv_len)) {
  TRN_REQUIRE(session);
  if (kv_len) TRN_REQUIRE(keys, values);
  for (size_t i = 0; i < kv_len; ++i) TRN_REQUIRE(keys[i], values[i]);
  return session->session->set_dynamic_options({keys, kv_len}, {values, kv_len});
}

ORT_FN(SessionReleaseCapturedGraph, (OrtSession * session, int graph_annotation_id)) {
  TRN_REQUIRE(session);
  return invalid_argument("the session has captured no graph {}", graph_annotation_id);
}

ORT_FN(Session_GetEpGraphAssignmentInfo,
       (const OrtSession* session, const OrtEpAssignedSubgraph* const** ep_subgraphs, size_t* num_ep_subgraphs)) {
  TRN_REQUIRE(session, ep_subgraphs, num_ep_subgraphs);
  if (!session->session->options().flag("session.record_ep_graph_assignment_info"))
    return error(Code::fail, "the session was made without session.record_ep_graph_assignment_info = 1");
  auto* s = const_cast<OrtSession*>(session);
  std::call_once(s->assignment_made, [s] {
    const auto& placement = s->session->placement();
    for (size_t p = 0; p < placement.providers.size(); ++p) {
      auto subgraph = std::make_unique<OrtEpAssignedSubgraph>();
      subgraph->ep_name = placement.providers[p];
      for (const auto& n : placement.nodes) {
        if (n.provider != static_cast<int>(p)) continue;
        subgraph->owned.push_back(
            std::make_unique<const OrtEpAssignedNode>(OrtEpAssignedNode{n.name, n.domain, n.op_type}));
        subgraph->nodes.push_back(subgraph->owned.back().get());
      }
      if (subgraph->nodes.empty()) continue;
      s->assignment.push_back(subgraph.get());
      s->owned_assignment.push_back(std::move(subgraph));
    }
  });
  *ep_subgraphs = s->assignment.data();
  *num_ep_subgraphs = s->assignment.size();
  return {};
}

ORT_FN(EpAssignedSubgraph_GetEpName, (const OrtEpAssignedSubgraph* ep_subgraph, const char** out)) {
  TRN_REQUIRE(ep_subgraph, out);
  *out = ep_subgraph->ep_name.c_str();
  return {};
}
ORT_FN(EpAssignedSubgraph_GetNodes,
       (const OrtEpAssignedSubgraph* ep_subgraph, const OrtEpAssignedNode* const** ep_nodes, size_t* num_ep_nodes)) {
  TRN_REQUIRE(ep_subgraph, ep_nodes, num_ep_nodes);
  *ep_nodes = ep_subgraph->nodes.data();
  *num_ep_nodes = ep_subgraph->nodes.size();
  return {};
}
ORT_FN(EpAssignedNode_GetName, (const OrtEpAssignedNode* ep_node, const char** out)) {
  TRN_REQUIRE(ep_node, out);
  *out = ep_node->name.c_str();
  return {};
}
ORT_FN(EpAssignedNode_GetDomain, (const OrtEpAssignedNode* ep_node, const char** out)) {
  TRN_REQUIRE(ep_node, out);
  *out = ep_node->domain.c_str();
  return {};
}
ORT_FN(EpAssignedNode_GetOperatorType, (const OrtEpAssignedNode* ep_node, const char** out)) {
  TRN_REQUIRE(ep_node, out);
  *out = ep_node->op_type.c_str();
  return {};
}

}  // namespace trunnion::abi
