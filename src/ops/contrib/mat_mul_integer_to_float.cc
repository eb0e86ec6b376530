// MatMulIntegerToFloat and DynamicQuantizeMatMul (com.microsoft 1): product of 8-bit matrices, scaled to f32, with a
// bias. The second one quantizes its f32 matrix A to u8 by the range that it finds.
#include "kernels/quant.h"
#include "ops/half_adapter.h"
#include "ops/quant/int8_matmul_detail.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

constexpr int64_t kPiece = 1 << 16;  // elements whose range is taken at once

// Inputs by number; -1: this operator does not have it.
struct Inputs {
  int a_scale, b_scale, a_zero, b_zero, bias;
};
constexpr Inputs kGiven{2, 3, 4, 5, 6}, kDynamic{-1, 2, -1, 3, 4};

Status infer_with(const Inputs& in, ir::Facts& f, DType out) {
  for (int i : {in.a_scale, in.a_zero}) {
    if (i < 0 || !f.has_rank(i)) continue;
    const auto dims = f.in(i).concrete();
    if (dims && product(*dims) != 1)
      return invalid_argument("input {} has shape {}, it must hold one value", i, shape_text(*dims));
  }
  for (int i : {in.b_scale, in.b_zero}) TRN_TRY(check_matrix_terms(f, i, 0, 1, false));
  TRN_TRY(infer_matmul(f, out));
  if (!f.has_rank(in.bias) || !f.has_rank(1) || f.in(1).rank() == 0) return {};
  const SymShape &bias = f.in(in.bias).shape(), &b = f.in(1).shape();
  const Dim columns = b.size() == 1 ? Dim(1) : b.back();
  if (bias.size() != 1 || (bias[0].is_int() && columns.is_int() && bias[0].value() != columns.value()))
    return invalid_argument("input {} (bias) has shape {}, it must have shape {}", in.bias, shape_text(bias),
                            shape_text(SymShape{columns}));
  return {};
}
Status infer_given(const ir::Node&, ir::Facts& f) { return infer_with(kGiven, f, f.dtype(2)); }
Status infer_dynamic(const ir::Node&, ir::Facts& f) { return infer_with(kDynamic, f, DType::f32); }

struct Range {
  float min, max;
};

struct State final : KernelState {
  Int8MatMulEngine::State product;
  MatrixTerms b_scale;
  size_t b_scale_offset = 0, codes_offset = 0, ranges_offset = 0;
  int64_t pieces = 0;
};

