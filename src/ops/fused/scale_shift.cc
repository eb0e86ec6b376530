// trunnion.ScaleShift: x * scale[c] + shift[c] along one axis, then an optional activation: batch normalization that
// could not be folded into a convolution. Made by the CPU pipeline only, never found in files.
#include <algorithm>

#include "kernels/norm.h"
#include "ops/nn/conv_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  if (f.has_rank(0)) {
    TRN_ASSIGN(const int axis, normalize_axis(n.attr("axis", 1), f.in(0).rank()));
    for (int i : {1, 2})
      if (f.has_rank(i)) TRN_TRY(expect_same_shape(f.in(i).shape(), {f.in(0).dim(axis)}, "a vector by channel"));
  }
  f.set(0, f.dtype(0), f.in(0).type.shape);
  return {};
}

constexpr int64_t kNear = 4096;  // floats that the activation finds in the first-level cache

class ScaleShiftCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const kernels::Epilogue e, read_activation(n));
    return std::unique_ptr<Kernel>(new ScaleShiftCpu(n.attr("axis", 1), e));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    TRN_ASSIGN(const int axis, normalize_axis(axis_, x.rank));
    const int64_t channels = x.dim(axis), inner = product(x.shape(), axis + 1, x.rank);
    if (x.count == 0) return {};
    const float *scale = ctx.in(1).as<float>(), *shift = ctx.in(2).as<float>();
    const auto& k = kernels::norm();
    if (inner == 1) {
      ctx.parallel_for(x.count / channels, std::max<int64_t>(1, 32768 / channels), [&](int64_t b, int64_t e) {
        const int64_t some = std::max<int64_t>(1, kNear / channels);
        for (int64_t at = b; at < e; at += some) {
          const int64_t rows = std::min(some, e - at);
          float* to = y.as<float>() + at * channels;
          k.scale_shift_columns(x.as<float>() + at * channels, to, rows, channels, scale, shift);
          activate(to, channels, rows, channels);
        }
      });
      return {};
    }
    ctx.parallel_for(x.count / inner, std::max<int64_t>(1, 32768 / inner), [&](int64_t b, int64_t e) {
      for (int64_t p = b; p < e; ++p) {
        k.scale_shift(x.as<float>() + p * inner, y.as<float>() + p * inner, inner, scale[p % channels],
                      shift[p % channels]);
        activate(y.as<float>() + p * inner, inner, 1, inner);
      }
    });
    return {};
  }

 private:
  ScaleShiftCpu(int64_t axis, kernels::Epilogue e) : axis_(axis), epilogue_(e) {}
  void activate(float* y, int64_t ld, int64_t rows, int64_t cols) const {
    if (epilogue_.activation != kernels::Activation::none)
      kernels::apply_activation(epilogue_.activation, epilogue_.a, epilogue_.b, y, ld, rows, cols);
  }
  int64_t axis_;
  kernels::Epilogue epilogue_;
};

constexpr OpDef kDefs[] = {
    {"ScaleShift",
     infer,
     cpu<ScaleShiftCpu>(kF32),
     {.reviewed = 1, .in_place = {{0, 0}, {}}},
     "trunnion",
     "trunnion::ScaleShift 1 (X:T, scale:T, shift:T) -> (Y:T) {activation:s='none', activation_a:f=0, "
     "activation_b:f=0, axis:i=1} T=f32"},
};

}  // namespace

TRUNNION_OPS(scale_shift, kDefs);

}  // namespace trunnion::ops
