// What MoE and QMoE (com.microsoft) share: tokens are given to their best experts, two or three products each, and the
// experts' answers are summed by weight.
#pragma once
#include "ops/contrib/bits_matmul_detail.h"
#include "ops/op.h"

namespace trunnion::ops {

struct MoeParams {
  enum class Activation { identity, relu, gelu, silu, swiglu } activation = Activation::relu;
  int64_t top = 1;         // experts of a token
  bool normalize = false;  // weights of a token sum to 1
  int64_t fusion = 0;  // swiglu: 0 gate and linear part are two matrices, 1 their rows alternate, 2 one after the other
  float alpha = 1, beta = 0, limit = 0;  // limit 0: none
};
Result<MoeParams> read_moe(const ir::Node& n);

// Places of inputs: weights and bias of the three products.
struct MoeInputs {
  int weights[3], bias[3];
};

// The output is shaped like input 0; elements by weights is how many elements a byte (or element) of the weights holds.
// fc1 gives width (see MoeShape) rows.
Status infer_moe(const MoeParams& p, ir::Facts& f, const MoeInputs& in, const int64_t per_element[3]);

struct MoeShape {
  int64_t tokens = 0, experts = 0, hidden = 0;
  int64_t inner = 0, width = 0;  // rows of fc1: inner, or twice that
  bool third = false;
  int64_t rows(int matrix) const { return matrix == 0 ? width : matrix == 1 ? hidden : inner; }
  int64_t cols(int matrix) const { return matrix == 1 ? inner : hidden; }
};
MoeShape moe_shape(const MoeParams& p, const PrepareContext& ctx, const MoeInputs& in);
size_t moe_scratch(const MoeParams& p, const MoeShape& s, int threads);

// Floats that the panels of one expert's k x n matrix take.
int64_t expert_panels(int64_t k, int64_t n);

// Packs panels of one expert's matrix, transposed, as gemm_pack_b does; `packed` is where panel 0 would be.
using PackExpert = FunctionRef<void(int matrix, int64_t expert, int64_t panel_begin, int64_t panel_end, float* packed)>;

struct MoeArgs {
  const float *x = nullptr, *scores = nullptr;
  const float* weights = nullptr;  // of experts, instead of the scores' softmax
  const float* bias[3] = {};       // [experts, rows]
  const float* packed[3] = {};     // all experts' panels, when they are packed already
  // Or matrices of codes, one for each expert, with their scratch (offset from that of the run) and room for the rows
  // of all tokens.
  const BitsMatMul* bits[3] = {};
  size_t bits_offset = 0;
  float* gathered = nullptr;
  float* y = nullptr;
};
Status run_moe(KernelContext& ctx, const MoeParams& p, const MoeShape& s, const MoeArgs& a, PackExpert pack,
               std::byte* scratch);

}  // namespace trunnion::ops
