// QMoE (com.microsoft 1): mixture of experts whose weights are 2-, 4- or 8-bit codes, quantized by row or in blocks.
// Constant weights stay codes, in panels; others are turned into floats while they are used, expert by expert.
#include <vector>

#include "kernels/gemm.h"
#include "ops/contrib/moe_detail.h"
#include "ops/half_adapter.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

constexpr MoeInputs kInputs{{2, 5, 8}, {4, 7, 10}};
constexpr int kScales[] = {3, 6, 9};
constexpr int kZeros[] = {11, 12, 13};
constexpr int kRouterWeights = 14;

struct Params {
  MoeParams moe;
  int64_t bits[3];
  int64_t block;  // 0: one scale for a row
  bool accurate;  // the activations of 4-bit experts stay f32
};
Result<Params> read(const ir::Node& n) {
  Params p{};
  TRN_ASSIGN(p.moe, read_moe(n));
  if (const std::string type = n.attr("quant_type", "int"); type != "int")
    return not_implemented("attribute quant_type is '{}'", type);
  const int64_t bits = n.attr("expert_weight_bits", 4);
  p.bits[0] = n.attr("fc1_expert_weight_bits", bits);
  p.bits[1] = n.attr("fc2_expert_weight_bits", bits);
  p.bits[2] = n.attr("fc3_expert_weight_bits", bits);
  for (int64_t b : p.bits)
    if (b != 2 && b != 4 && b != 8) return not_implemented("expert weights of {} bits; 2, 4 and 8 are supported", b);
  p.block = n.attr("block_size", 0);
  p.accurate = n.attr("accuracy_level", 0) != 4;
  if (p.block < 0 || (p.block > 0 && (p.block < 16 || (p.block & (p.block - 1)) != 0)))
    return invalid_argument("attribute block_size is {}, it must be a power of two and at least 16", p.block);
  return p;
}

// Bytes of the zero points of one expert (no blocks), or of one row of it.
int64_t zero_bytes(int64_t codes, int64_t bits) { return (codes * bits + 7) / 8; }

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  const int64_t per_byte[] = {8 / p.bits[0], 8 / p.bits[1], 8 / p.bits[2]};
  TRN_TRY(infer_moe(p.moe, f, kInputs, per_byte));
  for (int i = 0; i < 3; ++i) {
    if (f.has(kInputs.weights[i]) != f.has(kScales[i]))
      return invalid_argument("input {} (scales) must be there exactly when the weights are", kScales[i]);
    const auto w = f.has_rank(kInputs.weights[i]) ? f.in(kInputs.weights[i]).concrete() : std::nullopt;
    if (!w) continue;
    const int64_t k = (*w)[2] * per_byte[i], rows = (*w)[0] * (*w)[1];
    if (p.block > 0 && k % p.block != 0)
      return invalid_argument("weights of {} columns do not divide into blocks of {}", k, p.block);
    const int64_t blocks = p.block > 0 ? k / p.block : 1;
    const auto expect = [&](int input, int64_t want) -> Status {
      const auto have = f.has_rank(input) ? f.in(input).concrete() : std::nullopt;
      if (!have || product(*have) == want) return {};
      return invalid_argument("input {} has shape {}, it must have {} elements", input, shape_text(*have), want);
    };
    TRN_TRY(expect(kScales[i], rows * blocks));
    TRN_TRY(expect(kZeros[i],
                   p.block > 0 ? rows * zero_bytes(blocks, p.bits[i]) : (*w)[0] * zero_bytes((*w)[1], p.bits[i])));
  }
  if (f.has_rank(kRouterWeights) && f.has_rank(1)) {
    const auto a = f.in(kRouterWeights).concrete(), b = f.in(1).concrete();
    if (a && b && !(*a == *b))
      return invalid_argument("router_weights has shape {}, router_probs {}", shape_text(*a), shape_text(*b));
  }
  return {};
}

struct State final : KernelState {
  MoeShape shape;
  size_t gathered_at = 0, bits_at = 0;
};

class QMoeCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const Params p, read(n));
    for (int m = 0; m < 3; ++m) {
      TRN_TRY(expect_type(n, kInputs.weights[m], DTypes(DType::u8)));
      TRN_TRY(expect_type(n, kZeros[m], DTypes(DType::u8)));
      TRN_TRY(expect_type(n, kScales[m], DType::f32 | DType::f16 | DType::bf16));
    }
    std::unique_ptr<QMoeCpu> kernel(new QMoeCpu(p));
    for (int i = 0; i < 3; ++i) TRN_TRY(kernel->pack(n, i));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    s->shape = moe_shape(p_.moe, ctx, kInputs);
    size_t end = moe_scratch(p_.moe, s->shape, ctx.threads());
    s->gathered_at = end;
    end += (static_cast<size_t>(s->shape.tokens * s->shape.hidden) * sizeof(float) + 63) / 64 * 64;
    s->bits_at = end;
    // An expert may get any number of rows; few and many of them need different things.
    for (const auto& experts : bits_)
      for (const int64_t rows : {std::min<int64_t>(s->shape.tokens, 12), s->shape.tokens}) {
        BitsMatMul::State state;
        if (!experts.empty()) end = std::max(end, experts[0].prepare(rows, ctx.threads(), s->bits_at, state));
      }
    ctx.request_scratch(end);
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& st = *ctx.state<State>();
    const MoeShape& s = st.shape;
    MoeArgs a;
    a.x = ctx.in(0).as<const float>();
    a.scores = ctx.in(1).as<const float>();
    MoeParams moe = p_.moe;
    if (ctx.has_in(kRouterWeights))
      a.weights = ctx.in(kRouterWeights).as<const float>();
    else
      moe.normalize = true;  // the softmax is that of the chosen experts, whatever the attribute says
    a.y = ctx.out(0).as<float>();
    a.bits_offset = st.bits_at;
    a.gathered = reinterpret_cast<float*>(ctx.scratch() + st.gathered_at);
    for (int i = 0; i < 3; ++i)
      if (!bits_[i].empty()) a.bits[i] = bits_[i].data();
    for (int i = 0; i < 3; ++i)
      if (ctx.has_in(kInputs.bias[i])) a.bias[i] = ctx.in(kInputs.bias[i]).as<const float>();
    return run_moe(
        ctx, moe, s, a,
        [&](int matrix, int64_t expert, int64_t begin, int64_t end, float* to) {
          const int64_t k = s.cols(matrix), n = s.rows(matrix), width = kernels::gemm_panel_width();
          const int64_t first = begin * width, count = std::min(n, end * width) - first;
          std::vector<float> rows(static_cast<size_t>(count * k));
          for (int64_t i = 0; i < count; ++i) unpack_row(ctx, s, matrix, expert, first + i, rows.data() + i * k);
          const auto* all = reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(rows.data()) -
                                                           static_cast<uintptr_t>(first * k) * sizeof(float));
          kernels::gemm_pack_b(all, 1, k, k, n, begin, end, to);
        },
        ctx.scratch());
  }

  bool reads_input(int i) const override {
    for (int m = 0; m < 3; ++m)
      if (!bits_[m].empty() && (i == kInputs.weights[m] || i == kScales[m] || i == kZeros[m])) return false;
    return true;
  }

 private:
  explicit QMoeCpu(const Params& p) : p_(p) {}

  // The signature allows floats of 8 bits too, which other kinds of codes have.
  static Status expect_type(const ir::Node& n, int i, DTypes types) {
    if (!n.input(i) || types.has(n.input(i)->fact.dtype())) return {};
    return not_implemented("input {} of type {}", i, dtype_name(n.input(i)->fact.dtype()));
  }

  Status pack(const ir::Node& n, int matrix) {
    for (int i : {kInputs.weights[matrix], kScales[matrix], kZeros[matrix]})
      if (n.input(i) && !n.input(i)->is_constant()) return {};
    if (!n.input(kInputs.weights[matrix]) || !n.input(kScales[matrix])) return {};
    const Tensor& codes = n.input(kInputs.weights[matrix])->constant();
    const int64_t bits = p_.bits[matrix];
    if (codes.rank() != 3 || codes.count() == 0) return {};
    const int64_t experts = codes.shape()[0], rows = codes.shape()[1], k = codes.shape()[2] * 8 / bits;
    const int64_t block = p_.block > 0 ? p_.block : k, blocks = k / block;
    Tensor scales = n.input(kScales[matrix])->constant();
    if (is_half(scales.dtype())) {
      TRN_ASSIGN(scales, to_f32(scales));
    }
    const Tensor zeros = n.input(kZeros[matrix]) ? n.input(kZeros[matrix])->constant() : Tensor();
    const int64_t zero_size = p_.block > 0 ? rows * zero_bytes(blocks, bits) : zero_bytes(rows, bits);
    if (block % 4 != 0 || k % block != 0 || scales.count() != experts * rows * blocks ||
        (zeros.valid() && zeros.count() != experts * zero_size))
      return {};
    std::vector<float> row_zeros(static_cast<size_t>(zeros.valid() && p_.block == 0 ? rows : 0));
    std::vector<BitsMatMul> packed(static_cast<size_t>(experts));
    for (int64_t e = 0; e < experts; ++e) {
      BitsWeights w;
      w.k = k;
      w.n = rows;
      w.bits = bits;
      w.block = block;
      w.codes = codes.data<uint8_t>() + e * rows * codes.shape()[2];
      w.scales = scales.data<float>() + e * rows * blocks;
      const uint8_t* own = zeros.valid() ? zeros.data<uint8_t>() + e * zero_size : nullptr;
      if (own && p_.block > 0) w.packed_zeros = own;
      if (own && p_.block == 0) {
        for (int64_t r = 0; r < rows; ++r) row_zeros[r] = static_cast<float>(code_at(own, r, bits));
        w.zeros = row_zeros.data();
      }
      TRN_TRY(packed[e].pack(w, p_.block > 0 && (bits == 8 || (bits == 4 && !p_.accurate))));
    }
    bits_[matrix] = std::move(packed);
    return {};
  }

  void unpack_row(KernelContext& ctx, const MoeShape& s, int matrix, int64_t expert, int64_t row, float* to) const {
    const int64_t k = s.cols(matrix), n = s.rows(matrix), bits = p_.bits[matrix];
    const int64_t block = p_.block > 0 ? p_.block : std::max<int64_t>(k, 1), blocks = p_.block > 0 ? k / block : 1;
    const uint8_t* codes = ctx.in(kInputs.weights[matrix]).as<const uint8_t>() + (expert * n + row) * (k * bits / 8);
    const float* scales = ctx.in(kScales[matrix]).as<const float>() + (expert * n + row) * blocks;
    const uint8_t* zeros = ctx.has_in(kZeros[matrix]) ? ctx.in(kZeros[matrix]).as<const uint8_t>() : nullptr;
    int64_t zero_at = 0;
    if (zeros && p_.block > 0) zeros += (expert * n + row) * zero_bytes(blocks, bits);
    if (zeros && p_.block == 0) {
      zeros += expert * zero_bytes(n, bits);
      zero_at = row;
    }
    for (int64_t b = 0; b < blocks; ++b) {
      const auto zero = static_cast<float>(zeros ? code_at(zeros, zero_at + b, bits) : 1u << (bits - 1));
      const float scale = scales[b];
      const int64_t begin = b * block, end = std::min(k, begin + block);
      if (bits == 8) {
        for (int64_t i = begin; i < end; ++i) to[i] = (static_cast<float>(codes[i]) - zero) * scale;
        continue;
      }
      float value[16];
      for (int v = 0; v < 1 << bits; ++v) value[v] = (static_cast<float>(v) - zero) * scale;
      for (int64_t i = begin; i < end; ++i) to[i] = value[code_at(codes, i, bits)];
    }
  }

  Params p_;
  std::vector<BitsMatMul> bits_[3];  // of constant weights, by expert
};

