// MaxpoolWithMask (com.microsoft 1): max pooling of [N, C, D...] that leaves a row of the window where the mask (i32)
// is 0. Which elements of the mask belong to a plane is ONNX Runtime's rule: equal to broadcasting for a mask of one
// plane, which is what the operator was made for.
#include <algorithm>
#include <limits>

#include "ops/nn/window_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const WindowParams p, read_window(n));
  f.set(0, f.dtype(0));
  if (!f.has_rank(0)) return {};
  const SymShape& x = f.in(0).shape();
  TRN_ASSIGN(SymShape y, window_shape(p, x));
  TRN_TRY(expect_rank(f, 1, f.in(0).rank()));
  if (f.has_rank(1)) {
    const SymShape& m = f.in(1).shape();
    bool fits = !m[0].is_int(0) && !m[1].is_int(0);
    for (size_t i = 2; i < x.size(); ++i)
      fits = fits && (!m[i].is_int() || !x[i].is_int() || m[i].value() == x[i].value());
    if (!fits)
      return invalid_argument("the mask has shape {}, which does not fit input 0 of shape {}", shape_text(m),
                              shape_text(x));
  }
  f.set(0, f.dtype(0), std::move(y));
  return {};
}

class MaxpoolWithMaskCpu final : public Kernel {
 public:
  struct State final : KernelState {
    kernels::PoolShape shape;
    int64_t in_plane = 0, out_plane = 0;
  };

  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(WindowParams p, read_window(n));
    return std::unique_ptr<Kernel>(new MaxpoolWithMaskCpu(std::move(p)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    TRN_ASSIGN(s->shape, pool_shape(p_, x.shape(), y.shape()));
    s->in_plane = product(x.shape(), 2, x.rank);
    s->out_plane = product(y.shape(), 2, y.rank);
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const TensorView &x = ctx.in(0), &m = ctx.in(1), &y = ctx.out(0);
    if (y.count == 0) return {};
    const int64_t mask_planes = m.dim(0) * m.dim(1);
    const bool first_counts = x.rank == 3;  // with more dimensions the mask's first element is not looked at
    ctx.parallel_for(x.dim(0) * x.dim(1), 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c)
        plane(s.shape, x.as<float>() + c * s.in_plane, m.as<int32_t>() + c * s.in_plane % mask_planes,
              y.as<float>() + c * s.out_plane, first_counts);
    });
    return {};
  }

 private:
  explicit MaxpoolWithMaskCpu(WindowParams p) : p_(std::move(p)) {}

  static void plane(const kernels::PoolShape& s, const float* x, const int32_t* mask, float* y, bool first_counts) {
    int64_t o[3];
    for (o[0] = 0; o[0] < s.out[0]; ++o[0])
      for (o[1] = 0; o[1] < s.out[1]; ++o[1])
        for (o[2] = 0; o[2] < s.out[2]; ++o[2]) {
          int64_t first[3], last[3];
          for (int d = 0; d < 3; ++d) {
            const int64_t start = o[d] * s.stride[d] - s.pad_begin[d];
            first[d] = std::max<int64_t>(start, 0);
            last[d] = std::min(start + s.kernel[d], s.in[d]);
          }
          float best = std::numeric_limits<float>::lowest();
          for (int64_t a = first[0]; a < last[0]; ++a)
            for (int64_t b = first[1]; b < last[1]; ++b)
              for (int64_t c = first[2]; c < last[2]; ++c) {
                const int64_t at = (a * s.in[1] + b) * s.in[2] + c;
                if ((at > 0 || first_counts) && mask[at] == 0) break;
                if (x[at] > best) best = x[at];
              }
          *y++ = best;
        }
  }

  WindowParams p_;
};

constexpr OpDef kDefs[] = {{"MaxpoolWithMask",
                            infer,
                            cpu<MaxpoolWithMaskCpu>(kF32),
                            {.reviewed = 1},
                            "com.microsoft",
                            "com.microsoft::MaxpoolWithMask 1 (X:T, M:i32) -> (Y:T) {auto_pad:s='NOTSET', "
                            "kernel_shape:is, pads:is, storage_order:i=0, strides:is} T=f32"}};

}  // namespace

TRUNNION_OPS(maxpool_with_mask, kDefs);

}  // namespace trunnion::ops
