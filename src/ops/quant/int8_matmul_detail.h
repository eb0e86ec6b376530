// Products of 8-bit matrices over kernels/gemm_int8.h: what MatMulInteger, QLinearMatMul and their kin share.
#pragma once
#include "kernels/gemm_int8.h"
#include "kernels/requantize.h"
#include "ops/math/matmul_detail.h"
#include "ops/tiles.h"

namespace trunnion::ops {

// Zero points or scales of a matrix operand: one value, or one for each row of A (tensor [M] or [..., M, 1]), or for
// each column of B ([N] or [..., 1, N]). Laid out batch by batch of the product.
struct MatrixTerms {
  int64_t count = 0;       // entries of one batch: 1, or one per row (column); 0: no terms at all
  int64_t batches = 1;     // how often they are laid out
  int64_t batch_step = 0;  // entries from batch to batch of the product
  Shape dims, batch_dims;  // of a tensor with many entries, and the batch dimensions that it is spread over

  bool many() const { return size() > 1; }
  int64_t size() const { return count * batches; }
  // The tensor's entry that stands at position i of the layout.
  int64_t source(int64_t i) const;
};
// `rows` says which operand it is; a and b are the operands' shapes.
Result<MatrixTerms> matrix_terms(const TensorView* terms, std::span<const int64_t> a, std::span<const int64_t> b,
                                 bool rows);
// Writes terms.size() zero points or scales.
void read_terms(const MatrixTerms& terms, const TensorView& from, int32_t* to);
Status read_terms(const MatrixTerms& terms, const TensorView& from, float* to);
// The same check for infer: nothing to say when the shapes are not known. Inputs are numbered.
Status check_matrix_terms(const ir::Facts& f, int terms, int a, int b, bool rows);

// C = (A - a_zero) (B - b_zero) in 32 bits, handed on tile by tile. Constant B is packed when the engine is made.
class Int8MatMulEngine {
 public:
  struct State final : KernelState {
    MatMulShape shape;
    kernels::Int8GemmGrid grid;
    MatrixTerms a_zero, b_zero;
    bool pack_whole = false;      // B is packed once per run
    bool pack_per_batch = false;  // a thread does whole batches, packing B first
    size_t a_zero_offset = 0, b_zero_offset = 0, packed_offset = 0;
    size_t slot_offset = 0, slot_stride = 0, slot_packed = 0, slot_tile = 0;
  };

  // trans_a, trans_b: the last two dimensions are swapped (rank 2 only).
  static Result<Int8MatMulEngine> make(const ir::Value& b, bool trans_a = false, bool trans_b = false);

  // a_zero and b_zero may be null. direct: run stores the sums as they are. Adds its needs behind `offset` bytes of
  // scratch; returns the total.
  Result<size_t> prepare(const TensorView& a, const TensorView& b, const TensorView* a_zero, const TensorView* b_zero,
                         int threads, size_t offset, bool direct, State& state) const;

  // Sums of rows [row, row + rows) and columns [col, col + cols) of a batch.
  struct Tile {
    const int32_t* c;
    int64_t ldc, batch, row, rows, col, cols;
  };
  // `direct`, dense [batches, M, N], takes the sums; else finish(tile) is called with each tile, on any thread.
  void run(KernelContext& ctx, const State& state, const TensorView& a, const TensorView& b, const TensorView* a_zero,
           const TensorView* b_zero, int32_t* direct, FunctionRef<void(const Tile&)> finish) const;
  bool packed() const { return packed_.valid(); }  // nobody looks at B's elements any more

 private:
  bool trans_a_ = false, trans_b_ = false;
  Tensor packed_;  // of a constant rank-2 B
};

}  // namespace trunnion::ops
