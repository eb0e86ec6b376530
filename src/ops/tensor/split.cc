// Split (ai.onnx 1, 2, 11, 13, 18): cuts a tensor along an axis, at given lengths or into equal parts.
// The lengths are an attribute before 13, then an input; 18 lets the last equal part be smaller.
#include <numeric>

#include "ops/dispatch.h"
#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

struct Params {
  int64_t axis;
  std::vector<int64_t> lengths;  // of the attribute
  bool has_lengths;
  bool uneven;  // equal parts are rounded up
};
Result<Params> read(const ir::Node& n) {
  Params p{n.attr("axis", 0), {}, false, n.since() >= 18};
  if (n.since() < 13 && n.has_attr("split")) {
    p.lengths = n.ints("split");
    p.has_lengths = true;
  }
  const int64_t parts = n.attr("num_outputs", static_cast<int64_t>(n.outputs().size()));
  if (parts != static_cast<int64_t>(n.outputs().size()))
    return invalid_argument("attribute num_outputs is {}, but there are {} outputs", parts, n.outputs().size());
  return p;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  if (!f.has(0)) return {};
  for (int i = 0; i < f.outputs(); ++i) f.set(i, f.dtype(0));
  if (!f.has_rank(0)) return {};
  TRN_ASSIGN(const int axis, normalize_axis(p.axis, f.in(0).rank()));
  const Dim& size = f.in(0).dim(axis);
  const int64_t parts = f.outputs();
  SymShape lengths(static_cast<size_t>(parts));
  if (p.has_lengths || f.has(1)) {
    std::optional<SymShape> given;
    if (p.has_lengths)
      given = to_symbolic(p.lengths);
    else
      given = f.dims(1);
    if (!p.has_lengths && !given && f.constant(1) && is_float(f.constant(1)->dtype())) {  // version 1: a float tensor
      given.emplace();
      TRN_TRY(dispatch<kFloats.bits()>(f.constant(1)->dtype(), [&]<class T>() {
        for (const T v : f.constant(1)->span<const T>()) given->push_back(to_int64(v));
      }));
    }
    if (given) {
      if (static_cast<int64_t>(given->size()) != parts)
        return invalid_argument("split has {} lengths, but there are {} outputs", given->size(), parts);
      Dim sum = 0;
      for (const Dim& d : *given) {
        if (d.is_int() && d.value() < 0) return invalid_argument("split {} has a negative length", shape_text(*given));
        sum = sum + d;
      }
      if (sum.is_int() && size.is_int() && !(sum == size))
        return invalid_argument("split {} does not add up to {}, the size of axis {}", shape_text(*given), size.value(),
                                axis);
      lengths = std::move(*given);
    }
  } else if (p.uneven) {
    const Dim chunk = ceil_div(size, parts);
    Dim left = size;
    for (Dim& d : lengths) {
      d = size.is_int() ? dim_min(chunk, left) : &d == &lengths.back() ? size - chunk * Dim(parts - 1) : chunk;
      left = left - d;
    }
  } else {
    if (size.is_int() && size.value() % parts != 0)
      return invalid_argument("axis {} of size {} cannot be split into {} equal parts", axis, size.value(), parts);
    for (Dim& d : lengths) d = floor_div(size, parts);
  }
  const auto content = f.in(0).rank() == 1 && is_integer(f.dtype(0)) ? f.dims(0) : std::nullopt;
  int64_t at = 0;
  for (int i = 0; i < f.outputs(); ++i) {
    SymShape shape = f.in(0).shape();
    shape[axis] = lengths[i];
    f.out(i).type.shape = std::move(shape);
    if (!content || at < 0) continue;
    const int64_t end = lengths[i].is_int() ? at + lengths[i].value() : -1;
    if (end >= 0 && end <= static_cast<int64_t>(content->size()))
      f.out(i).content = std::vector<Dim>(content->begin() + at, content->begin() + end);
    at = end;
  }
  return {};
}

class SplitKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(const Params p, read(node));
    return std::unique_ptr<Kernel>(new SplitKernel(p.axis, node));
  }
  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    if (x.count == 0) return {};
    TRN_ASSIGN(const int axis, normalize_axis(axis_, x.rank));
    const int64_t outer = product(x.shape(), 0, axis), inner = product(x.shape(), axis + 1, x.rank);
    const int64_t row = x.dim(axis) * inner;
    int64_t at = 0, missing = 0;
    for (int i = 0; i < ctx.outputs(); ++i)
      if (!ctx.has_out(i)) ++missing;
    for (int i = 0; i < ctx.outputs(); ++i) {
      if (!ctx.has_out(i)) {
        TRN_ASSIGN(const int64_t skip, missing_length(ctx, axis, i, missing));
        at += skip * inner;
        continue;
      }
      TensorView& y = ctx.out(i);
      const int64_t width = y.dim(axis) * inner;
      if (width == 0) continue;
      if (at < 0 || at + width > row)
        return invalid_argument("the lengths of the outputs exceed {}, the size of axis {}", x.dim(axis), axis);
      kernels::CopyShape box{2, {outer, width}, {row, 1}, {width, 1}};
      copy_strided(ctx, element(x.data, at, x.dtype), y.data, box, x.dtype);
      at += width;
    }
    return {};
  }

 private:
  SplitKernel(int64_t axis, const ir::Node& node)
      : axis_(axis), lengths_(node.since() < 13 ? node.ints("split") : std::vector<int64_t>{}) {}

  // The length of an output that nobody wants.
  Result<int64_t> missing_length(KernelContext& ctx, int axis, int i, int64_t missing) const {
    const int64_t size = ctx.in(0).dim(axis), parts = ctx.outputs();
    if (!lengths_.empty()) return i < static_cast<int>(lengths_.size()) ? lengths_[i] : 0;
    if (ctx.has_in(1) && (ctx.in(1).dtype == DType::i64 || ctx.in(1).dtype == DType::i32)) {
      const Shape given = read_ints(ctx.in(1));
      return i < static_cast<int>(given.size()) ? given[i] : 0;
    }
    if (missing == 1) {  // what the others leave
      int64_t left = size;
      for (int k = 0; k < ctx.outputs(); ++k)
        if (ctx.has_out(k)) left -= ctx.out(k).dim(axis);
      return left;
    }
    const int64_t chunk = (size + parts - 1) / parts;
    return std::min(chunk, std::max<int64_t>(0, size - i * chunk));
  }

  int64_t axis_;
  std::vector<int64_t> lengths_;
};

constexpr DTypes kTypes = kPlainTypes | DType::string;
constexpr OpDef kDefs[] = {{"Split", infer, cpu<SplitKernel>(kTypes), {.reviewed = 18}}};

}  // namespace

TRUNNION_OPS(split, kDefs);
}  // namespace trunnion::ops
