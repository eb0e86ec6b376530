// OrtModelMetadata: what the model file says of itself.
#include <algorithm>

#include "abi/session_handle.h"
#include "abi/slots.h"

namespace trunnion::abi {

ORT_FN(SessionGetModelMetadata, (const OrtSession* session, OrtModelMetadata** out)) {
  TRN_REQUIRE(session, out);
  const ir::Model& model = session->session->model();
  *out = new OrtModelMetadata{
      model.producer_name, model.graph->name,
      model.domain,        model.doc,
      model.graph->doc,    model.has_model_version ? model.model_version : std::numeric_limits<int64_t>::max(),
      model.metadata};
  return {};
}

ORT_FN_AS(void, ReleaseModelMetadata, (OrtModelMetadata * metadata)) { delete metadata; }

ORT_FN(ModelMetadataGetProducerName, (const OrtModelMetadata* model_metadata, OrtAllocator* allocator, char** value)) {
  TRN_REQUIRE(model_metadata, allocator, value);
  return copy_string(allocator, model_metadata->producer, value);
}

ORT_FN(ModelMetadataGetGraphName, (const OrtModelMetadata* model_metadata, OrtAllocator* allocator, char** value)) {
  TRN_REQUIRE(model_metadata, allocator, value);
  return copy_string(allocator, model_metadata->graph_name, value);
}

ORT_FN(ModelMetadataGetDomain, (const OrtModelMetadata* model_metadata, OrtAllocator* allocator, char** value)) {
  TRN_REQUIRE(model_metadata, allocator, value);
  return copy_string(allocator, model_metadata->domain, value);
}

ORT_FN(ModelMetadataGetDescription, (const OrtModelMetadata* model_metadata, OrtAllocator* allocator, char** value)) {
  TRN_REQUIRE(model_metadata, allocator, value);
  return copy_string(allocator, model_metadata->description, value);
}

ORT_FN(ModelMetadataGetGraphDescription,
       (const OrtModelMetadata* model_metadata, OrtAllocator* allocator, char** value)) {
  TRN_REQUIRE(model_metadata, allocator, value);
  return copy_string(allocator, model_metadata->graph_description, value);
}

ORT_FN(ModelMetadataGetVersion, (const OrtModelMetadata* model_metadata, int64_t* value)) {
  TRN_REQUIRE(model_metadata, value);
  *value = model_metadata->version;
  return {};
}

ORT_FN(ModelMetadataLookupCustomMetadataMap,
       (const OrtModelMetadata* model_metadata, OrtAllocator* allocator, const char* key, char** value)) {
  TRN_REQUIRE(model_metadata, allocator, key, value);
  const auto it =
      std::ranges::find(model_metadata->custom, std::string_view(key), &std::pair<std::string, std::string>::first);
  *value = nullptr;
  if (it == model_metadata->custom.end()) return {};
  return copy_string(allocator, it->second, value);
}

ORT_FN(ModelMetadataGetCustomMetadataMapKeys,
       (const OrtModelMetadata* model_metadata, OrtAllocator* allocator, char*** keys, int64_t* num_keys)) {
  TRN_REQUIRE(model_metadata, allocator, keys, num_keys);
  const auto& custom = model_metadata->custom;
  *keys = nullptr;
  *num_keys = 0;
  if (custom.empty()) return {};
  auto** all = static_cast<char**>(allocator->Alloc(allocator, custom.size() * sizeof(char*)));
  if (!all) return error(Code::fail, "the allocator gave no memory for {} keys", custom.size());
  for (size_t i = 0; i < custom.size(); ++i) {
    if (Status status = copy_string(allocator, custom[i].first, &all[i]); !status.ok()) {
      while (i > 0) allocator->Free(allocator, all[--i]);
      allocator->Free(allocator, all);
      return status;
    }
  }
  *keys = all;
  *num_keys = static_cast<int64_t>(custom.size());
  return {};
}

}  // namespace trunnion::abi
