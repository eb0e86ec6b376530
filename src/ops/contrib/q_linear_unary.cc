// QLinearSigmoid and QLinearLeakyRelu (com.microsoft 1): a function of 8-bit quantized elements, by a table of all 256
// results.
#include "kernels/unary.h"
#include "ops/contrib/q_linear_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

enum Input { kX, kXScale, kXZero, kYScale, kYZero };

Status infer(const ir::Node&, ir::Facts& f) {
  const int points[] = {kXScale, kXZero, kYScale, kYZero};
  TRN_TRY(expect_single(f, points));
  f.set(0, f.dtype(kX), f.in(kX).type.shape);
  return {};
}

class QLinearUnary final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    const bool sigmoid = n.op_type() == "QLinearSigmoid";
    return std::unique_ptr<Kernel>(new QLinearUnary(sigmoid ? kernels::UnaryOp::sigmoid : kernels::UnaryOp::leaky_relu,
                                                    {.a = sigmoid ? 0 : static_cast<double>(n.attr("alpha", 0.01f))}));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(kX), &y = ctx.out(0);
    uint8_t table[256];
    requantize_table(
        read_point(ctx, kXScale), read_point(ctx, kYScale), x.dtype,
        [&](float* values) { kernels::unary(op_, kernels::Elem::f32)(values, values, 256, params_); }, table);
    ctx.parallel_for(x.count, 32768, [&](int64_t begin, int64_t end) {
      kernels::look_up(table, x.as<const uint8_t>() + begin, y.as<uint8_t>() + begin, static_cast<size_t>(end - begin));
    });
    return {};
  }

 private:
  QLinearUnary(kernels::UnaryOp op, kernels::UnaryParams params) : op_(op), params_(params) {}
  kernels::UnaryOp op_;
  kernels::UnaryParams params_;
};

constexpr OpDef kDefs[] = {
    {"QLinearSigmoid",
     infer,
     cpu<QLinearUnary>(kBytes),
     {.reviewed = 1, .in_place_any = true},
     "com.microsoft",
     "com.microsoft::QLinearSigmoid 1 (X:T, X_scale:f32, X_zero_point?:T, Y_scale:f32, Y_zero_point?:T) -> (Y:T) "
     "T=u8|i8"},
    {"QLinearLeakyRelu",
     infer,
     cpu<QLinearUnary>(kBytes),
     {.reviewed = 1, .in_place_any = true},
     "com.microsoft",
     "com.microsoft::QLinearLeakyRelu 1 (X:T, X_scale:f32, X_zero_point?:T, Y_scale:f32, Y_zero_point?:T) -> (Y:T) "
     "{alpha:f=0.01} T=u8|i8"},
};

}  // namespace

TRUNNION_OPS(q_linear_unary, kDefs);

}  // namespace trunnion::ops
