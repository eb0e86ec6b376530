// Tensors of strings: filling and reading them.
#include <cstring>

#include "abi/handles.h"
#include "abi/slots.h"

namespace trunnion::abi {
namespace {

// Of a sparse tensor: its values.
Result<std::span<std::string>> strings_of(const OrtValue* value) {
  const Tensor* tensor = value->value.is_tensor()                            ? &value->value.tensor()
                         : value->value.kind() == Value::Kind::sparse_tensor ? &value->value.sparse().values
                                                                             : nullptr;
  if (!tensor || tensor->dtype() != DType::string) return error(Code::fail, "the value is not a tensor of strings");
  return tensor->span<std::string>();
}

Result<std::string*> string_at(const OrtValue* value, size_t index) {
  TRN_ASSIGN(auto strings, strings_of(value));
  if (index >= strings.size())
    return invalid_argument("element index {} is out of bounds: the tensor has {}", index, strings.size());
  return &strings[index];
}

}  // namespace

ORT_FN(FillStringTensor, (OrtValue * value, const char* const* s, size_t s_len)) {
  TRN_REQUIRE(value);
  if (s_len) TRN_REQUIRE(s);
  TRN_ASSIGN(auto strings, strings_of(value));
  if (s_len != strings.size())
    return invalid_argument("FillStringTensor: {} strings for a tensor of {} elements", s_len, strings.size());
  for (size_t i = 0; i < s_len; ++i) {
    if (!s[i]) return invalid_argument("FillStringTensor: string {} is NULL", i);
    strings[i] = s[i];
  }
  return {};
}

ORT_FN(FillStringTensorElement, (OrtValue * value, const char* s, size_t index)) {
  TRN_REQUIRE(value, s);
  TRN_ASSIGN(std::string * element, string_at(value, index));
  *element = s;
  return {};
}

ORT_FN(GetResizedStringTensorElementBuffer, (OrtValue * value, size_t index, size_t length_in_bytes, char** buffer)) {
  TRN_REQUIRE(value, buffer);
  TRN_ASSIGN(std::string * element, string_at(value, index));
  element->resize(length_in_bytes);
  *buffer = element->data();
  return {};
}

ORT_FN(GetStringTensorDataLength, (const OrtValue* value, size_t* len)) {
  TRN_REQUIRE(value, len);
  TRN_ASSIGN(auto strings, strings_of(value));
  size_t total = 0;
  for (const auto& s : strings) total += s.size();
  *len = total;
  return {};
}

ORT_FN(GetStringTensorContent, (const OrtValue* value, void* s, size_t s_len, size_t* offsets, size_t offsets_len)) {
  TRN_REQUIRE(value);
  TRN_ASSIGN(auto strings, strings_of(value));
  if (offsets_len != strings.size())
    return error(Code::fail, "GetStringTensorContent: {} offsets for a tensor of {} elements", offsets_len,
                 strings.size());
  size_t total = 0;
  for (const auto& text : strings) total += text.size();
  if (s_len < total)
    return error(Code::fail, "GetStringTensorContent: the buffer has {} bytes, {} are needed", s_len, total);
  if (total) TRN_REQUIRE(s);
  if (offsets_len) TRN_REQUIRE(offsets);
  size_t at = 0;
  for (size_t i = 0; i < strings.size(); ++i) {
    offsets[i] = at;
    if (!strings[i].empty()) std::memcpy(static_cast<char*>(s) + at, strings[i].data(), strings[i].size());
    at += strings[i].size();
  }
  return {};
}

ORT_FN(GetStringTensorElementLength, (const OrtValue* value, size_t index, size_t* out)) {
  TRN_REQUIRE(value, out);
  TRN_ASSIGN(const std::string* element, string_at(value, index));
  *out = element->size();
  return {};
}

ORT_FN(GetStringTensorElement, (const OrtValue* value, size_t s_len, size_t index, void* s)) {
  TRN_REQUIRE(value);
  TRN_ASSIGN(const std::string* element, string_at(value, index));
  if (s_len < element->size())
    return error(Code::fail, "GetStringTensorElement: the buffer has {} bytes, {} are needed", s_len, element->size());
  if (element->empty()) return {};
  TRN_REQUIRE(s);
  std::memcpy(s, element->data(), element->size());
  return {};
}

}  // namespace trunnion::abi
