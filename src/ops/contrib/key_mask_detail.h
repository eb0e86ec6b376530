// Integer masks of the attention operators of com.microsoft: which keys of a batch exist, said in several forms. They
// become f32 terms that are added to the scores: 0, or the filter value where a key does not exist.
#pragma once
#include "ops/nn/attention_detail.h"

namespace trunnion::ops {

struct KeyMask {
  enum class Form { none, ends, ends_and_starts, keys, rows } form = Form::none;
  int64_t batch = 0, queries = 0, total = 0;

  int64_t rows() const { return form == Form::none ? 0 : form == Form::rows ? batch * queries : batch; }
  size_t bytes() const { return (static_cast<size_t>(rows() * total) * sizeof(float) + 63) / 64 * 64; }

  // dims: {batch}: where the keys end; {2 batch}: ends, then starts; {3 batch + 2}: ends, and what only GPUs read;
  // {batch, total} and {batch, queries, total}: 1 where a key exists.
  static Result<KeyMask> of(std::span<const int64_t> dims, int64_t batch, int64_t queries, int64_t total);
  // The terms of the mask's elements, in `to` (bytes()).
  AttentionBias fill(KernelContext& ctx, const int32_t* mask, float filter, float* to) const;
};

// Refuses ranks and sizes that no form has; unknown dimensions pass.
Status check_key_mask(const SymShape& mask, const Dim& batch, const Dim& queries, const Dim& total);

}  // namespace trunnion::ops
