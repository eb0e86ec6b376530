// trunnion.GatedConv: a 1x1 convolution, channels last, of an input whose channels are scaled by a gate first (the end
// of a squeeze-and-excite block), with bias, residual and activation. The gate goes into the smaller factor: a copy of
// the weights, or of the picture. Made by the CPU pipeline only, never found in files.
#include "kernels/gemm.h"
#include "kernels/norm.h"
#include "ops/math/matmul_detail.h"
#include "ops/nn/conv_detail.h"
#include "ops/shape.h"
#include "ops/tiles.h"

namespace trunnion::ops {
namespace {

constexpr int64_t kLeastColumns = 8;  // of packed weights in panels

Status infer(const ir::Node&, ir::Facts& f) {
  f.set(0, f.dtype(0));
  TRN_TRY(expect_rank(f, 1, 4));
  if (f.has_rank(1) && f.in(1).concrete() && (f.in(1).dim(2).value() != 1 || f.in(1).dim(3).value() != 1))
    return invalid_argument("the weights have shape {}, a gated convolution is 1x1", shape_text(f.in(1).shape()));
  if (!f.has_rank(0) || !f.has_rank(1)) return {};
  const SymShape& x = f.in(0).shape();
  if (x.size() < 3) return invalid_argument("input 0 has shape {}, needs at least 3 dimensions", shape_text(x));
  TRN_TRY(expect_same_shape({x.back()}, {f.in(1).dim(1)}, "the channels of input 0"));
  if (f.has_rank(2)) {
    SymShape gate(x.size(), Dim(1));
    gate.back() = x.back();
    if (f.in(2).rank() == static_cast<int>(x.size()) && !f.in(2).dim(0).is_int(1)) gate[0] = x[0];
    TRN_TRY(expect_same_shape(f.in(2).shape(), gate, "the gate"));
  }
  SymShape y = x;
  y.back() = f.in(1).dim(0);
  if (f.has_rank(3)) TRN_TRY(expect_same_shape(f.in(3).shape(), {y.back()}, "the bias"));
  if (f.has_rank(4)) TRN_TRY(expect_same_shape(f.in(4).shape(), y, "the residual"));
  f.set(0, f.dtype(0), std::move(y));
  return {};
}

class GatedConvCpu final : public Kernel {
 public:
  struct State final : KernelState {
    int64_t batch = 0, pixels = 0, gate_step = 0;
    bool scale_weights = false;
    kernels::GemmGrid grid;
    size_t scratch_offset = 0, scratch_stride = 0;
  };

  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const kernels::Epilogue epilogue, read_activation(n));
    if (!n.input(1)->is_constant()) return not_implemented("a gated convolution with weights that are not constant");
    const Tensor& w = n.input(1)->constant();
    if (w.shape()[0] < kLeastColumns || w.shape()[1] < 1)
      return not_implemented("a gated convolution with weights of shape {}", shape_text(w.shape()));
    auto kernel = std::make_unique<GatedConvCpu>();
    kernel->epilogue_ = epilogue;
    kernel->cout_ = w.shape()[0];
    kernel->cin_ = w.shape()[1];
    TRN_ASSIGN(kernel->packed_, pack_matrix(w, true));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    const TensorView &x = ctx.in(0), &gate = ctx.in(2);
    s->batch = x.dim(0);
    s->pixels = product(x.shape(), 1, x.rank - 1);
    s->gate_step = gate.count > cin_ ? cin_ : 0;
    s->scale_weights = cout_ < s->pixels;
    s->grid = kernels::gemm_grid(s->pixels, cout_, cin_, ctx.threads());
    const int64_t copy = s->scale_weights ? packed_.count() : s->pixels * cin_;
    s->scratch_offset = (static_cast<size_t>(copy) * sizeof(float) + 63) / 64 * 64;
    s->scratch_stride = (kernels::gemm_scratch_size(cout_, cin_) + 63) / 64 * 64;
    ctx.request_scratch(s->scratch_offset +
                        s->scratch_stride * static_cast<size_t>(tile_slots(s->grid.count(), ctx.threads())));
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    if (ctx.out(0).count == 0) return {};
    const State& s = *ctx.state<State>();
    float* const copy = reinterpret_cast<float*>(ctx.scratch());
    kernels::GemmArgs g;
    g.m = s.pixels, g.n = cout_, g.k = cin_;
    g.a_row_stride = cin_, g.ldc = cout_;
    g.epilogue = epilogue_;
    if (ctx.has_in(3)) g.epilogue.bias_col = ctx.in(3).as<float>();
    for (int64_t image = 0; image < s.batch; ++image) {
      const float *x = ctx.in(0).as<float>() + image * s.pixels * cin_,
                  *gate = ctx.in(2).as<float>() + image * s.gate_step;
      g.a = x, g.packed_b = packed_.data<float>();
      if (s.scale_weights) {
        scale_weights(ctx, gate, copy);
        g.packed_b = copy;
      } else {
        scale_picture(ctx, x, gate, s.pixels, copy);
        g.a = copy;
      }
      g.c = ctx.out(0).as<float>() + image * s.pixels * cout_;
      if (ctx.has_in(4)) {
        g.epilogue.residual = ctx.in(4).as<float>() + image * s.pixels * cout_;
        g.epilogue.residual_ld = cout_;
      }
      for_each_tile(ctx, s.grid.count(), ctx.scratch() + s.scratch_offset, s.scratch_stride,
                    [&](int64_t tile, std::byte* own) { kernels::gemm_tile(g, s.grid, tile, own); });
    }
    return {};
  }

  bool reads_input(int i) const override { return i != 1; }

 private:
  // Row k of every panel belongs to channel k of the picture.
  void scale_weights(KernelContext& ctx, const float* gate, float* out) const {
    const int64_t full = kernels::gemm_panel_width(), panels = kernels::gemm_panel_count(cout_);
    const int64_t last = packed_.count() / cin_ - (panels - 1) * full;
    ctx.parallel_for(panels, std::max<int64_t>(1, 65536 / (cin_ * full)), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const float* from = packed_.data<float>() + p * cin_ * full;
        float* to = out + p * cin_ * full;
        const int64_t width = p + 1 < panels ? full : last;
        for (int64_t k = 0; k < cin_; ++k, from += width, to += width)
          for (int64_t j = 0; j < width; ++j) to[j] = from[j] * gate[k];
      }
    });
  }

  void scale_picture(KernelContext& ctx, const float* x, const float* gate, int64_t pixels, float* out) const {
    ctx.parallel_for(pixels, std::max<int64_t>(1, 32768 / cin_), [&](int64_t b, int64_t e) {
      kernels::norm().scale_shift_columns(x + b * cin_, out + b * cin_, e - b, cin_, gate, nullptr);
    });
  }

  kernels::Epilogue epilogue_;
  int64_t cin_ = 0, cout_ = 0;
  Tensor packed_;
};

constexpr OpDef kDefs[] = {
    {"GatedConv",
     infer,
     cpu<GatedConvCpu>(kF32),
     {.reviewed = 1},
     "trunnion",
     "trunnion::GatedConv 1 (X:T, W:T, gate:T, B?:T, R?:T) -> (Y:T) {activation:s='none', activation_a:f=0, "
     "activation_b:f=0, residual_after_activation:i=0} T=f32"},
};

}  // namespace

TRUNNION_OPS(gated_conv, kDefs);

}  // namespace trunnion::ops
