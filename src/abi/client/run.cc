// Running a session: Run, RunAsync, RunWithBinding.
#include <thread>

#include "abi/io_binding.h"
#include "abi/session_handle.h"
#include "abi/slots.h"
#include "base/small_vector.h"

namespace trunnion::abi {
namespace {

const session::RunOptions& options_or_default(const OrtRunOptions* options) {
  static const session::RunOptions none;
  return options ? options->options : none;
}

// Outputs are OrtValue* that may be NULL: these are made; the others are filled.
Status run(OrtSession& session, const session::RunOptions& options, std::span<const char* const> input_names,
           std::span<const OrtValue* const> inputs, std::span<const char* const> output_names,
           std::span<OrtValue*> outputs) {
  if (output_names.empty()) return invalid_argument("at least one output must be asked for");
  const size_t lora = options.lora_inputs.size();
  SmallVector<const char*, 8> names(input_names.size() + lora);
  SmallVector<const Value*, 8> feeds(input_names.size() + lora);
  for (size_t i = 0; i < input_names.size(); ++i) {
    if (!input_names[i] || !*input_names[i]) return invalid_argument("the name of input {} is empty", i);
    if (!inputs[i]) return invalid_argument("the value of input '{}' is NULL", input_names[i]);
    if (inputs[i]->memory && inputs[i]->value.is_tensor()) TRN_TRY(host_tensor(*inputs[i]));
    names[i] = input_names[i];
    feeds[i] = &inputs[i]->value;
  }
  for (size_t i = 0; i < lora; ++i) {
    names[input_names.size() + i] = options.lora_inputs[i].first.c_str();
    feeds[input_names.size() + i] = &options.lora_inputs[i].second;
  }
  std::vector<std::unique_ptr<OrtValue>> made(outputs.size());
  std::vector<Value> results(outputs.size());
  for (size_t k = 0; k < output_names.size(); ++k) {
    if (!output_names[k] || !*output_names[k]) return invalid_argument("the name of output {} is empty", k);
    if (!outputs[k]) {
      made[k] = std::make_unique<OrtValue>();
      continue;
    }
    if (outputs[k]->memory && outputs[k]->value.is_tensor()) TRN_TRY(host_tensor(*outputs[k]));
    results[k] = outputs[k]->value;
  }
  TRN_TRY(
      session.session->run(options, {names.data(), names.size()}, {feeds.data(), feeds.size()}, output_names, results));
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!outputs[k]) outputs[k] = made[k].release();
    outputs[k]->value = std::move(results[k]);
  }
  return {};
}

}  // namespace

ORT_FN(Run, (OrtSession * session, const OrtRunOptions* run_options, const char* const* input_names,
             const OrtValue* const* inputs, size_t input_len, const char* const* output_names, size_t output_names_len,
             OrtValue** outputs)) {
  TRN_REQUIRE(session);
  if (input_len) TRN_REQUIRE(input_names, inputs);
  if (output_names_len) TRN_REQUIRE(output_names, outputs);
  return run(*session, options_or_default(run_options), {input_names, input_len}, {inputs, input_len},
             {output_names, output_names_len}, {outputs, output_names_len});
}

ORT_FN(RunAsync, (OrtSession * session, const OrtRunOptions* run_options, const char* const* input_names,
                  const OrtValue* const* input, size_t input_len, const char* const* output_names,
                  size_t output_names_len, OrtValue** output, RunAsyncCallbackFn run_async_callback, void* user_data)) {
  TRN_REQUIRE(session);
  if (!run_async_callback) return invalid_argument("argument 'run_async_callback' must not be NULL");
  if (input_len) TRN_REQUIRE(input_names, input);
  if (output_names_len) TRN_REQUIRE(output_names, output);
  struct Call {
    OrtSession* session;
    const OrtRunOptions* options;
    std::vector<const char*> input_names, output_names;
    std::vector<const OrtValue*> inputs;
    std::span<OrtValue*> outputs;
    RunAsyncCallbackFn callback;
    void* user_data;

    OrtStatus* run() noexcept try {
      return to_ort(abi::run(*session, options_or_default(options), input_names, inputs, output_names, outputs));
    } catch (const std::exception& e) {
      return from_exception(e.what());
    }
  };
  auto call = std::make_unique<Call>(Call{session,
                                          run_options,
                                          {input_names, input_names + input_len},
                                          {output_names, output_names + output_names_len},
                                          {input, input + input_len},
                                          {output, output_names_len},
                                          run_async_callback,
                                          user_data});
  std::thread([call = std::move(call)] {
    OrtStatus* status = call->run();
    call->callback(call->user_data, call->outputs.data(), call->outputs.size(), status);
  }).detach();
  return {};
}

ORT_FN(RunWithBinding, (OrtSession * session, const OrtRunOptions* run_options, const OrtIoBinding* binding_ptr)) {
  TRN_REQUIRE(session, binding_ptr);
  auto* binding = const_cast<OrtIoBinding*>(binding_ptr);  // a run fills the bound outputs
  std::vector<const char*> input_names, output_names;
  std::vector<const OrtValue*> inputs;
  std::vector<OrtValue*> outputs;
  for (const auto& e : binding->inputs) {
    input_names.push_back(e.name.c_str());
    inputs.push_back(&e.value);
  }
  // What the last run allocated is not a buffer for the next: its shape may differ.
  std::vector<OrtValue> fresh(binding->outputs.size());
  for (size_t k = 0; k < binding->outputs.size(); ++k) {
    auto& e = binding->outputs[k];
    output_names.push_back(e.name.c_str());
    outputs.push_back(e.given ? &e.value : &fresh[k]);
  }
  TRN_TRY(run(*session, options_or_default(run_options), input_names, inputs, output_names, outputs));
  for (size_t k = 0; k < binding->outputs.size(); ++k)
    if (!binding->outputs[k].given) binding->outputs[k].value = std::move(fresh[k]);
  return {};
}

}  // namespace trunnion::abi
