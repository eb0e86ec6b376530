// CausalConvWithState (ai.onnx 27): a depthwise convolution over time that sees the past only, which it carries along.
#include <algorithm>

#include "kernels/unary.h"
#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

Result<bool> read_silu(const ir::Node& n) {
  const std::string activation = n.attr("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return invalid_argument("attribute activation is '{}', needs 'none', 'silu' or 'swish'", activation);
  return activation != "none";
}

Status expect_dim(const ir::Facts& f, int input, int axis, const Dim& wanted, const char* what) {
  if (!f.has_rank(input)) return {};
  const Dim& found = f.in(input).dim(axis);
  if (!found.is_int() || !wanted.is_int() || found == wanted) return {};
  return invalid_argument("dimension {} of input {} is {}, needs {} ({})", axis, input, found.value(), wanted.value(),
                          what);
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(read_silu(n).status());
  TRN_TRY(expect_rank(f, 0, 3));
  TRN_TRY(expect_rank(f, 1, 3));
  TRN_TRY(expect_rank(f, 2, 1));
  TRN_TRY(expect_rank(f, 3, 3));
  const Dim batch = f.has_rank(0) ? f.in(0).dim(0) : f.has_rank(3) ? f.in(3).dim(0) : Dim();
  const Dim channels = f.has_rank(0) ? f.in(0).dim(1) : f.has_rank(1) ? f.in(1).dim(0) : Dim();
  const Dim carried = f.has_rank(1) ? f.in(1).dim(2) - Dim(1) : f.has_rank(3) ? f.in(3).dim(2) : Dim();
  if (carried.is_int() && carried.value() < 0)
    return invalid_argument("input 1 has shape {}: the kernel is empty", shape_text(f.in(1).shape()));
  TRN_TRY(expect_dim(f, 1, 0, channels, "the channels of input 0"));
  TRN_TRY(expect_dim(f, 1, 1, Dim(1), "each channel has a kernel of its own"));
  TRN_TRY(expect_dim(f, 2, 0, channels, "the channels of input 0"));
  TRN_TRY(expect_dim(f, 3, 0, batch, "the batch of input 0"));
  TRN_TRY(expect_dim(f, 3, 1, channels, "the channels of input 0"));
  TRN_TRY(expect_dim(f, 3, 2, carried, "one less than the kernel"));
  f.set(0, f.dtype(0), f.has_rank(0) ? f.in(0).type.shape : std::nullopt);
  f.set(1, f.dtype(0), SymShape{batch, channels, carried});
  return {};
}

class CausalConv final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(const bool silu, read_silu(node));
    return std::unique_ptr<Kernel>(new CausalConv(silu));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    const int64_t channels = x.dim(1), length = x.dim(2), kernel = ctx.in(1).dim(2), carried = kernel - 1;
    if (length + carried == 0) return {};
    const float* bias = ctx.has_in(2) ? ctx.in(2).as<float>() : nullptr;
    const float* past = ctx.has_in(3) ? ctx.in(3).as<float>() : nullptr;
    float* present = ctx.has_out(1) ? ctx.out(1).as<float>() : nullptr;
    const auto silu = kernels::unary(kernels::UnaryOp::silu, kernels::Elem::f32);
    const int64_t work = (length + carried + 1) * (kernel + (silu_ ? 8 : 0));
    ctx.parallel_for(x.dim(0) * channels, 65536 / work + 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const float *row = x.as<float>() + r * length, *w = ctx.in(1).as<float>() + r % channels * kernel;
        const float* old = past ? past + r * carried : nullptr;
        float* y = ctx.out(0).as<float>() + r * length;
        std::fill_n(y, length, bias ? bias[r % channels] : 0.0f);
        for (int64_t j = 0; j < kernel; ++j) {
          const int64_t before = std::min(length, carried - j);  // outputs for which this tap lies in the past
          for (int64_t t = 0; old && t < before; ++t) y[t] += w[j] * old[t + j];
          for (int64_t t = before; t < length; ++t) y[t] += w[j] * row[t + j - carried];
        }
        if (silu_) silu(y, y, static_cast<size_t>(length), {1});
        if (!present) continue;
        // The last of the past and the row, put one behind the other.
        float* to = present + r * carried;
        for (int64_t i = 0; i < carried; ++i) {
          const int64_t at = length + i;
          to[i] = at >= carried ? row[at - carried] : old ? old[at] : 0.0f;
        }
      }
    });
    return {};
  }

 private:
  explicit CausalConv(bool silu) : silu_(silu) {}
  bool silu_;
};

constexpr OpDef kDefs[] = {
    {"CausalConvWithState", infer, cpu_widened<CausalConv>(kF32 | DType::f16 | DType::bf16), {.reviewed = 27}}};

}  // namespace

TRUNNION_OPS(causal_conv_with_state, kDefs);

}  // namespace trunnion::ops