constexpr OpDef kDefs[] = {
    {"QMoE",
     infer,
     cpu_widened<QMoeCpu>(DType::f32 | DType::f16 | DType::bf16),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::QMoE 1 (input:T, router_probs:T, fc1_experts_weights:T1, fc1_scales?:T2, fc1_experts_bias?:T, "
     "fc2_experts_weights:T1, fc2_scales?:T2, fc2_experts_bias?:T, fc3_experts_weights?:T1, fc3_scales?:T2, "
     "fc3_experts_bias?:T, fc1_zero_points?:T1, fc2_zero_points?:T1, fc3_zero_points?:T1, router_weights?:T, "
     "fc1_global_scale?:T4, fc2_global_scale?:T4, fc1_act_scale?:T4, fc2_act_scale?:T4, fc1_act_block_scale?:T2, "
     "fc2_act_block_scale?:T2) -> (output:T) {k:i=1, activation_type:s='relu', normalize_routing_weights:i=0, "
     "use_sparse_mixer:i=0, activation_alpha:f=1, activation_beta:f=0, swiglu_limit:f, swiglu_fusion:i=0, "
     "swiglu_limit_after_activation:i=0, expert_weight_bits:i=4, fc1_expert_weight_bits:i, fc2_expert_weight_bits:i, "
     "fc3_expert_weight_bits:i, block_size:i, quant_type:s='int', weights_prepacked:i=-1, accuracy_level:i=0} "
     "T=f32|f16|bf16 T1=u8|f8e4m3fn T2=f32|f16|bf16|f8e8m0|f8e4m3fn T4=f32"},
};

}  // namespace

TRUNNION_OPS(q_moe, kDefs);

}  // namespace trunnion::ops