template <bool kQuantizes>
class MatMulToFloat final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(Int8MatMulEngine engine, Int8MatMulEngine::make(*n.input(1)));
    return std::unique_ptr<Kernel>(new MatMulToFloat(std::move(engine)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    TensorView a = ctx.in(0);
    TRN_ASSIGN(s->b_scale, matrix_terms(&ctx.in(kIn.b_scale), a.shape(), ctx.in(1).shape(), false));
    size_t offset = 0;
    const auto take = [&offset](size_t bytes) {
      const size_t at = offset;
      offset += (bytes + 63) / 64 * 64;
      return at;
    };
    s->b_scale_offset = take(static_cast<size_t>(s->b_scale.size()) * sizeof(float));
    const TensorView zero{DType::u8, 0, nullptr, 1, nullptr};
    const TensorView* a_zero = kQuantizes ? &zero : given_zero(ctx);
    if (kQuantizes) {
      s->pieces = (a.count + kPiece - 1) / kPiece;
      s->codes_offset = take(static_cast<size_t>(a.count));
      s->ranges_offset = take(static_cast<size_t>(s->pieces) * sizeof(Range));
      a.dtype = DType::u8;
    }
    TRN_ASSIGN(offset, engine_.prepare(a, ctx.in(1), a_zero, ctx.has_in(kIn.b_zero) ? &ctx.in(kIn.b_zero) : nullptr,
                                       ctx.threads(), offset, false, s->product));
    ctx.request_scratch(offset);
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    TensorView a = ctx.in(0), zero{DType::u8, 0, nullptr, 1, nullptr};
    const TensorView& y = ctx.out(0);
    if (y.count == 0) return {};
    float a_scale;
    uint8_t code = 0;
    const TensorView* a_zero = &zero;
    zero.data = &code;
    if constexpr (kQuantizes) {
      quantize(ctx, s, &a_scale, &code);
      a.data = ctx.scratch() + s.codes_offset;
      a.dtype = DType::u8;
    } else {
      a_scale = *ctx.in(kIn.a_scale).as<float>();
      a_zero = given_zero(ctx);
    }
    auto* scales = reinterpret_cast<float*>(ctx.scratch() + s.b_scale_offset);
    TRN_TRY(read_terms(s.b_scale, ctx.in(kIn.b_scale), scales));
    for (int64_t i = 0; i < s.b_scale.size(); ++i) scales[i] *= a_scale;
    const float* bias = ctx.has_in(kIn.bias) ? ctx.in(kIn.bias).as<float>() : nullptr;
    const MatMulShape& shape = s.product.shape;
    const bool many = s.b_scale.count > 1;
    engine_.run(ctx, s.product, a, ctx.in(1), a_zero, ctx.has_in(kIn.b_zero) ? &ctx.in(kIn.b_zero) : nullptr, nullptr,
                [&](const Int8MatMulEngine::Tile& t) {
                  const float* scale = scales + t.batch * s.b_scale.batch_step + (many ? t.col : 0);
                  kernels::requantize().to_f32({t.c, t.ldc, t.rows, t.cols, nullptr, scale, many},
                                               y.as<float>() + (t.batch * shape.m + t.row) * shape.n + t.col, shape.n,
                                               bias ? bias + t.col : nullptr);
                });
    return {};
  }

 private:
  static constexpr Inputs kIn = kQuantizes ? kDynamic : kGiven;
  explicit MatMulToFloat(Int8MatMulEngine engine) : engine_(std::move(engine)) {}

  template <class C>
  static const TensorView* given_zero(const C& ctx) {
    return kIn.a_zero >= 0 && ctx.has_in(kIn.a_zero) ? &ctx.in(kIn.a_zero) : nullptr;
  }

  // A as u8 codes in scratch.
  static void quantize(KernelContext& ctx, const State& s, float* scale, uint8_t* zero) {
    const TensorView& x = ctx.in(0);
    const float* from = x.as<const float>();
    auto* ranges = reinterpret_cast<Range*>(ctx.scratch() + s.ranges_offset);
    ctx.parallel_for(s.pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        kernels::min_max(from + p * kPiece, static_cast<size_t>(std::min(kPiece, x.count - p * kPiece)), &ranges[p].min,
                         &ranges[p].max);
    });
    Range all{0, 0};
    for (int64_t p = 0; p < s.pieces; ++p) all = {std::min(all.min, ranges[p].min), std::max(all.max, ranges[p].max)};
    kernels::dynamic_quantize_params(all.min, all.max, scale, zero);
    auto* to = reinterpret_cast<uint8_t*>(ctx.scratch() + s.codes_offset);
    ctx.parallel_for(x.count, 1 << 14, [&](int64_t begin, int64_t end) {
      kernels::quantize(kernels::Elem::u8)(from + begin, to + begin, static_cast<size_t>(end - begin), *scale, *zero);
    });
  }

  Int8MatMulEngine engine_;
};

constexpr OpDef kDefs[] = {
    {"MatMulIntegerToFloat",
     infer_given,
     cpu_widened<MatMulToFloat<false>>(DType::u8 | DType::i8),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::MatMulIntegerToFloat 1 (A:T1, B:T2, a_scale:T3, b_scale:T3, a_zero_point?:T1, b_zero_point?:T2, "
     "bias?:T3) -> (Y:T3) T1=u8|i8 T2=u8|i8 T3=f32|f16"},
    {"DynamicQuantizeMatMul",
     infer_dynamic,
     cpu<MatMulToFloat<true>>(kF32),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::DynamicQuantizeMatMul 1 (A:T1, B:T2, b_scale:T1, b_zero_point?:T2, bias?:T1) -> (Y:T1) T1=f32 "
     "T2=u8|i8"},
};

}  // namespace

TRUNNION_OPS(mat_mul_integer_to_float, kDefs);

}  // namespace trunnion::ops
