/* Extras of the engine beyond the ONNX Runtime C ABI (ort_abi.h). Objects are those of that ABI. */
#ifndef TRUNNION_TRUNNION_H_
#define TRUNNION_TRUNNION_H_
#include "trunnion/ort_abi.h"

#define TRUNNION_API_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

/* What a session can be told beyond ONNX Runtime's options: keys for AddSessionConfigEntry.
 *
 * How near to the exact result it has to come: "strict", "fp32" (the default), "fast" or "bf16"; and for nodes of their
 * own, as "conv1=strict;/head/MatMul=fp32" (docs/precision.md). */
#define TRUNNION_KEY_PRECISION "precision"
#define TRUNNION_KEY_PRECISION_OF_NODES "precision.nodes"
/* The folder of a cache of loaded models, and how many bytes it may have (docs/load.md). */
#define TRUNNION_KEY_CACHE_DIR "session.cache_dir"
#define TRUNNION_KEY_CACHE_MAX_BYTES "session.cache_max_bytes"
/* "1": a node that the first provider does not take, or an option that nobody knows, is an error. */
#define TRUNNION_KEY_STRICT_PLACEMENT "session.strict_placement"
#define TRUNNION_KEY_STRICT_CONFIG "session.strict_config"

/* Parity with another engine or level, node by node: ModelNodesJson names the values, ExtractModel makes a model that
 * gives them, and both run it. `trunnion compare` does so.
 *
 * Functions are only ever added at the end. Texts given as char** come out of `allocator` and are freed with it. */
typedef struct TrunnionApi {
  uint32_t version; /* of this table */

  /* The engine's own version, x.y.z. */
  const char* (*Version)(void);

  /* Which provider took each node of the model, and why the others refused: a JSON object. */
  OrtStatus* (*SessionPlacementJson)(const OrtSession* session, OrtAllocator* allocator, char** json);

  /* The steps of loading in order, with their time: {"steps":[{"name":...,"ms":...},...],"total_ms":...}. */
  OrtStatus* (*SessionLoadTimingsJson)(const OrtSession* session, OrtAllocator* allocator, char** json);

  /* What the session holds: {"weights_bytes":...,"arena_bytes":...,"output_bytes":...,"cached_plans":...}. */
  OrtStatus* (*SessionMemoryJson)(const OrtSession* session, OrtAllocator* allocator, char** json);

  /* The graph as it is run, after all rewrites, in the engine's text form. */
  OrtStatus* (*SessionGraphText)(const OrtSession* session, OrtAllocator* allocator, char** text);

  /* What a model file is, without running it: a JSON object with inputs, outputs, opsets, operators with counts,
   * parameters, flops and activation_bytes (numbers or expressions of the model's symbols, as texts) and problems (what
   * would not run, and why). `options` (may be NULL) counts for free-dimension overrides. */
  OrtStatus* (*InspectModelJson)(const OrtEnv* env, const char* path, const OrtSessionOptions* options,
                                 OrtAllocator* allocator, char** json);

  /* One line: how many nodes which provider took. */
  OrtStatus* (*SessionPlacementSummary)(const OrtSession* session, OrtAllocator* allocator, char** text);

  /* Every operator that the engine knows: a JSON array of objects with domain, operator, versions, deprecated,
   * provider (null: nobody runs it), newest (version that is implemented), types, missing_types. */
  OrtStatus* (*OperatorsJson)(OrtAllocator* allocator, char** json);

  /* What the engine finds around it: a JSON object with version, library, cpu, threads, extras, accelerators,
   * environment, providers (names of those that sessions can have, with their devices) and plugins (name, path and
   * factories of every library that is registered). */
  OrtStatus* (*EnvironmentJson)(const OrtEnv* env, OrtAllocator* allocator, char** json);

  /* The nodes of a model's main graph in order, functions inlined: a JSON array of objects with label, name, op_type,
   * domain, inputs (names) and outputs (name, type). `options` (may be NULL) counts for free-dimension overrides. */
  OrtStatus* (*ModelNodesJson)(const OrtEnv* env, const char* path, const OrtSessionOptions* options,
                               OrtAllocator* allocator, char** json);

  /* Writes the part of a model that leads from some values (none: from its inputs) to others as a model of its own,
   * with the weights that it reads. Names are those of ModelNodesJson. */
  OrtStatus* (*ExtractModel)(const OrtEnv* env, const char* path, const OrtSessionOptions* options,
                             const char* const* inputs, size_t input_count, const char* const* outputs,
                             size_t output_count, const char* to);
} TrunnionApi;

/* NULL for a version that the library does not have. */
ORT_EXPORT const TrunnionApi* TrunnionGetApi(uint32_t version);

#ifdef __cplusplus
}
#endif
#endif /* TRUNNION_TRUNNION_H_ */
