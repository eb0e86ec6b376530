// Slice (ai.onnx 1, 10, 11, 13): a box with steps. Version 1 has attributes, later ones have inputs, as has the
// experimental DynamicSlice (1).
#include <algorithm>
#include <limits>

#include "ops/dispatch.h"
#include "ops/elementwise.h"
#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kFar = std::numeric_limits<int32_t>::max();  // from here on a border means "to the end"

// What is taken of one axis: count elements from start on, step apart. start is inside the axis unless count is 0.
struct Range {
  int64_t start, count, step;
};

Result<Range> resolve(int64_t size, int64_t start, int64_t end, int64_t step) {
  if (step == 0) return invalid_argument("a step is 0");
  if (step == kLeast) step = -kMost;
  if (start < 0) start += size;
  if (end < 0) end += size;
  Range r{0, 0, step};
  if (step > 0) {
    r.start = std::clamp<int64_t>(start, 0, size);
    const int64_t length = std::clamp<int64_t>(end, 0, size) - r.start;
    r.count = length > 0 ? (length - 1) / step + 1 : 0;
  } else if (size > 0) {
    r.start = std::clamp<int64_t>(start, 0, size - 1);
    const int64_t length = r.start - std::clamp<int64_t>(end, -1, size - 1);
    r.count = length > 0 ? (length - 1) / -step + 1 : 0;
  }
  return r;
}

// A border of a symbolic axis, counted from its beginning and clamped to it; unknown when its sign is.
Dim border(const Dim& v, const Dim& size) {
  if (v == size) return size;
  if (v.is_int() && v.value() < 0) return v.value() <= -kFar ? Dim(0) : dim_max(size + v, 0);
  if (v.is_int()) return v.is_int(0) ? Dim(0) : v.value() >= kFar ? size : dim_min(v, size);
  return is_not_negative(v) ? dim_min(v, size) : Dim();
}

// The size that is left of an axis, as far as it can be told.
Result<Dim> sliced(const Dim& size, const Dim& start, const Dim& end, const Dim& step) {
  if (step.is_int(0)) return invalid_argument("a step is 0");
  if (size.is_int() && start.is_int() && end.is_int() && step.is_int()) {
    TRN_ASSIGN(const Range r, resolve(size.value(), start.value(), end.value(), step.value()));
    return Dim(r.count);
  }
  if (!step.is_int() || step.value() == kLeast) return Dim();
  if (step.value() < 0) {  // only the whole axis backwards
    const bool from_end = start.is_int(-1) || (start.is_int() && start.value() >= kFar);
    const bool whole = from_end && end.is_int() && end.value() <= -kFar;
    return whole ? ceil_div(size, Dim(-step.value())) : Dim();
  }
  const Dim first = border(start, size), last = border(end, size);
  if (first.is_unknown() || last.is_unknown()) return Dim();
  if (first.is_int(0)) return ceil_div(last, step);
  // From a fixed place to the end: max(size - start, 0) in place of size - min(start, size).
  if (last == size && start.is_int() && start.value() >= 0) return ceil_div(dim_max(size - start, 0), step);
  // The last few: min(k, size).
  if (last == size && start.is_int() && start.value() < 0) return ceil_div(dim_min(size, Dim(0) - start), step);
  return ceil_div(dim_max(last - first, 0), step);
}

// Starts, ends, axes and steps of a node, from attributes or as symbols of the inputs. Absent: not known yet.
struct Spec {
  std::optional<SymShape> starts, ends, steps;
  std::optional<std::vector<int64_t>> axes;
  std::optional<int64_t> count;  // of entries, when any list tells
};

std::optional<std::vector<int64_t>> first_axes(const std::optional<int64_t>& count) {
  if (!count) return std::nullopt;
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < *count; ++i) axes.push_back(i);
  return axes;
}

bool has_attributes(const ir::Node& n) { return n.since() < 10 && n.op_type() == "Slice"; }

