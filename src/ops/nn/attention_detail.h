// Scaled dot-product attention in f32, for every operator that is one: softmax(scale Q K' + bias) V by head. Works on
// blocks of query rows, so that the matrix of scores never exists as a whole; keys and values are packed once per head.
#pragma once
#include <limits>

#include "ops/op.h"

namespace trunnion::ops {

struct AttentionShape {
  int64_t batch = 1, heads = 1, kv_heads = 1;  // heads is a multiple of kv_heads
  int64_t queries = 0, keys = 0;
  int64_t head_size = 0, v_head_size = 0;
};

// Where the rows of an operand are: element (batch, head, row, i) is data + batch * batch_step + head * head_step + row
// * row_step + i * elem_step.
struct AttentionRows {
  const float* data = nullptr;
  int64_t batch_step = 0, head_step = 0, row_step = 0;
  int64_t elem_step = 1;
};

// Something added to all scores. Steps of 0 repeat it.
struct AttentionBias {
  const float* data = nullptr;
  int64_t batch_step = 0, head_step = 0, row_step = 0;
};

struct AttentionArgs {
  AttentionRows q, k, v;
  float* y = nullptr;
  int64_t y_batch = 0, y_head = 0, y_row = 0;
  float scale = 1;
  float softcap = 0;  // 0: none; else scores become softcap * tanh(score / softcap)
  // Added to the scores (f32), or false where a key is left out (bool). Steps of 0 repeat it. Keys from mask_keys on
  // are left out.
  const float* bias = nullptr;
  const bool* allowed = nullptr;
  int64_t mask_batch = 0, mask_head = 0, mask_row = 0, mask_keys = 0;
  int64_t mask_heads = 0;            // the mask has that many heads, which take turns; 0: all
  AttentionBias padding;             // added as well
  bool allowed_is_inverted = false;  // true where a key is left out
  bool select_before_bias = false;   // keys are left out before anything is added: left_out gets it, too
  bool empty_is_nan = false;         // a row of only -inf gives NaN, as Softmax does; else 0
  // Query row i of a batch stands at position offset + i, which bounds its keys: causal, left and right (< 0:
  // unbounded).
  bool causal = false;
  bool last_is_free = false;  // causal does not bound the last query
  int64_t left = -1, right = -1;
  int64_t offset = 0;
  const int64_t* key_counts = nullptr;  // by batch: keys from there on are left out, and offset is key_counts - queries
                                        // where offset_by_count is set
  bool offset_by_count = false;
  const int64_t* offsets = nullptr;                          // by batch, instead of offset
  float left_out = -std::numeric_limits<float>::infinity();  // the score of a key that is left out
  // The softmax has one more column, which belongs to no key: with the score 0, or with sinks[head].
  bool smooth = false;
  const float* sinks = nullptr;
  // Scores as they are at a stage, [batch, heads, queries, keys]: 0 scaled products, 1 after softcap, 2 after bias, 3
  // after softmax.
  float* scores = nullptr;
  int stage = 0;
  bool zero_left_out = false;  // there, keys that are left out have 0
};

// Keys (or values) behind older ones: a block of `rows` rows for every batch and head, which takes `past` old rows,
// then `count` fresh ones, then zeros.
struct AppendRows {
  int64_t batch = 1, heads = 1, size = 0;  // size: elements of a row
  const float* old = nullptr;              // [batch, heads, old_rows, size]; the very bytes of `to` stay where they are
  int64_t old_rows = 0;
  AttentionRows fresh;
  const float* bias = nullptr;  // [heads, size], added to the fresh rows
  float* to = nullptr;          // [batch, heads, rows, size]
  int64_t rows = 0;
  int64_t past = 0, count = 0;                        // past + count may not exceed rows
  const int64_t *pasts = nullptr, *counts = nullptr;  // by batch, instead
};
AttentionRows append_rows(KernelContext& ctx, const AppendRows& a);

// A bias of shape [batch or 1, heads or 1, queries, keys].
void set_score_bias(const TensorView& bias, AttentionArgs& a);

// Bytes of scratch that attention() needs.
size_t attention_scratch(const AttentionShape& shape, int threads);

// Rows without any key give zeros.
void attention(KernelContext& ctx, const AttentionShape& shape, const AttentionArgs& args, std::byte* scratch);

// Refuses when input i is known to have another rank than `want`, or another integer in one of its dimensions.
Status expect_shape(const ir::Facts& f, int i, const SymShape& want);

}  // namespace trunnion::ops
