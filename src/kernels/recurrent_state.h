// One token's step of linear attention: a matrix that is decayed, corrected by an outer product, and read.
// The columns of the matrix do not know each other: callers may do them in ranges. No alignment is required.
#pragma once
#include <cstdint>

namespace trunnion::kernels {

struct StateStep {
  float* state = nullptr;  // [rows][stride], of which `cols` columns take part
  int64_t rows = 0, cols = 0, stride = 0;
  const float* decay = nullptr;  // factors: one for each row, or, by_row unset, one for all; null: 1
  bool by_row = false;
  const float* key = nullptr;    // one for each row
  const float* value = nullptr;  // one for each column
  bool corrects = false;         // the value is first reduced by what the matrix gives for the key, then scaled by rate
  float rate = 1;
  const float* query = nullptr;  // one for each row; of no meaning without y
  float scale = 1;
  float* y = nullptr;  // one for each column, or null: what the new matrix gives for scale * query
};

struct RecurrentStateKernels {
  // state = decay * state + key (x) update, where update = corrects ? rate * (value - key' (decay * state)) : value.
  void (*update)(const StateStep& step);
  // y[c] = sum over rows of (scale * query[r]) * state[r][c]: a further query.
  void (*read)(const float* state, int64_t rows, int64_t cols, int64_t stride, const float* query, float scale,
               float* y);
};
const RecurrentStateKernels& recurrent_state();

}  // namespace trunnion::kernels
