// Crop (ai.onnx 1): cuts a frame off the pictures [N, C, H, W]; experimental, taken back in opset 10.
#include "ops/dispatch.h"
#include "ops/move.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

struct Params {
  std::vector<int64_t> border;  // left, top, right, bottom
  std::vector<int64_t> scale;   // height and width of what is kept, instead of right and bottom
};
Result<Params> read(const ir::Node& n) {
  Params p{n.ints("border"), n.ints("scale")};
  if (p.border.size() != 4) return invalid_argument("attribute border has {} entries, needs 4", p.border.size());
  if (!p.scale.empty() && p.scale.size() != 2)
    return invalid_argument("attribute scale has {} entries, needs 2", p.scale.size());
  for (const auto* list : {&p.border, &p.scale})
    for (const int64_t v : *list)
      if (v < 0 || v > INT32_MAX) return invalid_argument("attribute border or scale holds {}", v);
  return p;
}

// What is kept of axis 2 or 3.
Result<Dim> kept(const Params& p, const SymShape& x, int axis) {
  const int64_t first = p.border[axis == 2 ? 1 : 0], last = p.border[axis == 2 ? 3 : 2];
  const Dim out = p.scale.empty() ? x[axis] - Dim(first + last) : Dim(p.scale[axis - 2]);
  if (x[axis].is_int() && (out.value() < 0 || first + out.value() > x[axis].value()))
    return invalid_argument("border [{}] and scale [{}] do not fit axis {} of shape {}", fmt::join(p.border, ","),
                            fmt::join(p.scale, ","), axis, shape_text(x));
  return out;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  f.set(0, f.dtype(0));
  TRN_TRY(expect_rank(f, 0, 4));
  if (!f.has_rank(0)) return {};
  SymShape y = f.in(0).shape();
  for (int axis : {2, 3}) {
    TRN_ASSIGN(y[axis], kept(p, f.in(0).shape(), axis));
  }
  f.set(0, f.dtype(0), std::move(y));
  return {};
}

class CropCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(Params p, read(n));
    return std::unique_ptr<Kernel>(new CropCpu(p.border[0], p.border[1]));
  }
  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (y.count == 0) return {};
    kernels::CopyShape box;
    box.rank = 4;
    for (int i = 0; i < 4; ++i) box.dim[i] = y.dim(i);
    kernels::contiguous_strides(x.dims, 4, box.src_stride);
    kernels::contiguous_strides(y.dims, 4, box.dst_stride);
    copy_strided(ctx, element(x.data, top_ * x.dim(3) + left_, x.dtype), y.data, box, x.dtype);
    return {};
  }

 private:
  CropCpu(int64_t left, int64_t top) : left_(left), top_(top) {}
  int64_t left_, top_;
};

constexpr OpDef kDefs[] = {{"Crop",
                            infer,
                            cpu<CropCpu>(kFloats),
                            {.reviewed = 1},
                            "",
                            "Crop 1 experimental (input:T) -> (output:T) {border:is, scale:is} T=float"}};

}  // namespace

TRUNNION_OPS(crop, kDefs);

}  // namespace trunnion::ops