Result<Spec> read(const ir::Node& n, const ir::Facts& f) {
  Spec s;
  if (has_attributes(n)) {
    s.starts = to_symbolic(n.ints("starts"));
    s.ends = to_symbolic(n.ints("ends"));
    if (n.has_attr("axes")) s.axes = n.ints("axes");
    s.count = static_cast<int64_t>(s.starts->size());
  } else {
    s.starts = f.dims(1);
    s.ends = f.dims(2);
    if (f.has(3)) s.axes = f.ints(3);
    if (f.has(4)) s.steps = f.dims(4);
    for (int i = 1; i <= 4; ++i)
      if (f.has_rank(i) && f.in(i).rank() == 1 && f.in(i).dim(0).is_int()) s.count = f.in(i).dim(0).value();
    if (s.starts) s.count = static_cast<int64_t>(s.starts->size());
  }
  const bool axes_given = has_attributes(n) ? n.has_attr("axes") : f.has(3);
  const bool steps_given = !has_attributes(n) && f.has(4);
  if (s.count && *s.count > 1024) return invalid_argument("{} axes are given", *s.count);
  if (!axes_given) s.axes = first_axes(s.count);
  if (!steps_given && s.count) s.steps = SymShape(static_cast<size_t>(*s.count), Dim(1));
  for (const auto* list : {&s.starts, &s.ends, &s.steps})
    if (*list && static_cast<int64_t>((*list)->size()) != *s.count)
      return invalid_argument("starts, ends, axes and steps have different lengths: {} and {}", (*list)->size(),
                              *s.count);
  if (s.axes && static_cast<int64_t>(s.axes->size()) != *s.count)
    return invalid_argument("starts, ends, axes and steps have different lengths: {} and {}", s.axes->size(), *s.count);
  return s;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  if (!f.has(0)) return {};
  f.set(0, f.dtype(0));
  TRN_ASSIGN(const Spec s, read(n, f));
  if (!f.has_rank(0)) return {};
  const SymShape& in = f.in(0).shape();
  if (!s.axes) {  // any axis may be cut
    f.out(0).type.shape = unknown_shape(f.in(0).rank());
    return {};
  }
  TRN_TRY(normalize_axes(*s.axes, f.in(0).rank()));
  SymShape out = in;
  for (size_t i = 0; i < s.axes->size(); ++i) {
    TRN_ASSIGN(const int axis, normalize_axis((*s.axes)[i], f.in(0).rank()));
    if (!s.starts || !s.ends || !s.steps) {
      out[axis] = Dim();
      continue;
    }
    TRN_ASSIGN(out[axis], sliced(in[axis], (*s.starts)[i], (*s.ends)[i], (*s.steps)[i]));
  }
  f.out(0).type.shape = std::move(out);
  // Content of a shape that is cut.
  const auto content = f.in(0).rank() == 1 ? f.dims(0) : std::nullopt;
  if (!content || !s.starts || !s.ends || !s.steps) return {};
  Range r{0, static_cast<int64_t>(content->size()), 1};
  if (!s.axes->empty()) {
    const Dim &start = (*s.starts)[0], &end = (*s.ends)[0], &step = (*s.steps)[0];
    if (!start.is_int() || !end.is_int() || !step.is_int()) return {};
    TRN_ASSIGN(r, resolve(r.count, start.value(), end.value(), step.value()));
  }
  std::vector<Dim> cut;
  for (int64_t i = 0; i < r.count; ++i) cut.push_back((*content)[r.start + i * r.step]);
  f.out(0).content = std::move(cut);
  return {};
}

class SliceKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    auto k = std::make_unique<SliceKernel>();
    k->inputs_ = !has_attributes(node);
    if (!k->inputs_) {
      for (int64_t v : node.ints("starts")) k->starts_.push_back(v);
      for (int64_t v : node.ints("ends")) k->ends_.push_back(v);
      for (int64_t v : node.ints("axes")) k->axes_.push_back(v);
    }
    return std::unique_ptr<Kernel>(std::move(k));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    TensorView& y = ctx.out(0);
    TRN_TRY(expect_copy_rank(x.rank));
    Shape starts = starts_, ends = ends_, axes = axes_, steps;
    if (inputs_) {
      starts = read_ints(ctx.in(1));
      ends = read_ints(ctx.in(2));
      if (ctx.has_in(3)) axes = read_ints(ctx.in(3));
      if (ctx.has_in(4)) steps = read_ints(ctx.in(4));
    }
    if (axes.empty())
      for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
    if (steps.empty()) steps.assign(starts.size(), 1);
    if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
      return invalid_argument("starts, ends, axes and steps have lengths {}, {}, {} and {}", starts.size(), ends.size(),
                              axes.size(), steps.size());
    const Shape strides = row_major_strides(x.shape());
    kernels::CopyShape box;
    box.rank = x.rank;
    for (int d = 0; d < x.rank; ++d) {
      box.dim[d] = x.dim(d);
      box.src_stride[d] = strides[d];
    }
    int64_t first = 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      TRN_ASSIGN(const int axis, normalize_axis(axes[i], x.rank));
      TRN_ASSIGN(const Range r, resolve(x.dim(axis), starts[i], ends[i], steps[i]));
      box.dim[axis] = r.count;
      box.src_stride[axis] = r.count > 1 ? r.step * strides[axis] : 0;  // a lone element has no use for a (huge) step
      first += r.count > 0 ? r.start * strides[axis] : 0;
    }
    kernels::contiguous_strides(box.dim, box.rank, box.dst_stride);
    for (int d = 0; d < x.rank; ++d)
      if (box.dim[d] != y.dim(d))
        return invalid_argument("the output has shape {}, axis {} gives {}", shape_text(y.shape()), d, box.dim[d]);
    if (y.count == 0) return {};
    copy_strided(ctx, element(x.data, first, x.dtype), y.data, box, x.dtype);
    return {};
  }

 private:
  bool inputs_ = true;
  Shape starts_, ends_, axes_;  // version 1
};

constexpr DTypes kTypes = kPlainTypes | DType::string;
constexpr OpDef kDefs[] = {
    {"Slice", infer, cpu<SliceKernel>(kTypes), {.reviewed = 13}},
    {"DynamicSlice",
     infer,
     cpu<SliceKernel>(kTypes),
     {.reviewed = 1},
     "",
     "DynamicSlice 1 experimental (data:T, starts:Tind, ends:Tind, axes?:Tind) -> (output:T) T=basic Tind=i32|i64"},
};

}  // namespace

TRUNNION_OPS(slice, kDefs);
}  // namespace trunnion::ops
