// Tile (ai.onnx 1, 6, 13): repeats the input along its axes. Version 1 repeats along one axis, by two inputs of the
// data's own (float) type.
#include <optional>

#include "ops/dispatch.h"
#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  if (!f.has(0)) return {};
  f.set(0, f.dtype(0));
  if (!f.has_rank(0)) return {};
  const SymShape& in = f.in(0).shape();
  const int rank = f.in(0).rank();
  SymShape out = unknown_shape(rank);
  if (n.since() < 6) {
    const auto tiles = f.number(1), axis = f.number(2);
    if (tiles && axis) {
      TRN_ASSIGN(const int at, normalize_axis(to_int64(*axis), rank));
      if (*tiles < 0) return invalid_argument("tiles is {}", *tiles);
      out = in;
      out[at] = out[at] * Dim(to_int64(*tiles));
    }
  } else if (const auto repeats = f.dims(1)) {
    if (static_cast<int>(repeats->size()) != rank)
      return invalid_argument("repeats has {} entries, needs {}, the rank of the input", repeats->size(), rank);
    for (int d = 0; d < rank; ++d) {
      if ((*repeats)[d].is_int() && (*repeats)[d].value() < 0)
        return invalid_argument("repeats {} has a negative entry", shape_text(*repeats));
      out[d] = in[d] * (*repeats)[d];
      if (in[d].is_int() && (*repeats)[d].is_int() && out[d].is_unknown())
        return invalid_argument("axis {} of size {} repeated {} times is too large", d, in[d].value(),
                                (*repeats)[d].value());
    }
    if (rank == 1 && f.in(0).content && (*repeats)[0].is_int() && out[0].is_int() &&
        out[0].value() <= ir::kMaxContent) {
      std::vector<Dim> all;
      for (int64_t i = 0; i < (*repeats)[0].value(); ++i)
        all.insert(all.end(), f.in(0).content->begin(), f.in(0).content->end());
      f.out(0).content = std::move(all);
    }
  }
  f.out(0).type.shape = std::move(out);
  return {};
}

class TileKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new TileKernel); }

  // The output's shape says how often each axis is repeated.
  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (y.count == 0) return {};
    const Shape from = row_major_strides(x.shape()), to = row_major_strides(y.shape());
    kernels::CopyShape box;
    const auto add = [&](int64_t dim, int64_t src, int64_t dst) {
      box.dim[box.rank] = dim;
      box.src_stride[box.rank] = src;
      box.dst_stride[box.rank++] = dst;
    };
    for (int d = 0; d < x.rank; ++d) {
      const int64_t repeats = y.dim(d) / x.dim(d);
      if (box.rank + 2 > kernels::kMaxCopyDims)
        return not_implemented("shape {} has too many axes", shape_text(x.shape()));
      if (repeats > 1) add(repeats, 0, x.dim(d) * to[d]);
      if (x.dim(d) > 1) add(x.dim(d), from[d], to[d]);
    }
    if (box.rank == 0) add(1, 1, 1);
    copy_strided(ctx, x.data, y.data, box, x.dtype);
    return {};
  }
};

constexpr DTypes kTypes = kPlainTypes | DType::string;
constexpr OpDef kDefs[] = {{"Tile", infer, cpu<TileKernel>(kTypes), {.reviewed = 13}}};

}  // namespace

TRUNNION_OPS(tile, kDefs);
}  // namespace trunnion::ops
