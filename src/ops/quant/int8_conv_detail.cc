#include "ops/quant/int8_conv_detail.h"

#include "kernels/transpose.h"
#include "ops/packing.h"
#include "ops/shape.h"
#include "ops/tiles.h"

namespace trunnion::ops {
namespace {

constexpr size_t kNone = SIZE_MAX;  // no buffer: used in place, for both layouts are the same
constexpr size_t kLine = 64;
constexpr int64_t kTileBytes = 256 << 10;  // aim for the sums of a tile, so that they stay in the cache until rounded
size_t aligned(size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

// [N, rows, cols] -> [N, cols, rows], split over threads.
void swap_layout(KernelContext& ctx, const void* x, void* y, int64_t n, int64_t rows, int64_t cols, size_t size) {
  const int64_t dims[] = {n, rows, cols}, perm[] = {0, 2, 1};
  kernels::TransposePlan plan;
  if (!kernels::transpose_plan(dims, perm, 3, size, plan)) return;
  const int64_t grain = std::max<int64_t>(1, (int64_t{256} << 10) / std::max<int64_t>(1, plan.unit_bytes));
  ctx.parallel_for(plan.units, grain, [&](int64_t begin, int64_t end) { kernels::transpose(plan, x, y, begin, end); });
}

}  // namespace

Status infer_int8_conv(const ConvParams& p, ir::Facts& f, DType out, int x_input, int w_input, bool channels_last) {
  const ir::Facts::Input inputs[] = {{&f.in(x_input), nullptr}, {&f.in(w_input), nullptr}};
  ir::Fact result[1];
  ir::Facts plain(inputs, result);
  TRN_TRY(infer_conv(p, plain, out, 0, 1, channels_last));
  if (f.outputs() > 0) f.out(0) = std::move(result[0]);
  return {};
}

Result<Int8ConvEngine> Int8ConvEngine::make(const ir::Value& w, ConvParams params, bool channels_last) {
  Int8ConvEngine e;
  e.params_ = std::move(params);
  e.channels_last_ = channels_last;
  if (!w.is_constant()) return e;
  const Tensor& weights = w.constant();
  if (weights.rank() < 3 || weights.rank() > 5)
    return not_implemented("a convolution over {} spatial dimensions", weights.rank() - 2);
  if (weights.count() == 0) return e;
  TRN_ASSIGN(const ConvChannels c, conv_channels(e.params_, weights.shape()));
  // The packed order does not depend on the size of the picture: any that the kernel fits will do.
  Shape x{1, c.cin};
  for (size_t i = 0; i < c.kernel.size(); ++i)
    x.push_back((e.params_.dilations.empty() ? 1 : e.params_.dilations[i]) * (c.kernel[i] - 1) + 1);
  ConvParams loose = e.params_;
  loose.pads.clear();
  TRN_ASSIGN(const kernels::ConvShape shape, conv_shape(loose, x, c));
  const kernels::ConvInt8Plan plan = kernels::conv_int8_plan(shape, 1);
  const kernels::ConvShape& p = plan.shape;
  std::vector<int64_t> numbers{p.cin, p.cout, p.groups};
  for (const auto* list : {&p.kernel, &p.stride, &p.dilation})
    numbers.insert(numbers.end(), std::begin(*list), std::end(*list));
  const Packing how{.layout = "conv int8",
                    .numbers = numbers,
                    .dtype = DType::u8,
                    .count = plan.packed_size,
                    .units = plan.pack_units,
                    .any_alignment = true};
  TRN_ASSIGN(e.packed_, pack(weights, how, [&](const Tensor& from, int64_t begin, int64_t end, void* to) {
               kernels::conv_int8_pack(plan, from.raw(), from.dtype() == DType::i8, begin, end, to);
             }));
  return e;
}

Result<size_t> Int8ConvEngine::prepare(const TensorView& x, const TensorView& w, const TensorView& y, int threads,
                                       size_t offset, State& state) const {
  if (x.rank < 3 || x.rank > 5)
    return not_implemented("a convolution over {} spatial dimensions (input of shape {})", x.rank - 2,
                           shape_text(x.shape()));
  if (y.count == 0) return offset;
  TRN_ASSIGN(const ConvChannels c, conv_channels(params_, w.shape()));
  Shape dims{x.dim(0), c.cin};
  for (int i = 2; i < x.rank; ++i) dims.push_back(channels_last_ ? x.dim(i - 1) : x.dim(i));
  TRN_ASSIGN(const kernels::ConvShape shape, conv_shape(params_, dims, c));
  const bool sums_only = y.dtype == DType::i32;
  const int64_t sum_bytes = y.count * static_cast<int64_t>(sizeof(int32_t));
  const int64_t pieces = sums_only ? threads : std::clamp<int64_t>(sum_bytes / kTileBytes, threads, 1024);
  state.plan = kernels::conv_int8_plan(shape, static_cast<int>(pieces));
  state.pixels_in = product(dims, 2, x.rank);
  state.pixels_out = y.count / (x.dim(0) * c.cout);
  const auto take = [&offset](size_t bytes) {
    const size_t at = offset;
    offset += aligned(bytes);
    return at;
  };
  const bool same_in = channels_last_ || c.cin == 1 || state.pixels_in == 1,
             same_out = channels_last_ || c.cout == 1 || state.pixels_out == 1;
  state.x_offset = same_in ? kNone : take(static_cast<size_t>(x.count));
  state.y_offset = same_out ? kNone : take(y.bytes());
  state.packed_offset = packed_.valid() ? kNone : take(static_cast<size_t>(state.plan.packed_size));
  state.zero_offset = take(static_cast<size_t>(c.cout) * sizeof(int32_t));
  state.slot_tile = aligned(state.plan.scratch_size);
  state.slot_stride = state.slot_tile;
  if (!sums_only) {
    size_t most = 0;
    for (int64_t t = 0; t < state.plan.tiles; ++t) {
      const auto r = kernels::conv_int8_region(state.plan, t);
      most = std::max(most, static_cast<size_t>((r.pixel_end - r.pixel_begin) * (r.channel_end - r.channel_begin)) *
                                sizeof(int32_t));
    }
    state.slot_stride += aligned(most);
  }
  state.slot_offset = take(state.slot_stride * static_cast<size_t>(tile_slots(state.plan.tiles, threads)));
  return offset;
}

Status Int8ConvEngine::run(KernelContext& ctx, const State& s, const TensorView& x, const TensorView& w, int32_t x_zero,
                           const TensorView* w_zero, const TensorView& y, FunctionRef<void(const Tile&)> finish) const {
  if (y.count == 0) return {};
  std::byte* scratch = ctx.scratch();
  const kernels::ConvShape& shape = s.plan.shape;
  kernels::ConvInt8Args args;
  args.x = x.data;
  if (s.x_offset != kNone) {
    swap_layout(ctx, x.data, scratch + s.x_offset, shape.batch, shape.cin, s.pixels_in, 1);
    args.x = scratch + s.x_offset;
  }
  args.x_signed = x.dtype == DType::i8;
  args.x_pixel_stride = shape.cin;
  args.w_signed = w.dtype == DType::i8;
  args.packed = packed_.raw();
  if (s.packed_offset != kNone) {
    void* packed = scratch + s.packed_offset;
    ctx.parallel_for(s.plan.pack_units, 4, [&](int64_t b, int64_t e) {
      kernels::conv_int8_pack(s.plan, w.data, args.w_signed, b, e, packed);
    });
    args.packed = packed;
  }
  args.x_zero = x_zero;
  if (w_zero) {
    if (w_zero->count != 1 && w_zero->count != shape.cout)
      return invalid_argument("the weights' zero point has {} entries, there are {} output channels", w_zero->count,
                              shape.cout);
    auto* zeros = reinterpret_cast<int32_t*>(scratch + s.zero_offset);
    for (int64_t i = 0; i < w_zero->count; ++i)
      zeros[i] = w_zero->dtype == DType::i8 ? w_zero->as<const int8_t>()[i] : w_zero->as<const uint8_t>()[i];
    args.w_zero = zeros;
    args.w_zero_per_channel = w_zero->count > 1;
  }
  const bool sums_only = y.dtype == DType::i32;
  void* out = s.y_offset != kNone ? scratch + s.y_offset : y.data;
  for_each_tile(ctx, s.plan.tiles, scratch + s.slot_offset, s.slot_stride, [&](int64_t tile, std::byte* own) {
    kernels::ConvInt8Args mine = args;
    if (sums_only) {
      mine.y = static_cast<int32_t*>(out);
      mine.y_pixel_stride = shape.cout;
      kernels::conv_int8_tile(s.plan, mine, tile, tile + 1, own);
      return;
    }
    const auto r = kernels::conv_int8_region(s.plan, tile);
    auto* sums = reinterpret_cast<int32_t*>(own + s.slot_tile);
    Tile t{sums,
           r.channel_end - r.channel_begin,
           r.pixel_begin,
           r.pixel_end - r.pixel_begin,
           r.channel_begin,
           r.channel_end - r.channel_begin,
           nullptr,
           shape.cout};
    // The kernel counts pixels and channels from the first.
    mine.y = reinterpret_cast<int32_t*>(reinterpret_cast<uintptr_t>(sums) -
                                        static_cast<uintptr_t>(t.pixel * t.ld + t.channel) * sizeof(int32_t));
    mine.y_pixel_stride = t.ld;
    kernels::conv_int8_tile(s.plan, mine, tile, tile + 1, own);
    t.y = static_cast<std::byte*>(out) + t.pixel * shape.cout + t.channel;
    finish(t);
  });
  if (s.y_offset != kNone) swap_layout(ctx, out, y.data, shape.batch, s.pixels_out, shape.cout, size_of(y.dtype));
  return {};
}

}  // namespace trunnion::ops
