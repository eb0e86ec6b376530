// ConvTransposeWithDynamicPads (com.microsoft 1): ConvTranspose whose pads come as a tensor. The order in which the
// weights are packed depends on the pads, so that they are packed by every run.
#include <algorithm>

#include "kernels/transpose.h"
#include "ops/dispatch.h"
#include "ops/nn/conv_detail.h"
#include "ops/shape.h"
#include "ops/tiles.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

enum Input { kX, kW, kPads, kBias };

Status infer(const ir::Node& n, ir::Facts& f) {
  ConvParams p = read_conv(n, true);
  const bool known = !f.has(kPads) || f.ints(kPads).has_value();
  if (f.has(kPads) && known) p.pads = *f.ints(kPads);
  // The inputs of ConvTranspose.
  const ir::Facts::Input inputs[] = {
      {&f.in(kX), nullptr}, {&f.in(kW), nullptr}, {f.has(kBias) ? &f.in(kBias) : nullptr, nullptr}};
  ir::Fact out;
  ir::Facts plain(inputs, {&out, 1});
  TRN_TRY(infer_conv(p, plain, f.dtype(kX)));
  if (!known && out.has_rank())
    for (size_t i = 2; i < out.shape().size(); ++i) (*out.type.shape)[i] = Dim();
  f.set(0, f.dtype(kX), out.type.shape);
  return {};
}

// [N, rows, cols] -> [N, cols, rows].
Status swap_layout(KernelContext& ctx, const float* x, float* y, int64_t n, int64_t rows, int64_t cols) {
  const int64_t dims[] = {n, rows, cols}, perm[] = {0, 2, 1};
  kernels::TransposePlan plan;
  if (!kernels::transpose_plan(dims, perm, 3, sizeof(float), plan))
    return invalid_argument("{} x {} x {} elements are too many", n, rows, cols);
  const int64_t grain = std::max<int64_t>(1, (int64_t{256} << 10) / std::max<int64_t>(1, plan.unit_bytes));
  ctx.parallel_for(plan.units, grain, [&](int64_t begin, int64_t end) { kernels::transpose(plan, x, y, begin, end); });
  return {};
}

Result<Tensor> floats(int64_t count) {
  const int64_t size[] = {count};
  return Tensor::allocate(DType::f32, size);
}

class DynamicPadsCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new DynamicPadsCpu(read_conv(n, true)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(kX), &w = ctx.in(kW), &y = ctx.out(0);
    if (x.rank < 3 || x.rank > 5) return not_implemented("a convolution over {} spatial dimensions", x.rank - 2);
    if (y.count == 0) return {};
    ConvParams p = p_;
    if (ctx.has_in(kPads)) {
      const Shape pads = read_ints(ctx.in(kPads));
      p.pads.assign(pads.begin(), pads.end());
    }
    TRN_ASSIGN(const ConvChannels c, conv_channels(p, w.shape()));
    TRN_ASSIGN(const kernels::ConvShape shape, conv_shape(p, x.shape(), c));
    const kernels::ConvPlan plan = kernels::conv_plan(shape, ctx.threads());
    const int64_t batch = x.dim(0), pixels_in = product(x.shape(), 2, x.rank),
                  pixels_out = product(y.shape(), 2, y.rank);

    TRN_ASSIGN(const Tensor packed, floats(plan.packed_size));
    ctx.parallel_for(plan.pack_units, 4, [&](int64_t begin, int64_t end) {
      kernels::conv_pack(plan, w.as<float>(), begin, end, packed.data<float>());
    });
    TRN_ASSIGN(const Tensor from, floats(x.count));
    TRN_TRY(swap_layout(ctx, x.as<float>(), from.data<float>(), batch, c.cin, pixels_in));
    TRN_ASSIGN(const Tensor to, floats(y.count));

    kernels::ConvArgs args;
    args.x = from.data<float>();
    args.x_pixel_stride = c.cin;
    args.packed = packed.data<float>();
    args.y = to.data<float>();
    args.y_pixel_stride = c.cout;
    if (ctx.has_in(kBias)) args.epilogue.bias_col = ctx.in(kBias).as<float>();
    const auto stride = static_cast<int64_t>((plan.scratch_size + 63) / 64 * 64);
    TRN_ASSIGN(const Tensor scratch,
               floats(stride * tile_slots(plan.tiles, ctx.threads()) / static_cast<int64_t>(sizeof(float)) + 1));
    for_each_tile(ctx, plan.tiles, static_cast<std::byte*>(scratch.raw()), static_cast<size_t>(stride),
                  [&](int64_t tile, std::byte* own) { kernels::conv_tile(plan, args, tile, tile + 1, own); });
    return swap_layout(ctx, to.data<float>(), y.as<float>(), batch, pixels_out, c.cout);
  }

 private:
  explicit DynamicPadsCpu(ConvParams p) : p_(std::move(p)) {}
  ConvParams p_;
};

constexpr OpDef kDefs[] = {
    {"ConvTransposeWithDynamicPads",
     infer,
     cpu_widened<DynamicPadsCpu>(DType::f32 | DType::f16),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::ConvTransposeWithDynamicPads 1 (X:T, W:T, Pads?:i64, B?:T) -> (Y:T) {auto_pad:s='NOTSET', "
     "dilations:is, group:i=1, kernel_shape:is, output_padding:is, strides:is} T=float"}};

}  // namespace

TRUNNION_OPS(conv_transpose_with_dynamic_pads, kDefs);

}  // namespace trunnion::ops
