// OrtIoBinding: values bound to the names of inputs and outputs ahead of a run.
#include "abi/io_binding.h"

#include <algorithm>
#include <cstring>

#include "abi/session_handle.h"
#include "abi/slots.h"

namespace trunnion::abi {
namespace {

// Allocates an array through the user's allocator.
template <class T>
Result<T*> array(OrtAllocator* allocator, size_t count) {
  auto* p = static_cast<T*>(allocator->Alloc(allocator, count * sizeof(T)));
  if (!p && count) return error(Code::fail, "the allocator gave no memory for {} bytes", count * sizeof(T));
  return p;
}

void bind(std::vector<OrtIoBinding::Entry>& entries, const char* name, OrtValue value, bool given = true,
          std::shared_ptr<const OrtMemoryInfo> device = nullptr) {
  const auto it = std::ranges::find(entries, name, &OrtIoBinding::Entry::name);
  if (it == entries.end())
    entries.push_back({name, std::move(value), given, std::move(device)});
  else
    *it = {name, std::move(value), given, std::move(device)};
}

}  // namespace

ORT_FN(CreateIoBinding, (OrtSession * session, OrtIoBinding** out)) {
  TRN_REQUIRE(session, out);
  *out = new OrtIoBinding{session, {}, {}};
  return {};
}

ORT_FN_AS(void, ReleaseIoBinding, (OrtIoBinding * binding)) { delete binding; }

ORT_FN(BindInput, (OrtIoBinding * binding_ptr, const char* name, const OrtValue* val_ptr)) {
  TRN_REQUIRE(binding_ptr, name, val_ptr);
  bind(binding_ptr->inputs, name, *val_ptr);
  return {};
}

ORT_FN(BindOutput, (OrtIoBinding * binding_ptr, const char* name, const OrtValue* val_ptr)) {
  TRN_REQUIRE(binding_ptr, name, val_ptr);
  bind(binding_ptr->outputs, name, *val_ptr, val_ptr->value.has_value());
  return {};
}

ORT_FN(BindOutputToDevice, (OrtIoBinding * binding_ptr, const char* name, const OrtMemoryInfo* mem_info_ptr)) {
  TRN_REQUIRE(binding_ptr, name, mem_info_ptr);
  std::shared_ptr<const OrtMemoryInfo> device;
  if (!mem_info_ptr->host_accessible()) {
    TRN_TRY(binding_ptr->session->process->allocator_for(*mem_info_ptr)
                .status()
                .with_context(fmt::format("BindOutputToDevice: output '{}'", name)));
    device = std::make_shared<const OrtMemoryInfo>(*mem_info_ptr);
  }
  bind(binding_ptr->outputs, name, OrtValue{}, false, std::move(device));
  return {};
}

ORT_FN_AS(void, ClearBoundInputs, (OrtIoBinding * binding_ptr)) {
  if (binding_ptr) binding_ptr->inputs.clear();
}
ORT_FN_AS(void, ClearBoundOutputs, (OrtIoBinding * binding_ptr)) {
  if (binding_ptr) binding_ptr->outputs.clear();
}

// Values are in host memory when bound and when a run has returned.
ORT_FN(SynchronizeBoundInputs, (OrtIoBinding * binding_ptr)) {
  TRN_REQUIRE(binding_ptr);
  return {};
}
ORT_FN(SynchronizeBoundOutputs, (OrtIoBinding * binding_ptr)) {
  TRN_REQUIRE(binding_ptr);
  return {};
}

ORT_FN(GetBoundOutputNames,
       (const OrtIoBinding* binding_ptr, OrtAllocator* allocator, char** buffer, size_t** lengths, size_t* count)) {
  TRN_REQUIRE(binding_ptr, allocator, buffer, lengths, count);
  *buffer = nullptr;
  *lengths = nullptr;
  *count = 0;
  const auto& outputs = binding_ptr->outputs;
  if (outputs.empty()) return {};
  size_t total = 0;
  for (const auto& o : outputs) total += o.name.size();
  TRN_ASSIGN(char* text, array<char>(allocator, total));
  auto sizes = array<size_t>(allocator, outputs.size());
  if (!sizes.ok()) {
    allocator->Free(allocator, text);
    return sizes.status();
  }
  char* at = text;
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::memcpy(at, outputs[i].name.data(), outputs[i].name.size());
    at += outputs[i].name.size();
    (*sizes)[i] = outputs[i].name.size();
  }
  *buffer = text;
  *lengths = *sizes;
  *count = outputs.size();
  return {};
}

ORT_FN(GetBoundOutputValues,
       (const OrtIoBinding* binding_ptr, OrtAllocator* allocator, OrtValue*** output, size_t* output_count)) {
  TRN_REQUIRE(binding_ptr, allocator, output, output_count);
  *output = nullptr;
  *output_count = 0;
  const auto& outputs = binding_ptr->outputs;
  if (outputs.empty()) return {};
  std::vector<std::unique_ptr<OrtValue>> values;
  for (const auto& o : outputs) values.push_back(std::make_unique<OrtValue>(o.value));
  TRN_ASSIGN(OrtValue * *all, array<OrtValue*>(allocator, outputs.size()));
  for (size_t i = 0; i < values.size(); ++i) all[i] = values[i].release();
  *output = all;
  *output_count = outputs.size();
  return {};
}

}  // namespace trunnion::abi
