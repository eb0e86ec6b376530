// QLinearMatMul (ai.onnx 10, 21): product of quantized matrices, quantized again. One scale and zero point for each
// matrix, or one for each row of a and of y, or each column of b.
#include <cmath>

#include "kernels/convert.h"
#include "ops/dispatch.h"
#include "ops/quant/int8_matmul_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

enum Input { kA, kAScale, kAZero, kB, kBScale, kBZero, kYScale, kYZero };

Status infer(const ir::Node&, ir::Facts& f) {
  for (int i : {kAScale, kAZero}) TRN_TRY(check_matrix_terms(f, i, kA, kB, true));
  for (int i : {kBScale, kBZero}) TRN_TRY(check_matrix_terms(f, i, kA, kB, false));
  for (int i : {kYScale, kYZero}) TRN_TRY(check_matrix_terms(f, i, kA, kB, true));
  return infer_matmul(f, f.dtype(kYZero), kA, kB);
}

struct State final : KernelState {
  Int8MatMulEngine::State product;
  MatrixTerms a_scale, b_scale, y_scale, y_zero;
  size_t b_scale_offset = 0, a_scale_offset = 0, y_scale_offset = 0, y_zero_offset = 0;
};

class QLinearMatMulCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(Int8MatMulEngine engine, Int8MatMulEngine::make(*n.input(kB)));
    return std::unique_ptr<Kernel>(new QLinearMatMulCpu(std::move(engine)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto state = std::make_unique<State>();
    const auto a = ctx.in(kA).shape(), b = ctx.in(kB).shape();
    TRN_ASSIGN(state->a_scale, matrix_terms(&ctx.in(kAScale), a, b, true));
    TRN_ASSIGN(state->b_scale, matrix_terms(&ctx.in(kBScale), a, b, false));
    TRN_ASSIGN(state->y_scale, matrix_terms(&ctx.in(kYScale), a, b, true));
    TRN_ASSIGN(state->y_zero, matrix_terms(&ctx.in(kYZero), a, b, true));
    size_t offset = 0;
    const auto take = [&offset](int64_t count) {
      const size_t at = offset;
      offset += (static_cast<size_t>(count) * 4 + 63) / 64 * 64;
      return at;
    };
    state->a_scale_offset = take(state->a_scale.size());
    state->b_scale_offset = take(state->b_scale.size());
    state->y_scale_offset = take(state->y_scale.size());
    state->y_zero_offset = take(state->y_zero.size());
    TRN_ASSIGN(offset, engine_.prepare(ctx.in(kA), ctx.in(kB), &ctx.in(kAZero), &ctx.in(kBZero), ctx.threads(), offset,
                                       false, state->product));
    ctx.request_scratch(offset);
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const TensorView& y = ctx.out(0);
    if (y.count == 0) return {};
    auto* a_scale = reinterpret_cast<float*>(ctx.scratch() + s.a_scale_offset);
    auto* b_scale = reinterpret_cast<float*>(ctx.scratch() + s.b_scale_offset);
    auto* y_scale = reinterpret_cast<float*>(ctx.scratch() + s.y_scale_offset);
    auto* y_zero = reinterpret_cast<int32_t*>(ctx.scratch() + s.y_zero_offset);
    TRN_TRY(read_terms(s.a_scale, ctx.in(kAScale), a_scale));
    TRN_TRY(read_terms(s.b_scale, ctx.in(kBScale), b_scale));
    TRN_TRY(read_terms(s.y_scale, ctx.in(kYScale), y_scale));
    read_terms(s.y_zero, ctx.in(kYZero), y_zero);
    const bool by_row = s.a_scale.many() || s.y_scale.many() || s.y_zero.many();
    if (!by_row)
      for (int64_t i = 0; i < s.b_scale.size(); ++i) b_scale[i] = *a_scale * b_scale[i] / *y_scale;
    engine_.run(ctx, s.product, ctx.in(kA), ctx.in(kB), &ctx.in(kAZero), &ctx.in(kBZero), nullptr,
                [&](const Int8MatMulEngine::Tile& t) {
                  const float* scale = b_scale + t.batch * s.b_scale.batch_step + (s.b_scale.many() ? t.col : 0);
                  kernels::RequantizeArgs args{t.c, t.ldc, t.rows, t.cols, nullptr, scale, s.b_scale.many()};
                  if (!by_row) return store(args, y, s.product.shape, t, *y_zero);
                  std::vector<float> row_scale(static_cast<size_t>(s.b_scale.many() ? t.cols : 1));
                  for (int64_t r = 0; r < t.rows; ++r) {
                    const auto at = [&](const MatrixTerms& terms) {
                      return terms.many() ? t.batch * terms.batch_step + t.row + r : 0;
                    };
                    const float a = a_scale[at(s.a_scale)], out = y_scale[at(s.y_scale)];
                    for (size_t j = 0; j < row_scale.size(); ++j) row_scale[j] = a * scale[j] / out;
                    kernels::RequantizeArgs one{t.c + r * t.ldc,  t.ldc,           1, t.cols, nullptr,
                                                row_scale.data(), s.b_scale.many()};
                    Int8MatMulEngine::Tile row = t;
                    row.row += r;
                    store(one, y, s.product.shape, row, y_zero[at(s.y_zero)]);
                  }
                });
    return {};
  }

  bool reads_input(int i) const override { return i != kB || !engine_.packed(); }

 private:
  explicit QLinearMatMulCpu(Int8MatMulEngine engine) : engine_(std::move(engine)) {}

  static void store(const kernels::RequantizeArgs& args, const TensorView& y, const MatMulShape& shape,
                    const Int8MatMulEngine::Tile& t, int32_t zero) {
    const int64_t at = (t.batch * shape.m + t.row) * shape.n + t.col;
    if (y.dtype == DType::i8)
      kernels::requantize().to_i8(args, y.as<int8_t>() + at, shape.n, zero);
    else
      kernels::requantize().to_u8(args, y.as<uint8_t>() + at, shape.n, zero);
  }

  Int8MatMulEngine engine_;
};

