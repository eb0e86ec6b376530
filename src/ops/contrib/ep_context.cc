// EPContext: nodes that an execution provider compiled and keeps in a file. Only that provider can run it.
#include "ops/op.h"

namespace trunnion::ops {
namespace {

constexpr OpDef kDefs[] = {{.name = "EPContext",
                            .flags = {.reviewed = 1, .dynamic = true, .random = true},
                            .domain = "com.microsoft",
                            .schema_row = "com.microsoft::EPContext 1 (inputs*~:T) -> (outputs+~:T) {main_context:i=1, "
                                          "ep_cache_context:s, embed_mode:i=1, ep_sdk_version:s, "
                                          "onnx_model_filename:s, hardware_architecture:s, partition_name:s, source:s, "
                                          "notes:s, max_size:i=0, *:s} T=basic|bf16"}};

}  // namespace

TRUNNION_OPS(ep_context, kDefs);

}  // namespace trunnion::ops
