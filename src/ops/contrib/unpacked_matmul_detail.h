// Products with a matrix of few-bit codes that is unpacked to f32 column by column: once when it is constant, else in
// each run.
#pragma once
#include "kernels/gemm.h"
#include "ops/op.h"

namespace trunnion::ops {

class UnpackedMatMul {
 public:
  // Writes the k weights of a column.
  using Column = FunctionRef<Status(int64_t column, float* to)>;
  struct State {
    int64_t m = 0;
    kernels::GemmGrid grid;
    size_t columns_offset = 0, scratch_offset = 0, scratch_stride = 0;
  };

  UnpackedMatMul(int64_t k, int64_t n) : k_(k), n_(n) {}
  Status pack(Column column);
  bool packed() const { return packed_.valid(); }

  // Adds its needs for m rows behind `offset` bytes of scratch; returns the total.
  Result<size_t> prepare(int64_t m, int threads, size_t offset, State& state) const;
  // y[m, n] = a[m, k] times the weights, plus the bias of the columns (may be null). `column` is called unless packed;
  // no weights: as if k were 0.
  Status run(KernelContext& ctx, const State& state, const float* a, const float* bias, bool weights, Column column,
             float* y) const;

 private:
  int64_t k_, n_;
  Tensor packed_;
};

}  // namespace trunnion::ops
