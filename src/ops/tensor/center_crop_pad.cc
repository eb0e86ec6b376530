// CenterCropPad (ai.onnx 18): cuts or pads (with zeros) axes to given sizes, keeping the middle.
#include <algorithm>
#include <string>

#include "ops/dispatch.h"
#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  if (!f.has(0)) return {};
  f.set(0, f.dtype(0));
  TRN_TRY(expect_rank(f, 1, 1));
  if (!f.has_rank(0)) return {};
  const int rank = f.in(0).rank();
  std::vector<int64_t> axes = n.ints("axes");
  if (!n.has_attr("axes"))
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  TRN_TRY(normalize_axes(axes, rank));
  const auto sizes = f.dims(1);
  if (sizes && sizes->size() != axes.size())
    return invalid_argument("shape has {} entries, there are {} axes", sizes->size(), axes.size());
  SymShape out = f.in(0).shape();
  for (size_t i = 0; i < axes.size(); ++i) {
    TRN_ASSIGN(const int axis, normalize_axis(axes[i], rank));
    out[axis] = sizes ? (*sizes)[i] : Dim();
    if (out[axis].is_int() && out[axis].value() < 0)
      return invalid_argument("shape {} has a negative size", shape_text(*sizes));
  }
  f.out(0).type.shape = std::move(out);
  return {};
}

class CenterCropPadKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) {
    return std::unique_ptr<Kernel>(new CenterCropPadKernel);
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    TRN_TRY(expect_copy_rank(x.rank));
    if (!std::ranges::equal(x.shape(), y.shape())) zero(ctx, y);
    const Shape from = row_major_strides(x.shape()), to = row_major_strides(y.shape());
    kernels::CopyShape box;
    box.rank = x.rank;
    int64_t src = 0, dst = 0;
    for (int d = 0; d < x.rank; ++d) {
      box.dim[d] = std::min(x.dim(d), y.dim(d));
      box.src_stride[d] = from[d];
      box.dst_stride[d] = to[d];
      src += (x.dim(d) - box.dim[d]) / 2 * from[d];
      dst += (y.dim(d) - box.dim[d]) / 2 * to[d];
    }
    if (x.count && y.count)
      copy_strided(ctx, element(x.data, src, x.dtype), element(y.data, dst, y.dtype), box, x.dtype);
    return {};
  }

 private:
  static void zero(KernelContext& ctx, const TensorView& y) {
    const std::string empty;
    const Bits128 zeros{};
    fill_elements(ctx, y.data, y.dtype == DType::string ? static_cast<const void*>(&empty) : &zeros, y.count, y.dtype);
  }
};

constexpr DTypes kTypes = kPlainTypes | DType::string;
constexpr OpDef kDefs[] = {{"CenterCropPad", infer, cpu<CenterCropPadKernel>(kTypes), {.reviewed = 18}}};

}  // namespace

TRUNNION_OPS(center_crop_pad, kDefs);
}  // namespace trunnion::ops
