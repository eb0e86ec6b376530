// Choosing execution providers. Those of other builds are refused by name, so that clients can fall back to the CPU.
#include <algorithm>
#include <cstring>

#include "abi/env.h"
#include "abi/slots.h"
#include "base/edit_distance.h"

namespace trunnion::abi {
namespace {

constexpr std::string_view kAvailable[] = {kCpuProvider};

Status absent(std::string_view name) {
  return error(Code::fail, "{} execution provider is not enabled in this build.", name);
}

Result<session::ConfigMap> pairs(const char* const* keys, const char* const* values, size_t count) {
  session::ConfigMap map;
  if (count) TRN_REQUIRE(keys, values);
  for (size_t i = 0; i < count; ++i) {
    TRN_REQUIRE(keys[i], values[i]);
    map[keys[i]] = values[i];
  }
  return map;
}

}  // namespace

ORT_FN(GetAvailableProviders, (char*** out_ptr, int* provider_length)) {
  TRN_REQUIRE(out_ptr, provider_length);
  constexpr size_t kCount = std::size(kAvailable);
  auto names = std::make_unique<char*[]>(kCount);
  std::unique_ptr<char[]> text[kCount];
  for (size_t i = 0; i < kCount; ++i) {
    text[i] = std::make_unique<char[]>(kAvailable[i].size() + 1);
    std::memcpy(text[i].get(), kAvailable[i].data(), kAvailable[i].size());
  }
  for (size_t i = 0; i < kCount; ++i) names[i] = text[i].release();
  *out_ptr = names.release();
  *provider_length = static_cast<int>(kCount);
  return {};
}

ORT_FN(ReleaseAvailableProviders, (char** ptr, int providers_length)) {
  if (!ptr) return {};
  for (int i = 0; i < providers_length; ++i) delete[] ptr[i];
  delete[] ptr;
  return {};
}

ORT_FN(SessionOptionsAppendExecutionProvider,
       (OrtSessionOptions * options, const char* provider_name, const char* const* provider_options_keys,
        const char* const* provider_options_values, size_t num_keys)) {
  TRN_REQUIRE(options, provider_name);
  TRN_ASSIGN(auto map, pairs(provider_options_keys, provider_options_values, num_keys));
  const std::string_view name = provider_name;
  if (name == "CPU" || name == kCpuProvider) {
    options->options.providers.push_back({std::string(kCpuProvider), std::move(map), {}});
    return {};
  }
  // Takes nothing: for those who write a provider, and for tests. It is not among the available ones, which programs
  // hand on as they are.
  if (name == "NullExecutionProvider") {
    options->options.providers.push_back({std::string(name), std::move(map), {}});
    return {};
  }
  // Those of plugins are chosen by device; their names are known all the same.
  const auto process = Process::acquire();
  std::vector<std::string_view> names;
  for (const OrtEpDevice* d : process->ep_devices())
    if (std::ranges::find(names, d->ep_name) == names.end()) names.push_back(d->ep_name);
  if (std::ranges::find(names, name) != names.end())
    return invalid_argument("{} is a plugin's: SessionOptionsAppendExecutionProvider_V2 takes its device", name);
  return invalid_argument("{} execution provider is not supported in this build. Providers: {}{}", name,
                          fmt::join(names, ", "), did_you_mean(name, names));
}

ORT_FN(SessionOptionsAppendExecutionProvider_V2,
       (OrtSessionOptions * session_options, OrtEnv* env, const OrtEpDevice* const* ep_devices, size_t num_ep_devices,
        const char* const* ep_option_keys, const char* const* ep_option_vals, size_t num_ep_options)) {
  TRN_REQUIRE(session_options, env);
  if (num_ep_devices == 0) return invalid_argument("at least one OrtEpDevice is needed");
  TRN_REQUIRE(ep_devices);
  TRN_ASSIGN(auto map, pairs(ep_option_keys, ep_option_vals, num_ep_options));
  session::ProviderChoice choice{{}, std::move(map), {}};
  const auto& known = env->process->ep_devices();
  for (size_t i = 0; i < num_ep_devices; ++i) {
    if (std::ranges::find(known, ep_devices[i]) == known.end())
      return invalid_argument("ep_devices[{}] is not a device of this environment", i);
    if (i && choice.name != ep_devices[i]->ep_name)
      return invalid_argument("all devices must be of one execution provider, not of {} and {}", choice.name,
                              ep_devices[i]->ep_name);
    choice.name = ep_devices[i]->ep_name;
    choice.devices.push_back(ep_devices[i]);
  }
  // Plugins read their options among the session's, under their name.
  if (ep_devices[0]->factory) {
    std::string prefix = "ep." + choice.name + ".";
    for (char& c : prefix) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    for (const auto& [key, value] : choice.options) session_options->options.config[prefix + key] = value;
  }
  session_options->options.providers.push_back(std::move(choice));
  return {};
}

ORT_FN(SessionOptionsSetEpSelectionPolicy,
       (OrtSessionOptions * session_options, OrtExecutionProviderDevicePolicy policy)) {
  TRN_REQUIRE(session_options);
  session_options->options.provider_policy = policy;
  return {};
}

ORT_FN(SessionOptionsSetEpSelectionPolicyDelegate,
       (OrtSessionOptions * session_options, EpSelectionDelegate delegate, void* delegate_state)) {
  TRN_REQUIRE(session_options);
  session_options->options.provider_policy_delegate = reinterpret_cast<void*>(delegate);
  session_options->options.provider_policy_state = delegate_state;
  return {};
}

ORT_FN(GetExecutionProviderApi, (const char* provider_name, uint32_t, const void** provider_api)) {
  TRN_REQUIRE(provider_name, provider_api);
  *provider_api = nullptr;
  return invalid_argument("the execution provider {} has no interface of its own here", provider_name);
}

ORT_FN(SetCurrentGpuDeviceId, (int)) { return absent("CUDA"); }
ORT_FN(GetCurrentGpuDeviceId, (int*)) { return absent("CUDA"); }

ORT_FN(SessionOptionsAppendExecutionProvider_CUDA, (OrtSessionOptions*, const OrtCUDAProviderOptions*)) {
  return absent("CUDA");
}
ORT_FN(SessionOptionsAppendExecutionProvider_CUDA_V2, (OrtSessionOptions*, const OrtCUDAProviderOptionsV2*)) {
  return absent("CUDA");
}
ORT_FN(CreateCUDAProviderOptions, (OrtCUDAProviderOptionsV2**)) { return absent("CUDA"); }
ORT_FN(SessionOptionsAppendExecutionProvider_ROCM, (OrtSessionOptions*, const OrtROCMProviderOptions*)) {
  return absent("ROCM");
}
ORT_FN(CreateROCMProviderOptions, (OrtROCMProviderOptions**)) { return absent("ROCM"); }
ORT_FN(SessionOptionsAppendExecutionProvider_TensorRT, (OrtSessionOptions*, const OrtTensorRTProviderOptions*)) {
  return absent("TensorRT");
}
ORT_FN(SessionOptionsAppendExecutionProvider_TensorRT_V2, (OrtSessionOptions*, const OrtTensorRTProviderOptionsV2*)) {
  return absent("TensorRT");
}
ORT_FN(CreateTensorRTProviderOptions, (OrtTensorRTProviderOptionsV2**)) { return absent("TensorRT"); }
ORT_FN(SessionOptionsAppendExecutionProvider_OpenVINO, (OrtSessionOptions*, const OrtOpenVINOProviderOptions*)) {
  return absent("OpenVINO");
}
ORT_FN(SessionOptionsAppendExecutionProvider_OpenVINO_V2,
       (OrtSessionOptions*, const char* const*, const char* const*, size_t)) {
  return absent("OpenVINO");
}
ORT_FN(SessionOptionsAppendExecutionProvider_VitisAI,
       (OrtSessionOptions*, const char* const*, const char* const*, size_t)) {
  return absent("VitisAI");
}
ORT_FN(SessionOptionsAppendExecutionProvider_MIGraphX, (OrtSessionOptions*, const OrtMIGraphXProviderOptions*)) {
  return absent("MIGraphX");
}
ORT_FN(SessionOptionsAppendExecutionProvider_CANN, (OrtSessionOptions*, const OrtCANNProviderOptions*)) {
  return absent("CANN");
}
ORT_FN(CreateCANNProviderOptions, (OrtCANNProviderOptions**)) { return absent("CANN"); }
ORT_FN(SessionOptionsAppendExecutionProvider_Dnnl, (OrtSessionOptions*, const OrtDnnlProviderOptions*)) {
  return absent("oneDNN");
}
ORT_FN(CreateDnnlProviderOptions, (OrtDnnlProviderOptions**)) { return absent("oneDNN"); }

}  // namespace trunnion::abi
