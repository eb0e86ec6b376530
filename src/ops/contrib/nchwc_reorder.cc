// ReorderInput and ReorderOutput (com.microsoft.nchwc 1): from [N, C, H, W] or (channels_last) [N, H, W, C] to blocked
// channels, the last block padded with zeros, and back.
#include <algorithm>
#include <tuple>

#include "ops/contrib/nchwc_detail.h"
#include "ops/move.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

bool channels_last(const ir::Node& n) { return n.attr("channels_last", 0) != 0; }

// [N, C, H, W] from [N, H, W, C], or back.
SymShape to_first(const SymShape& s) { return {s[0], s[3], s[1], s[2]}; }
SymShape to_last(const SymShape& s) { return {s[0], s[2], s[3], s[1]}; }

Status infer_input(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(expect_rank(f, 0, 4));
  SymShape y = unknown_shape(4);
  if (f.has_rank(0)) {
    y = channels_last(n) ? to_first(f.in(0).shape()) : f.in(0).shape();
    const Dim block = nchwc_block(n);
    y[1] = ceil_div(y[1], block) * block;
  }
  f.set(0, f.dtype(0), std::move(y));
  return {};
}

Status infer_output(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(expect_rank(f, 0, 4));
  const int64_t channels = n.attr("channels", 0);
  if (channels < 1) return invalid_argument("attribute channels is {}, expected at least 1", channels);
  SymShape y = unknown_shape(4);
  if (f.has_rank(0)) {
    y = f.in(0).shape();
    if (y[1].is_int() && y[1].value() < channels)
      return invalid_argument("attribute channels is {}, input 0 of shape {} has fewer", channels, shape_text(y));
  }
  y[1] = channels;
  f.set(0, f.dtype(0), channels_last(n) ? to_last(y) : std::move(y));
  return {};
}

class ReorderCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new ReorderCpu(n.op_type() == "ReorderInput", channels_last(n), nchwc_block(n)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (y.count == 0) return {};
    const TensorView &plain = input_ ? x : y, &blocked = input_ ? y : x;
    const int64_t channels = plain.dim(last_ ? 3 : 1), padded = blocked.dim(1),
                  pixels = blocked.dim(2) * blocked.dim(3);
    if (padded % block_ != 0) return invalid_argument("{} channels are no multiple of the block of {}", padded, block_);
    if (input_ && padded != channels) {
      const float zero = 0;
      fill_elements(ctx, y.data, &zero, y.count, y.dtype);
    }
    // Whole blocks, then what the last one has. Pixels are innermost in neither case.
    const int64_t whole = channels / block_, rest = channels % block_;
    for (const auto& [first, blocks, width] :
         {std::tuple{int64_t{0}, whole, block_}, std::tuple{whole, int64_t{1}, rest}}) {
      if (blocks == 0 || width == 0) continue;
      const int64_t dims[] = {plain.dim(0), blocks, pixels, width};
      const int64_t of_plain[] = {channels * pixels, last_ ? block_ : block_ * pixels, last_ ? channels : 1,
                                  last_ ? 1 : pixels};
      const int64_t of_blocked[] = {padded * pixels, block_ * pixels, block_, 1};
      kernels::CopyShape box;
      box.rank = 4;
      std::copy_n(dims, 4, box.dim);
      std::copy_n(input_ ? of_plain : of_blocked, 4, box.src_stride);
      std::copy_n(input_ ? of_blocked : of_plain, 4, box.dst_stride);
      const int64_t at_plain = first * of_plain[1], at_blocked = first * of_blocked[1];
      copy_strided(ctx, element(x.data, input_ ? at_plain : at_blocked, x.dtype),
                   element(y.data, input_ ? at_blocked : at_plain, y.dtype), box, x.dtype);
    }
    return {};
  }

 private:
  ReorderCpu(bool input, bool last, int64_t block) : input_(input), last_(last), block_(block) {}
  bool input_, last_;
  int64_t block_;
};

constexpr OpDef kDefs[] = {
    {"ReorderInput",
     infer_input,
     cpu<ReorderCpu>(kF32),
     {.reviewed = 1},
     "com.microsoft.nchwc",
     "com.microsoft.nchwc::ReorderInput 1 (X:T) -> (Y:T) {channels_last:i=0} T=f32"},
    {"ReorderOutput",
     infer_output,
     cpu<ReorderCpu>(kF32),
     {.reviewed = 1},
     "com.microsoft.nchwc",
     "com.microsoft.nchwc::ReorderOutput 1 (X:T) -> (Y:T) {channels:i=0, channels_last:i=0} T=f32"},
};

}  // namespace

TRUNNION_OPS(nchwc_reorder, kDefs);

}  // namespace trunnion::ops
