// Concat (ai.onnx 1, 4, 11, 13): joins tensors along an axis. Version 1 may leave the axis out (1).
#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

int64_t read(const ir::Node& n) { return n.attr("axis", n.since() < 4 ? 1 : 0); }

// Joined contents of rank-1 integer tensors. An input with a known length but unknown content gives unknown dimensions,
// so that a shape in the making keeps its rank.
void join_contents(ir::Facts& f) {
  if (f.dtype(0) != DType::i64 && f.dtype(0) != DType::i32) return;
  std::vector<Dim> all;
  bool any = false;
  for (int i = 0; i < f.inputs(); ++i) {
    if (auto part = f.dims(i)) {
      all.insert(all.end(), part->begin(), part->end());
      any = true;
    } else if (f.in(i).dim(0).is_int() && f.in(i).dim(0).value() <= ir::kMaxContent) {
      all.resize(all.size() + static_cast<size_t>(f.in(i).dim(0).value()));
    } else {
      return;
    }
    if (all.size() > static_cast<size_t>(ir::kMaxContent)) return;
  }
  if (any || all.empty()) f.out(0).content = std::move(all);
}

Status infer(const ir::Node& n, ir::Facts& f) {
  if (f.inputs() < 1) return invalid_argument("needs at least one input");
  int known = -1;
  bool all_known = true;
  for (int i = 0; i < f.inputs(); ++i) {
    if (!f.has(i)) return invalid_argument("input {} is missing", i);
    if (f.dtype(i) != f.dtype(0) && f.dtype(i) != DType::undefined && f.dtype(0) != DType::undefined)
      return invalid_argument("input {} has type {}, input 0 has type {}", i, dtype_name(f.dtype(i)),
                              dtype_name(f.dtype(0)));
    if (f.has_rank(i))
      known = i;
    else
      all_known = false;
  }
  f.set(0, f.dtype(0));
  if (known < 0) return {};
  const int rank = f.in(known).rank();
  TRN_ASSIGN(const int axis, normalize_axis(read(n), rank));
  SymShape out = unknown_shape(rank);
  Dim sum = all_known ? Dim(0) : Dim();
  int first = -1;
  for (int i = 0; i < f.inputs(); ++i) {
    if (!f.has_rank(i)) continue;
    TRN_TRY(expect_rank(f, i, rank));
    for (int d = 0; d < rank; ++d) {
      const Dim& v = f.in(i).dim(d);
      if (d == axis) {
        sum = sum + v;
      } else if (out[d].is_int() && v.is_int() && !(out[d] == v)) {
        return invalid_argument("inputs {} and {} have sizes {} and {} on axis {}", first, i, out[d].value(), v.value(),
                                d);
      } else if (!out[d].is_int() && (v.is_int() || out[d].is_unknown())) {
        out[d] = v;
      }
    }
    if (first < 0) first = i;
  }
  out[axis] = sum;
  f.out(0).type.shape = std::move(out);
  if (rank == 1 && all_known) join_contents(f);
  return {};
}

class ConcatKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new ConcatKernel(read(node)));
  }
  Status run(KernelContext& ctx) const override {
    TensorView& y = ctx.out(0);
    if (y.count == 0) return {};
    TRN_ASSIGN(const int axis, normalize_axis(axis_, y.rank));
    const int64_t outer = product(y.shape(), 0, axis), inner = product(y.shape(), axis + 1, y.rank);
    const int64_t row = y.dim(axis) * inner;
    int64_t at = 0;
    for (int i = 0; i < ctx.inputs(); ++i) {
      const int64_t width = ctx.in(i).dim(axis) * inner;
      if (width == 0) continue;
      kernels::CopyShape box{2, {outer, width}, {width, 1}, {row, 1}};
      copy_strided(ctx, ctx.in(i).data, element(y.data, at, y.dtype), box, y.dtype);
      at += width;
    }
    return {};
  }

 private:
  explicit ConcatKernel(int64_t axis) : axis_(axis) {}
  int64_t axis_;
};

constexpr DTypes kTypes = kPlainTypes | DType::string;
constexpr OpDef kDefs[] = {{"Concat", infer, cpu<ConcatKernel>(kTypes), {.reviewed = 13}}};

}  // namespace

TRUNNION_OPS(concat, kDefs);
}  // namespace trunnion::ops
