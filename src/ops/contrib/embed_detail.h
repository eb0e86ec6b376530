// What EmbedLayerNormalization and QEmbedLayerNormalization share: rows of three tables are added and normalized.
#pragma once
#include "ops/op.h"

namespace trunnion::ops {

// Inputs by their place in the node.
struct EmbedInputs {
  int words, segments, word_table, position_table, segment_table, gamma, beta, mask, positions;
};

// Output 0 and the mask's index (output 1); the sum (output 2) when the operator has it.
Status infer_embed(ir::Facts& f, const EmbedInputs& in, DType out);

// Row `index` of a table as f32, at a place that may be written over by the next row of the same table.
using EmbedRow = FunctionRef<const float*(int table, int64_t index, float* scratch)>;

// Elements of f32 scratch for one thread.
int64_t embed_scratch(int64_t hidden);

// gamma and beta: f32. row(table, ...) gives rows of the inputs word_table, position_table and segment_table.
Status run_embed(KernelContext& ctx, const EmbedInputs& in, const float* gamma, const float* beta, float epsilon,
                 EmbedRow row);

}  // namespace trunnion::ops
