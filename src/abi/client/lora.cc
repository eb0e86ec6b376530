// LoRA adapters: parameters that a run feeds in addition to its inputs.
#include <cstring>

#include "abi/adapter_file.h"
#include "abi/handles.h"
#include "abi/slots.h"
#include "base/mapped_file.h"

struct OrtLoraAdapter {
  trunnion::abi::Adapter adapter;

  TRN_HANDLE(OrtLoraAdapter);
};

namespace trunnion::abi {
namespace {

Status create(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive, OrtLoraAdapter** out) {
  TRN_ASSIGN(Adapter adapter, read_adapter(bytes, std::move(keep_alive)));
  *out = new OrtLoraAdapter{std::move(adapter)};
  return {};
}

}  // namespace

// The allocator is for parameters that are to lie on a device; those of the CPU stay in the file's pages.
ORT_FN(CreateLoraAdapter, (const ORTCHAR_T* adapter_file_path, OrtAllocator*, OrtLoraAdapter** out)) {
  TRN_REQUIRE(adapter_file_path, out);
  TRN_ASSIGN(std::shared_ptr<MappedFile> file, MappedFile::open(adapter_file_path, OpenMode::map));
  const auto bytes = file->bytes();
  return create(bytes, std::move(file), out);
}

// Copies the bytes.
ORT_FN(CreateLoraAdapterFromArray, (const void* bytes, size_t num_bytes, OrtAllocator*, OrtLoraAdapter** out)) {
  TRN_REQUIRE(bytes, out);
  const int64_t dims[] = {static_cast<int64_t>(num_bytes)};
  if (dims[0] < 0) return invalid_argument("{} bytes are too many", num_bytes);
  TRN_ASSIGN(auto copy, Tensor::allocate(DType::u8, dims));
  std::memcpy(copy.raw(), bytes, num_bytes);
  return create({copy.data<const std::byte>(), num_bytes}, copy.keep_alive(), out);
}

ORT_FN_AS(void, ReleaseLoraAdapter, (OrtLoraAdapter * adapter)) { delete adapter; }

// The options share the parameters: the adapter may be released before they are.
ORT_FN(RunOptionsAddActiveLoraAdapter, (OrtRunOptions * options, const OrtLoraAdapter* adapter)) {
  TRN_REQUIRE(options, adapter);
  for (const auto& [name, tensor] : adapter->adapter.parameters)
    options->options.lora_inputs.emplace_back(name, Value(tensor));
  return {};
}

}  // namespace trunnion::abi
