// MaxPool, AveragePool, GlobalMaxPool and GlobalAveragePool (com.microsoft.nchwc 1): every block of channels is a
// picture with channels last.
#include <algorithm>

#include "kernels/pool.h"
#include "kernels/reduce.h"
#include "ops/contrib/nchwc_detail.h"
#include "ops/nn/window_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer_pool(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const WindowParams p, read_window(n));
  TRN_TRY(expect_rank(f, 0, 4));
  std::optional<SymShape> shape;
  if (f.has_rank(0)) {
    TRN_ASSIGN(shape, window_shape(p, f.in(0).shape()));
  }
  f.set(0, f.dtype(0), std::move(shape));
  return {};
}

Status expect_blocks(const TensorView& x, int64_t block) {
  if (x.dim(1) % block == 0) return {};
  return invalid_argument("{} channels are no multiple of the block of {}", x.dim(1), block);
}

class NchwcPoolCpu final : public Kernel {
 public:
  struct State final : KernelState {
    kernels::PoolShape shape;
  };

  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(WindowParams p, read_window(n));
    return std::unique_ptr<Kernel>(
        new NchwcPoolCpu(std::move(p), n.op_type() == "MaxPool", n.attr("count_include_pad", 0) != 0, nchwc_block(n)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    TRN_ASSIGN(s->shape, pool_shape(p_, ctx.in(0).shape(), ctx.out(0).shape()));
    s->shape.count_include_pad = count_pad_;
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (y.count == 0) return {};
    TRN_TRY(expect_blocks(x, block_));
    const int64_t pictures = x.dim(0) * x.dim(1) / block_, in = x.dim(2) * x.dim(3) * block_,
                  out = y.dim(2) * y.dim(3) * block_, rows = y.dim(2);
    // No window holds more elements than the input.
    int64_t work = y.dim(3) * block_;
    for (int d : {1, 2}) work *= std::min(s.shape.kernel[d], std::max<int64_t>(1, s.shape.in[d]));
    const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, work));
    const auto run = max_ ? kernels::pool().max_nhwc : kernels::pool().average_nhwc;
    ctx.parallel_for(pictures * rows, grain, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t picture = begin / rows, row = begin % rows, n = std::min(end - begin, rows - row);
        run(x.as<float>() + picture * in, y.as<float>() + picture * out, block_, row, row + n, s.shape);
        begin += n;
      }
    });
    return {};
  }

 private:
  NchwcPoolCpu(WindowParams p, bool max, bool count_pad, int64_t block)
      : p_(std::move(p)), max_(max), count_pad_(count_pad), block_(block) {}
  WindowParams p_;
  bool max_, count_pad_;
  int64_t block_;
};

Status infer_global(const ir::Node&, ir::Facts& f) {
  f.set(0, f.dtype(0));
  TRN_TRY(expect_rank(f, 0, 4));
  if (f.has_rank(0)) f.set(0, f.dtype(0), SymShape{f.in(0).dim(0), f.in(0).dim(1), 1, 1});
  return {};
}

class NchwcGlobalPoolCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new NchwcGlobalPoolCpu(n.op_type() == "GlobalMaxPool", nchwc_block(n)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (y.count == 0) return {};
    TRN_TRY(expect_blocks(x, block_));
    const int64_t pixels = x.dim(2) * x.dim(3);
    const auto reduce = kernels::reduce(max_ ? kernels::ReduceOp::max : kernels::ReduceOp::mean, kernels::Elem::f32);
    ctx.parallel_for(x.dim(0) * x.dim(1) / block_, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, pixels * block_)),
                     [&](int64_t begin, int64_t end) {
                       reduce(x.as<float>() + begin * pixels * block_, y.as<float>() + begin * block_,
                              {end - begin, pixels, block_, block_});
                     });
    return {};
  }

 private:
  NchwcGlobalPoolCpu(bool max, int64_t block) : max_(max), block_(block) {}
  bool max_;
  int64_t block_;
};

constexpr OpDef kDefs[] = {
    {"MaxPool",
     infer_pool,
     cpu<NchwcPoolCpu>(kF32),
     {.reviewed = 1},
     "com.microsoft.nchwc",
     "com.microsoft.nchwc::MaxPool 1 (X:T) -> (Y:T) {auto_pad:s='NOTSET', ceil_mode:i=0, dilations:is, "
     "kernel_shape!:is, pads:is, storage_order:i=0, strides:is} T=f32"},
    {"AveragePool",
     infer_pool,
     cpu<NchwcPoolCpu>(kF32),
     {.reviewed = 1},
     "com.microsoft.nchwc",
     "com.microsoft.nchwc::AveragePool 1 (X:T) -> (Y:T) {auto_pad:s='NOTSET', ceil_mode:i=0, count_include_pad:i=0, "
     "dilations:is, kernel_shape!:is, pads:is, strides:is} T=f32"},
    {"GlobalAveragePool",
     infer_global,
     cpu<NchwcGlobalPoolCpu>(kF32),
     {.reviewed = 1},
     "com.microsoft.nchwc",
     "com.microsoft.nchwc::GlobalAveragePool 1 (X:T) -> (Y:T) T=f32"},
    {"GlobalMaxPool",
     infer_global,
     cpu<NchwcGlobalPoolCpu>(kF32),
     {.reviewed = 1},
     "com.microsoft.nchwc",
     "com.microsoft.nchwc::GlobalMaxPool 1 (X:T) -> (Y:T) T=f32"},
};

}  // namespace

TRUNNION_OPS(nchwc_pool, kDefs);

}  // namespace trunnion::ops