// 8-bit floats: by way of double, rounded once.
class QLinearMatMulFloat8 final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) {
    return std::unique_ptr<Kernel>(new QLinearMatMulFloat8);
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &a = ctx.in(kA), &b = ctx.in(kB), &y = ctx.out(0);
    if (y.count == 0) return {};
    TRN_ASSIGN(const MatMulShape shape, matmul_shape(a.shape(), b.shape()));
    TRN_ASSIGN(const std::vector<double> wide_a, widen(ctx, kA, a, a.shape(), b.shape(), true));
    TRN_ASSIGN(const std::vector<double> wide_b, widen(ctx, kB, b, a.shape(), b.shape(), false));
    std::vector<double> sums(static_cast<size_t>(y.count));
    TRN_TRY(plain_matmul(ctx, DType::f64, shape, false, false, wide_a.data(), wide_b.data(), sums.data()));
    TRN_ASSIGN(const MatrixTerms scale_terms, matrix_terms(&ctx.in(kYScale), a.shape(), b.shape(), true));
    TRN_ASSIGN(const MatrixTerms zero_terms, matrix_terms(&ctx.in(kYZero), a.shape(), b.shape(), true));
    std::vector<float> scale(static_cast<size_t>(scale_terms.size())), zero(static_cast<size_t>(ctx.in(kYZero).count));
    TRN_TRY(read_terms(scale_terms, ctx.in(kYScale), scale.data()));
    convert(ctx.in(kYZero), zero.data());
    std::vector<float> out(static_cast<size_t>(y.count));
    for (int64_t i = 0; i < y.count; ++i) {
      const int64_t row = i / shape.n;
      const float s = scale[static_cast<size_t>(scale_terms.many() ? row : 0)];
      const float z = zero[static_cast<size_t>(zero_terms.source(zero_terms.many() ? row : 0))];
      double v = sums[static_cast<size_t>(i)] / s;
      if (is_integer(y.dtype)) {
        v = std::nearbyint(v) + z;
        const double low = y.dtype == DType::i8 ? -128 : 0, high = y.dtype == DType::i8 ? 127 : 255;
        out[static_cast<size_t>(i)] = static_cast<float>(v < low ? low : v > high ? high : v == v ? v : z);
      } else {
        out[static_cast<size_t>(i)] = static_cast<float>(v + z);
      }
    }
    kernels::convert(kernels::Elem::f32, elem(y.dtype))(out.data(), y.data, out.size(), {});
    return {};
  }

 private:
  static void convert(const TensorView& from, float* to) {
    kernels::convert(elem(from.dtype), kernels::Elem::f32)(from.data, to, static_cast<size_t>(from.count), {});
  }

  // (x - zero point) * scale of operand `input`; its scale and zero point are the inputs behind it.
  static Result<std::vector<double>> widen(KernelContext& ctx, int input, const TensorView& x,
                                           std::span<const int64_t> a, std::span<const int64_t> b, bool rows) {
    std::vector<float> codes(static_cast<size_t>(x.count)), scale(static_cast<size_t>(ctx.in(input + 1).count)),
        zero(static_cast<size_t>(ctx.in(input + 2).count));
    convert(x, codes.data());
    convert(ctx.in(input + 1), scale.data());
    convert(ctx.in(input + 2), zero.data());
    TRN_TRY(matrix_terms(&ctx.in(input + 1), a, b, rows));
    TRN_TRY(matrix_terms(&ctx.in(input + 2), a, b, rows));
    const int64_t inner = x.rank ? x.dim(x.rank - 1) : 1;
    std::vector<double> out(codes.size());
    for (size_t i = 0; i < out.size(); ++i) {
      // One entry per row, or per column; where the tensor has fewer batches than the operand they repeat.
      const int64_t term = rows ? static_cast<int64_t>(i) / inner : static_cast<int64_t>(i) % inner;
      const auto entry = [&](const std::vector<float>& v) {
        return v.size() == 1 ? v[0] : v[static_cast<size_t>(term) % v.size()];
      };
      out[i] = (static_cast<double>(codes[i]) - entry(zero)) * entry(scale);
    }
    return out;
  }
};

Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
  for (int i : {kA, kB, kYZero}) {
    const DType t = n.input(i)->fact.dtype();
    if (t != DType::u8 && t != DType::i8) return QLinearMatMulFloat8::make(n);
  }
  return QLinearMatMulCpu::make(n);
}

constexpr DTypes kTypes = kFloat8 | DType::u8 | DType::i8;
constexpr OpDef kDefs[] = {{"QLinearMatMul", infer, {kTypes, make}, {.reviewed = 21}}};

}  // namespace

TRUNNION_OPS(q_linear_mat_mul, kDefs);

}  // namespace trunnion::ops
