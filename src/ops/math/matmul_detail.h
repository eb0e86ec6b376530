// Matrix products over kernels/gemm.h: what MatMul, Gemm and the fused forms share.
#pragma once
#include "kernels/gemm.h"
#include "ops/op.h"

namespace trunnion::ops {

// Numpy's matmul: batch dimensions broadcast, rank-1 inputs are promoted. Validates inner dimensions.
Status infer_matmul(ir::Facts& f, DType out, int a_input = 0, int b_input = 1);

// How the operands of a batched product lie, worked out from concrete shapes. Each batch is one M x K by K x N product.
struct MatMulShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t batches = 1;                      // 0 when the output has no elements
  std::vector<int64_t> a_offset, b_offset;  // elements, by batch; the output is dense
};
Result<MatMulShape> matmul_shape(std::span<const int64_t> a, std::span<const int64_t> b);

// A constant matrix [K, N], or [N, K] where it is transposed, in the order of kernels/gemm.h.
Result<Tensor> pack_matrix(const Tensor& b, bool transposed);

// fp32 products C = epilogue(A B). Constant B is packed when the engine is made; else before or while it is used.
class MatMulEngine {
 public:
  struct State final : KernelState {
    MatMulShape shape;
    kernels::GemmGrid grid;
    bool pack_whole = false;  // B is packed once per run instead of by every tile
    size_t packed_offset = 0, scratch_offset = 0, scratch_stride = 0;
  };

  // trans_a, trans_b: the last two dimensions are swapped (rank 2 only). bf16: planes of bfloat16 that factors may be
  // split into where B is constant and the CPU gains by it; not with trans_a.
  static Result<MatMulEngine> make(const ir::Value& b, bool trans_a, bool trans_b, int bf16 = 0);
  // Adds its needs behind `offset` bytes of scratch; returns the total.
  Result<size_t> prepare(const TensorView& a, const TensorView& b, int threads, size_t offset, State& state) const;
  // c is dense [batches, M, N]. Pointers in the epilogue are those of batch 0; residual_batch is the step between
  // batches.
  void run(KernelContext& ctx, const State& state, const float* a, const float* b, float* c,
           const kernels::Epilogue& epilogue, int64_t residual_batch = 0) const;
  bool packed() const { return packed_.valid(); }

 private:
  void run_bf16(KernelContext& ctx, const State& state, const float* a, float* c,
                const kernels::Epilogue& epilogue) const;

  bool trans_a_ = false, trans_b_ = false;
  int bf16_ = 0;        // planes
  bool split_ = false;  // on a tile unit
  Tensor packed_;       // of a constant rank-2 B
};

// The same for f64, i32, i64, u32, u64: c = alpha * a b + beta * c. Integers wrap; their factors are whole numbers.
Status plain_matmul(KernelContext& ctx, DType type, const MatMulShape& shape, bool trans_a, bool trans_b, const void* a,
                    const void* b, void* c, double alpha = 1, double beta = 0);

}  // namespace trunnion::ops
