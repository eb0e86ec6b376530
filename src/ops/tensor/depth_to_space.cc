// DepthToSpace (ai.onnx 1, 11, 13, 28) and its inverse SpaceToDepth (1, 13, 28): blocks of the plane against channels,
// in DCR (block index outside the channel) or CRD order.
#include <algorithm>

#include "kernels/transpose.h"
#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

struct Params {
  int64_t block;
  bool crd;
};
Result<Params> read(const ir::Node& n) {
  const std::string mode = n.attr("mode", "DCR");
  const int64_t block = n.attr("blocksize", 0);
  if (mode != "DCR" && mode != "CRD") return invalid_argument("attribute mode is '{}', needs 'DCR' or 'CRD'", mode);
  if (block < 1 || block > 1 << 15) return invalid_argument("blocksize is {}", block);
  return Params{block, mode == "CRD"};
}

Status infer(const ir::Node& n, ir::Facts& f, bool to_space) {
  TRN_ASSIGN(const Params p, read(n));
  TRN_TRY(expect_rank(f, 0, 4));
  f.set(0, f.dtype(0), unknown_shape(4));
  if (!f.has_rank(0)) return {};
  const SymShape& in = f.in(0).shape();
  const Dim b = p.block, bb = p.block * p.block;
  const auto divides = [&](int axis, const Dim& by) -> Status {
    if (in[axis].is_int() && in[axis].value() % by.value() != 0)
      return invalid_argument("axis {} of size {} is not divisible by {}", axis, in[axis].value(), by.value());
    return {};
  };
  if (to_space) {
    TRN_TRY(divides(1, bb));
    f.out(0).type.shape = SymShape{in[0], floor_div(in[1], bb), in[2] * b, in[3] * b};
  } else {
    TRN_TRY(divides(2, b));
    TRN_TRY(divides(3, b));
    f.out(0).type.shape = SymShape{in[0], in[1] * bb, floor_div(in[2], b), floor_div(in[3], b)};
  }
  return {};
}
Status infer_to_space(const ir::Node& n, ir::Facts& f) { return infer(n, f, true); }
Status infer_to_depth(const ir::Node& n, ir::Facts& f) { return infer(n, f, false); }

struct BlockState final : KernelState {
  kernels::TransposePlan plan;
};

// A permutation of six dimensions: image, channel, row, row in the block, column, column in the block on the plane
// side; on the other side the two of the block stand before or behind the channel.
class BlockKernel final : public Kernel {
 public:
  BlockKernel(Params p, bool to_space) : p_(p), to_space_(to_space) {}

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    const TensorView &plane = to_space_ ? ctx.out(0) : ctx.in(0), &deep = to_space_ ? ctx.in(0) : ctx.out(0);
    if (plane.dtype == DType::string) return std::unique_ptr<KernelState>();
    const int64_t b = p_.block, n = plane.dim(0), channels = plane.dim(1), height = deep.dim(2), width = deep.dim(3);
    const int64_t on_plane[] = {n, channels, height, b, width, b};
    const int64_t dcr[] = {n, b, b, channels, height, width}, crd[] = {n, channels, b, b, height, width};
    constexpr int64_t kToDcr[] = {0, 3, 5, 1, 2, 4}, kToCrd[] = {0, 1, 3, 5, 2, 4}, kFromDcr[] = {0, 3, 4, 1, 5, 2},
                      kFromCrd[] = {0, 1, 4, 2, 5, 3};
    auto s = std::make_unique<BlockState>();
    const int64_t* from = !to_space_ ? on_plane : p_.crd ? crd : dcr;
    const int64_t* perm = to_space_ ? (p_.crd ? kFromCrd : kFromDcr) : p_.crd ? kToCrd : kToDcr;
    if (!kernels::transpose_plan(from, perm, 6, size_of(plane.dtype), s->plan))
      return not_implemented("element type {} is not supported here", dtype_name(plane.dtype));
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &plane = to_space_ ? ctx.out(0) : ctx.in(0), &deep = to_space_ ? ctx.in(0) : ctx.out(0);
    if (deep.count == 0) return {};
    if (const auto* s = ctx.state<BlockState>()) {
      const auto& t = s->plan;
      ctx.parallel_for(t.units, 65536 / std::max<int64_t>(t.unit_bytes, 1) + 1, [&](int64_t begin, int64_t end) {
        kernels::transpose(t, ctx.in(0).data, ctx.out(0).data, begin, end);
      });
      return {};
    }
    const int64_t b = p_.block, channels = plane.dim(1), height = deep.dim(2), width = deep.dim(3),
                  area = height * width;
    kernels::CopyShape box{6, {plane.dim(0), channels, height, b, width, b}, {}, {}};
    int64_t* on_plane = to_space_ ? box.dst_stride : box.src_stride;
    kernels::contiguous_strides(box.dim, 6, on_plane);
    const int64_t channel = p_.crd ? b * b * area : area, cell = p_.crd ? area : channels * area;
    const int64_t on_deep[] = {channels * b * b * area, channel, width, b * cell, 1, cell};
    std::copy(on_deep, on_deep + 6, to_space_ ? box.src_stride : box.dst_stride);
    copy_strided(ctx, ctx.in(0).data, ctx.out(0).data, box, ctx.in(0).dtype);
    return {};
  }

 private:
  Params p_;
  bool to_space_;
};

template <bool kToSpace>
Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
  TRN_ASSIGN(const Params p, read(n));
  return std::unique_ptr<Kernel>(new BlockKernel(p, kToSpace));
}

constexpr DTypes kTypes = kPlainTypes | DType::string;
constexpr OpDef kDefs[] = {
    {"DepthToSpace", infer_to_space, {kTypes, make<true>, 0}, {.reviewed = 28}},
    {"SpaceToDepth", infer_to_depth, {kTypes, make<false>, 0}, {.reviewed = 28}},
};

}  // namespace

TRUNNION_OPS(depth_to_space, kDefs);
}  // namespace trunnion::ops
