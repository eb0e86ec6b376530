// OrtKeyValuePairs and OrtExternalInitializerInfo: small carriers of data.
#include "abi/handles.h"
#include "abi/slots.h"

void OrtKeyValuePairs::set(std::string key, std::string value) {
  entries.insert_or_assign(std::move(key), std::move(value));
  refresh();
}

void OrtKeyValuePairs::refresh() {
  keys.clear();
  values.clear();
  for (const auto& [key, value] : entries) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
}

namespace trunnion::abi {

ORT_FN_AS(void, CreateKeyValuePairs, (OrtKeyValuePairs * *out)) {
  if (out) *out = new OrtKeyValuePairs;
}

ORT_FN_AS(void, AddKeyValuePair, (OrtKeyValuePairs * kvps, const char* key, const char* value)) {
  if (kvps && key && *key && value) kvps->set(key, value);
}

ORT_FN_AS(const char*, GetKeyValue, (const OrtKeyValuePairs* kvps, const char* key)) {
  if (!kvps || !key) return nullptr;
  const auto it = kvps->entries.find(key);
  return it == kvps->entries.end() ? nullptr : it->second.c_str();
}

ORT_FN_AS(void, GetKeyValuePairs,
          (const OrtKeyValuePairs* kvps, const char* const** keys, const char* const** values, size_t* num_entries)) {
  if (keys) *keys = kvps ? kvps->keys.data() : nullptr;
  if (values) *values = kvps ? kvps->values.data() : nullptr;
  if (num_entries) *num_entries = kvps ? kvps->keys.size() : 0;
}

ORT_FN_AS(void, RemoveKeyValuePair, (OrtKeyValuePairs * kvps, const char* key)) {
  if (!kvps || !key || !kvps->entries.erase(key)) return;
  kvps->refresh();
}

ORT_FN_AS(void, ReleaseKeyValuePairs, (OrtKeyValuePairs * kvps)) { delete kvps; }

ORT_FN(CreateExternalInitializerInfo,
       (const ORTCHAR_T* filepath, int64_t file_offset, size_t byte_size, OrtExternalInitializerInfo** out)) {
  TRN_REQUIRE(filepath, out);
  *out = new OrtExternalInitializerInfo{filepath, file_offset, byte_size};
  return {};
}

ORT_FN_AS(void, ReleaseExternalInitializerInfo, (OrtExternalInitializerInfo * info)) { delete info; }
ORT_FN_AS(const ORTCHAR_T*, ExternalInitializerInfo_GetFilePath, (const OrtExternalInitializerInfo* info)) {
  return info ? info->path.c_str() : nullptr;
}
ORT_FN_AS(int64_t, ExternalInitializerInfo_GetFileOffset, (const OrtExternalInitializerInfo* info)) {
  return info ? info->offset : 0;
}
ORT_FN_AS(size_t, ExternalInitializerInfo_GetByteSize, (const OrtExternalInitializerInfo* info)) {
  return info ? info->size : 0;
}

}  // namespace trunnion::abi
