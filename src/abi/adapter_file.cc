#include "abi/adapter_file.h"

#include <cstring>

#include "base/error.h"
#include "onnx/flat.h"

namespace trunnion::abi {
namespace {

constexpr int32_t kFormatVersion = 1;

Result<Tensor> tensor_of(std::span<const std::byte> raw, DType type, std::span<const int64_t> dims,
                         const std::shared_ptr<const void>& keep, const std::string& name) {
  const auto bytes = storage_bytes(type, element_count(dims));
  if (type == DType::undefined || type == DType::string || element_count(dims) < 0 || !bytes || *bytes != raw.size())
    return error(Code::fail, "adapter parameter '{}': {} {} do not take {} bytes", name, dtype_name(type),
                 shape_text(dims), raw.size());
  if (reinterpret_cast<uintptr_t>(raw.data()) % std::max<size_t>(size_of(type), 1) == 0)
    return Tensor::borrow(type, dims, const_cast<std::byte*>(raw.data()), keep);
  TRN_ASSIGN(Tensor copy, Tensor::allocate(type, dims));
  if (!raw.empty()) std::memcpy(copy.raw(), raw.data(), raw.size());
  return copy;
}

}  // namespace

Result<Adapter> read_adapter(std::span<const std::byte> bytes, std::shared_ptr<const void> keep_alive) {
  if (!onnx::Flat::has_mark(bytes, "TORT"))
    return error(Code::fail, "the bytes are no adapter file: they do not begin with its mark");
  const onnx::Flat flat(bytes, "the adapter file");
  TRN_ASSIGN(const size_t root, flat.follow(0));
  Adapter adapter;
  TRN_ASSIGN(adapter.format_version, flat.value<int32_t>(root, 0, 0));
  TRN_ASSIGN(adapter.adapter_version, flat.value<int32_t>(root, 1, 0));
  TRN_ASSIGN(adapter.model_version, flat.value<int32_t>(root, 2, 0));
  if (adapter.format_version != kFormatVersion)
    return error(Code::fail, "the adapter file has format version {}, known is {}", adapter.format_version,
                 kFormatVersion);
  TRN_ASSIGN(const auto list, flat.vector(root, 3, 4));
  size_t total = 0;
  for (size_t i = 0; i < list.size() / 4; ++i) {
    TRN_ASSIGN(const size_t table, flat.table_in(list, i));
    TRN_ASSIGN(const std::string_view text, flat.string(table, 0));
    std::string name(text);
    TRN_ASSIGN(const auto dim_bytes, flat.vector(table, 1, 8));
    std::vector<int64_t> dims(dim_bytes.size() / 8);
    if (!dims.empty()) std::memcpy(dims.data(), dim_bytes.data(), dim_bytes.size());
    TRN_ASSIGN(const int32_t type, flat.value<int32_t>(table, 2, 0));
    TRN_ASSIGN(const auto raw, flat.vector(table, 3, 1));
    TRN_ASSIGN(Tensor tensor, tensor_of(raw, dtype_from_code(type).value_or(DType::undefined), dims, keep_alive, name));
    adapter.parameters.emplace_back(std::move(name), std::move(tensor));
  }
  return adapter;
}

}  // namespace trunnion::abi
