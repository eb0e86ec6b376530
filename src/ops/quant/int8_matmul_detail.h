// Products of 8-bit matrices over kernels/gemm_int8.h: what MatMulInteger, QLinearMatMul and their kin share.
#pragma once
#include "kernels/gemm_int8.h"
#include "kernels/requantize.h"
#include "ops/math/matmul_detail.h"
#include "ops/tiles.h"

namespace trunnion::ops {

// Values that a matrix product has once, or for each row of A (or column of B), by batch too.
struct Int8Terms {
  int64_t count = 1;       // 1, or entries for every row (column)
  int64_t batch_step = 0;  // entries from batch to batch
};

// C = (A - a_zero) (B - b_zero) in 32 bits, handed on tile by tile. Constant B is packed when the engine is made.
class Int8MatMulEngine {
 public:
  struct State final : KernelState {
    MatMulShape shape;
    kernels::Int8GemmGrid grid;
    Int8Terms a_zero, b_zero;
    bool pack_whole = false;      // B is packed once per run
    bool pack_per_batch = false;  // a thread does whole batches, packing B first
    size_t a_zero_offset = 0, b_zero_offset = 0, packed_offset = 0, slot_offset = 0, slot_stride = 0;
    size_t slot_packed = 0, slot_tile = 0;  // inside of a slot
  };

  // transposed: the last two dimensions are swapped (rank 2 only).
  static Result<Int8MatMulEngine> make(const ir::Value& b, bool trans_a = false, bool trans_b = false);

  // a_zero and b_zero may be null (no zero point). Adds its needs behind `offset` bytes of scratch; returns the total.
  Result<size_t> prepare(const TensorView& a, const TensorView& b, const TensorView* a_zero, const TensorView* b_zero, int threads, size_t offset,
                         State& state) const;

  // One tile of sums: rows [row, row + rows) and columns [col, col + cols) of a batch.
  struct Tile {
    const int32_t* c;
    int64_t ldc;
    int64_t batch, row, rows, col, cols;
  };
  // finish(tile) may run on several threads at once. With `direct` (dense [batches, M, N]) the sums are stored there and
  // finish sees them in place.
  void run(KernelContext& ctx, const State& state, const TensorView& a, const TensorView& b, const TensorView* a_zero, const TensorView* b_zero,
           int32_t* direct, FunctionRef<void(const Tile&)> finish) const;

 private:
  bool trans_a_ = false, trans_b_ = false;
  Tensor packed_;  // of a constant rank-2 B
};

// Checks that a zero point or scale of these dimensions fits a matrix operand (input `input`): one value, one per row of
// A (dims [M] or [..., M, 1]) or one per column of B (dims [N] or [..., 1, N]).
Status check_matrix_terms(const ir::Facts& f, int input, int operand, bool rows);

// Entries of `terms` laid out for every batch: batch, then row (or column). `out` is the product's shape.
// The result has 1 entry when terms has one.
template <class T, class Read>
void expand_matrix_terms(const TensorView& terms, std::span<const int64_t> out_batch, int64_t count, bool rows, Read&& read, T* to) {
  if (terms.count == 1) {
    *to = read(0);
    return;
  }
  const int rank = terms.rank;
  // The batch dimensions that the terms have, innermost last.
  const int batch_rank = rank <= 1 ? 0 : rank - 2;
  (void)rows;
  int64_t batches = 1;
  for (int64_t d : out_batch) batches *= d;
  for (int64_t b = 0; b < batches; ++b) {
    int64_t rest = b, at = 0, step = count;
    for (int d = static_cast<int>(out_batch.size()) - 1, t = batch_rank - 1; d >= 0; --d, --t) {
      const int64_t i = rest % out_batch[static_cast<size_t>(d)];
      rest /= out_batch[static_cast<size_t>(d)];
      if (t < 0) continue;
      if (terms.dim(t) != 1) at += i * step;
      step *= terms.dim(t);
    }
    for (int64_t i = 0; i < count; ++i) to[b * count + i] = read(at + i);
  }
}

}  // namespace trunnion::ops
