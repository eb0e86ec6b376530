/* Extras of the engine beyond the ONNX Runtime C ABI (ort_abi.h). Objects are those of that ABI. */
#ifndef TRUNNION_TRUNNION_H_
#define TRUNNION_TRUNNION_H_
#include "trunnion/ort_abi.h"

#define TRUNNION_API_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

/* Functions are only ever added at the end. Texts given as char** come out of `allocator` and are freed with it. */
typedef struct TrunnionApi {
  uint32_t version; /* of this table */

  /* The engine's own version, x.y.z. */
  const char* (*Version)(void);

  /* Which provider took each node of the model, and why the others refused: a JSON object. */
  OrtStatus* (*SessionPlacementJson)(const OrtSession* session, OrtAllocator* allocator, char** json);

  /* The steps of loading in order, with their time: {"steps":[{"name":...,"ms":...},...],"total_ms":...}. */
  OrtStatus* (*SessionLoadTimingsJson)(const OrtSession* session, OrtAllocator* allocator, char** json);

  /* What the session holds: {"weights_bytes":...,"arena_bytes":...,"cached_plans":...}. */
  OrtStatus* (*SessionMemoryJson)(const OrtSession* session, OrtAllocator* allocator, char** json);

  /* The graph as it is run, after all rewrites, in the engine's text form. */
  OrtStatus* (*SessionGraphText)(const OrtSession* session, OrtAllocator* allocator, char** text);
} TrunnionApi;

/* NULL for a version that the library does not have. */
ORT_EXPORT const TrunnionApi* TrunnionGetApi(uint32_t version);

#ifdef __cplusplus
}
#endif
#endif /* TRUNNION_TRUNNION_H_ */
