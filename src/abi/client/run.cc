// Running a session: Run, RunAsync, RunWithBinding.
#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

#include "abi/io_binding.h"
#include "abi/plugin/sync_stream.h"
#include "abi/session_handle.h"
#include "abi/slots.h"
#include "base/small_vector.h"

namespace trunnion::abi {
namespace {

const session::RunOptions& options_or_default(const OrtRunOptions* options) {
  static const OrtRunOptions none;  // plugins get it back as such
  return options ? options->options : none.options;
}

// An array that costs no allocation for the few outputs that models have.
template <class T>
class Few {
 public:
  explicit Few(size_t size) : size_(size), data_(size <= kFew ? reinterpret_cast<T*>(few_) : new T[size]) {
    if (size <= kFew) std::uninitialized_value_construct_n(data_, size);
  }
  ~Few() {
    if (size_ <= kFew)
      std::destroy_n(data_, size_);
    else
      delete[] data_;
  }
  Few(const Few&) = delete;
  Few& operator=(const Few&) = delete;
  T& operator[](size_t i) { return data_[i]; }
  operator std::span<T>() { return {data_, size_}; }  // NOLINT: it is one

 private:
  static constexpr size_t kFew = 4;
  size_t size_;
  T* data_;
  alignas(T) std::byte few_[kFew * sizeof(T)];
};

// Inputs that the caller holds on a device, copied to the host before the run, in one go.
class DeviceFeeds {
 public:
  // What the session is fed instead: its elements are there after copy().
  Result<const Value*> add(const OrtValue& v) {
    TRN_ASSIGN(Tensor t, Tensor::allocate(v.value.tensor().dtype(), v.value.tensor().shape()));
    from_.push_back(&v);
    to_.push_back(twins_.emplace_back(std::make_unique<OrtValue>(OrtValue{std::move(t), nullptr})).get());
    const Value* fed = &to_.back()->value;
    return fed;
  }
  Status copy(const Process& process) const { return process.copy(from_, to_, nullptr); }

 private:
  std::vector<std::unique_ptr<OrtValue>> twins_;
  std::vector<const OrtValue*> from_;
  std::vector<OrtValue*> to_;
};

// A result goes into the caller's buffer on a device.
Status give(const Process& process, const Value& result, OrtValue& to) {
  const OrtValue source{result, nullptr};
  if (!result.is_tensor() || result.tensor().dtype() != to.value.tensor().dtype() ||
      !std::ranges::equal(result.tensor().shape(), to.value.tensor().shape()))
    return invalid_argument("the buffer given on the device is {}, the result is {}", to.value.type().text(),
                            result.type().text());
  const OrtValue* from[] = {&source};
  OrtValue* target[] = {&to};
  return process.copy(from, target, nullptr);
}

// Outputs are OrtValue* that may be NULL: these are made; the others are filled.
Status run(OrtSession& session, const session::RunOptions& options, std::span<const char* const> input_names,
           std::span<const OrtValue* const> inputs, std::span<const char* const> output_names,
           std::span<OrtValue*> outputs) {
  if (output_names.empty()) return invalid_argument("at least one output must be asked for");
  TRN_TRY(check_handles(inputs.data(), inputs.size()));
  TRN_TRY(check_handles(outputs.data(), outputs.size()));
  const size_t lora = options.lora_inputs.size();
  auto* const sync_stream = static_cast<OrtSyncStream*>(options.sync_stream);
  TRN_TRY(check_handles(&sync_stream, 1));
  const StreamOfRun stream(sync_stream);
  std::optional<DeviceFeeds> device_feeds;
  SmallVector<const char*, 8> names(input_names.size() + lora);
  SmallVector<const Value*, 8> feeds(input_names.size() + lora);
  for (size_t i = 0; i < input_names.size(); ++i) {
    if (!input_names[i] || !*input_names[i]) return invalid_argument("the name of input {} is empty", i);
    if (!inputs[i]) return invalid_argument("the value of input '{}' is NULL", input_names[i]);
    names[i] = input_names[i];
    feeds[i] = &inputs[i]->value;
    if (!on_device(*inputs[i])) continue;
    if (!device_feeds) device_feeds.emplace();
    TRN_ASSIGN(feeds[i], device_feeds->add(*inputs[i]));
  }
  if (device_feeds) TRN_TRY(device_feeds->copy(*session.process));
  for (size_t i = 0; i < lora; ++i) {
    names[input_names.size() + i] = options.lora_inputs[i].first.c_str();
    feeds[input_names.size() + i] = &options.lora_inputs[i].second;
  }
  Few<std::unique_ptr<OrtValue>> made(outputs.size());
  Few<Value> results(outputs.size());
  for (size_t k = 0; k < output_names.size(); ++k) {
    if (!output_names[k] || !*output_names[k]) return invalid_argument("the name of output {} is empty", k);
    if (!outputs[k]) {
      made[k] = std::make_unique<OrtValue>();
      continue;
    }
    if (!on_device(*outputs[k])) results[k] = outputs[k]->value;
  }
  TRN_TRY(
      session.session->run(options, {names.data(), names.size()}, {feeds.data(), feeds.size()}, output_names, results));
  for (size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k] && on_device(*outputs[k]))
      TRN_TRY(
          give(*session.process, results[k], *outputs[k]).with_context(fmt::format("output '{}'", output_names[k])));
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!outputs[k]) outputs[k] = made[k].release();
    if (!on_device(*outputs[k])) outputs[k]->value = std::move(results[k]);
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
  for (size_t k = 0; k < binding->outputs.size(); ++k) {
    auto& e = binding->outputs[k];
    if (e.given) continue;
    if (e.device && fresh[k].value.is_tensor()) {
      TRN_ASSIGN(OrtAllocator * allocator, session->process->allocator_for(*e.device));
      TRN_ASSIGN(const auto there, tensor_like(fresh[k].value.tensor(), allocator));
      TRN_TRY(give(*session->process, fresh[k].value, *there));
      fresh[k] = std::move(*there);
    }
    e.value = std::move(fresh[k]);
  }
  return {};
}

}  // namespace trunnion::abi
