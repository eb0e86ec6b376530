// KernelInfo_*: the node that a custom operator's kernel is made for.
#include <cstring>

#include "abi/kernel_handles.h"
#include "abi/slots.h"

namespace trunnion::abi {
namespace {

template <class T>
Result<const T*> attribute(const OrtKernelInfo* info, const char* name) {
  const ir::Attr* a = info->node->find_attr(name);
  if (const auto it = info->defaults.find(name); !a && it != info->defaults.end()) a = &it->second;
  if (!a) return error(Code::fail, "No attribute with name:'{}'is defined.", name);
  const T* value = a->get<T>();
  if (!value)
    return error(Code::fail, "Requested attribute: {} is of type: {}", name, schema::attr_type_name(a->type()));
  return value;
}

// In the two-call manner: `out` NULL asks for the count.
template <class T>
Status copy_array(const std::vector<T>& from, T* out, size_t* size) {
  const size_t have = *size;
  *size = from.size();
  if (!out) return {};
  if (have < from.size()) return invalid_argument("the buffer holds {} elements, there are {}", have, from.size());
  std::copy(from.begin(), from.end(), out);
  return {};
}

Status port(std::span<ir::Value* const> values, size_t index, const char* what, const ir::Value** out) {
  if (index >= values.size()) return invalid_argument("there is no {} {}: the node has {}", what, index, values.size());
  *out = values[index];
  return {};
}

Status port_name(std::span<ir::Value* const> values, size_t index, const char* what, char* out, size_t* size) {
  const ir::Value* v = nullptr;
  TRN_TRY(port(values, index, what, &v));
  return copy_to_buffer(v ? std::string_view(v->name()) : std::string_view(), out, size, what);
}

Status port_type(std::span<ir::Value* const> values, size_t index, const char* what, OrtTypeInfo** out) {
  const ir::Value* v = nullptr;
  TRN_TRY(port(values, index, what, &v));
  if (!v) return invalid_argument("{} {} is left out: it has no type", what, index);
  *out = make_type_info(v->fact.type).release();
  return {};
}

}  // namespace

ORT_FN(KernelInfoGetAttribute_float, (const OrtKernelInfo* info, const char* name, float* out)) {
  TRN_REQUIRE(info, name, out);
  TRN_ASSIGN(const float* value, attribute<float>(info, name));
  *out = *value;
  return {};
}

ORT_FN(KernelInfoGetAttribute_int64, (const OrtKernelInfo* info, const char* name, int64_t* out)) {
  TRN_REQUIRE(info, name, out);
  TRN_ASSIGN(const int64_t* value, attribute<int64_t>(info, name));
  *out = *value;
  return {};
}

ORT_FN(KernelInfoGetAttribute_string, (const OrtKernelInfo* info, const char* name, char* out, size_t* size)) {
  TRN_REQUIRE(info, name, size);
  TRN_ASSIGN(const std::string* value, attribute<std::string>(info, name));
  return copy_to_buffer(*value, out, size, name);
}

ORT_FN(KernelInfoGetAttributeArray_float, (const OrtKernelInfo* info, const char* name, float* out, size_t* size)) {
  TRN_REQUIRE(info, name, size);
  TRN_ASSIGN(const ir::Attr::Floats* values, attribute<ir::Attr::Floats>(info, name));
  return copy_array(*values, out, size);
}

ORT_FN(KernelInfoGetAttributeArray_int64, (const OrtKernelInfo* info, const char* name, int64_t* out, size_t* size)) {
  TRN_REQUIRE(info, name, size);
  TRN_ASSIGN(const ir::Attr::Ints* values, attribute<ir::Attr::Ints>(info, name));
  return copy_array(*values, out, size);
}

// The array and every string are the caller's, to be freed with the allocator.
ORT_FN(KernelInfoGetAttributeArray_string,
       (const OrtKernelInfo* info, const char* name, OrtAllocator* allocator, char*** out, size_t* size)) {
  TRN_REQUIRE(info, name, allocator, out, size);
  TRN_ASSIGN(const ir::Attr::Strings* values, attribute<ir::Attr::Strings>(info, name));
  *out = nullptr;
  *size = values->size();
  if (values->empty()) return {};
  auto** all = static_cast<char**>(allocator->Alloc(allocator, values->size() * sizeof(char*)));
  if (!all) return error(Code::fail, "the allocator gave no memory for {} strings", values->size());
  for (size_t i = 0; i < values->size(); ++i) {
    if (Status s = copy_string(allocator, (*values)[i], &all[i]); !s.ok()) {
      while (i > 0) allocator->Free(allocator, all[--i]);
      allocator->Free(allocator, all);
      return s;
    }
  }
  *out = all;
  return {};
}

ORT_FN(KernelInfoGetAttribute_tensor,
       (const OrtKernelInfo* info, const char* name, OrtAllocator* allocator, OrtValue** out)) {
  TRN_REQUIRE(info, name, allocator, out);
  TRN_ASSIGN(const Tensor* tensor, attribute<Tensor>(info, name));
  TRN_ASSIGN(auto made, tensor_like(*tensor, allocator));
  copy_at_host(*tensor, made->value.tensor());
  *out = made.release();
  return {};
}

ORT_FN(KernelInfoGetConstantInput_tensor,
       (const OrtKernelInfo* info, size_t index, int* is_constant, const OrtValue** out)) {
  TRN_REQUIRE(info, is_constant, out);
  const auto it = info->constants.find(index);
  *is_constant = it != info->constants.end();
  *out = *is_constant ? it->second.get() : nullptr;
  return {};
}

ORT_FN(KernelInfo_GetInputCount, (const OrtKernelInfo* info, size_t* out)) {
  TRN_REQUIRE(info, out);
  *out = info->node->inputs().size();
  return {};
}

ORT_FN(KernelInfo_GetOutputCount, (const OrtKernelInfo* info, size_t* out)) {
  TRN_REQUIRE(info, out);
  *out = info->node->outputs().size();
  return {};
}

ORT_FN(KernelInfo_GetInputName, (const OrtKernelInfo* info, size_t index, char* out, size_t* size)) {
  TRN_REQUIRE(info, size);
  return port_name(info->node->inputs(), index, "input", out, size);
}

ORT_FN(KernelInfo_GetOutputName, (const OrtKernelInfo* info, size_t index, char* out, size_t* size)) {
  TRN_REQUIRE(info, size);
  return port_name(info->node->outputs(), index, "output", out, size);
}

ORT_FN(KernelInfo_GetInputTypeInfo, (const OrtKernelInfo* info, size_t index, OrtTypeInfo** type_info)) {
  TRN_REQUIRE(info, type_info);
  return port_type(info->node->inputs(), index, "input", type_info);
}

ORT_FN(KernelInfo_GetOutputTypeInfo, (const OrtKernelInfo* info, size_t index, OrtTypeInfo** type_info)) {
  TRN_REQUIRE(info, type_info);
  return port_type(info->node->outputs(), index, "output", type_info);
}

ORT_FN(KernelInfo_GetNodeName, (const OrtKernelInfo* info, char* out, size_t* size)) {
  TRN_REQUIRE(info, size);
  return copy_to_buffer(info->node->name(), out, size, "node name");
}

ORT_FN(KernelInfo_GetOperatorDomain, (const OrtKernelInfo* info, char* out, size_t* size)) {
  TRN_REQUIRE(info, size);
  return copy_to_buffer(info->node->domain(), out, size, "domain");
}

ORT_FN(KernelInfo_GetOperatorType, (const OrtKernelInfo* info, char* out, size_t* size)) {
  TRN_REQUIRE(info, size);
  return copy_to_buffer(info->node->op_type(), out, size, "operator type");
}

ORT_FN(KernelInfo_GetOperatorSinceVersion, (const OrtKernelInfo* info, int* since_version)) {
  TRN_REQUIRE(info, since_version);
  *since_version = info->node->since();
  return {};
}

ORT_FN(KernelInfo_GetLogger, (const OrtKernelInfo* info, const OrtLogger** logger)) {
  TRN_REQUIRE(info, logger);
  *logger = &info->session->log;
  return {};
}

ORT_FN(KernelInfo_GetConfigEntries, (const OrtKernelInfo* info, OrtKeyValuePairs** out)) {
  TRN_REQUIRE(info, out);
  auto pairs = std::make_unique<OrtKeyValuePairs>();
  for (const auto& [key, value] : info->session->config) pairs->set(key, value);
  *out = pairs.release();
  return {};
}

// There is one allocator for all kinds of CPU memory, and one for the memory of a plugin's device; releasing them is
// allowed and does nothing.
ORT_FN(KernelInfoGetAllocator, (const OrtKernelInfo* info, OrtMemType type, OrtAllocator** out)) {
  TRN_REQUIRE(info, out);
  *out = type == OrtMemTypeDefault && info->allocator ? info->allocator : default_allocator();
  return {};
}

TABLE_FN(OrtEpApi, KernelInfo_GetEp, (const OrtKernelInfo* info, const OrtEp** ep)) {
  TRN_REQUIRE(info, ep);
  *ep = info->ep;
  return info->ep ? Status() : invalid_argument("the kernel is that of a custom operator, which no provider made");
}

ORT_FN(CopyKernelInfo, (const OrtKernelInfo* info, OrtKernelInfo** info_copy)) {
  TRN_REQUIRE(info, info_copy);
  *info_copy = new OrtKernelInfo(*info);
  return {};
}

ORT_FN_AS(void, ReleaseKernelInfo, (OrtKernelInfo * info)) { delete info; }

}  // namespace trunnion::abi
