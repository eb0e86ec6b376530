// Resize (ai.onnx 10 to 19) and Upsample (1, 7, 9): each axis is resampled on its own, one after the other, with the
// tables of kernels/resize.h (bilinear planes at once). f32 and small types are blended in f32, the others in f64;
// nearest moves elements.
#include "kernels/resize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/bilinear.h"
#include "kernels/convert.h"
#include "ops/dispatch.h"
#include "ops/move.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

using kernels::ResizeCoords;
using kernels::ResizeMode;
using kernels::ResizeNearest;

struct Params {
  enum class Aspect : uint8_t { stretch, not_larger, not_smaller };
  ResizeMode mode = ResizeMode::nearest;
  ResizeCoords coords = ResizeCoords::asymmetric;
  ResizeNearest nearest = ResizeNearest::floor;
  bool ceil_when_shrinking = false;  // before 11: nearest rounds up where an axis shrinks
  Aspect aspect = Aspect::stretch;
  bool antialias = false, exclude_outside = false;
  float extrapolation = 0, cubic_a = -0.75f;
  std::vector<int64_t> axes;
  std::vector<float> scales;  // Upsample before 9
  int roi_input = -1, scales_input = 1, sizes_input = -1;
};

template <class E>
Status choose(const ir::Node& n, const char* name, const char* fallback,
              std::initializer_list<std::pair<std::string_view, E>> values, E& out) {
  const std::string v = n.attr(name, fallback);
  for (const auto& [text, value] : values)
    if (v == text) {
      out = value;
      return {};
    }
  return invalid_argument("attribute {} is '{}', which is unknown", name, v);
}

Result<Params> read(const ir::Node& n) {
  Params p;
  TRN_TRY(choose<ResizeMode>(n, "mode", "nearest",
                             {{"nearest", ResizeMode::nearest},
                              {"linear", ResizeMode::linear},
                              {"bilinear", ResizeMode::linear},
                              {"cubic", ResizeMode::cubic}},
                             p.mode));
  if (n.op_type() == "Upsample") {
    if (n.since() >= 9) return p;
    p.scales_input = -1;
    p.scales = n.since() < 7 ? std::vector<float>{1, 1, n.attr("height_scale", 1.0f), n.attr("width_scale", 1.0f)}
                             : n.floats("scales");
    return p;
  }
  if (n.since() < 11) {
    p.ceil_when_shrinking = true;
    return p;
  }
  p.roi_input = 1;
  p.scales_input = 2;
  p.sizes_input = 3;
  TRN_TRY(choose<ResizeCoords>(n, "coordinate_transformation_mode", "half_pixel",
                               {{"half_pixel", ResizeCoords::half_pixel},
                                {"half_pixel_symmetric", ResizeCoords::half_pixel_symmetric},
                                {"pytorch_half_pixel", ResizeCoords::pytorch_half_pixel},
                                {"align_corners", ResizeCoords::align_corners},
                                {"asymmetric", ResizeCoords::asymmetric},
                                {"tf_half_pixel_for_nn", ResizeCoords::tf_half_pixel_for_nn},
                                {"tf_crop_and_resize", ResizeCoords::tf_crop_and_resize}},
                               p.coords));
  TRN_TRY(choose<ResizeNearest>(n, "nearest_mode", "round_prefer_floor",
                                {{"round_prefer_floor", ResizeNearest::round_prefer_floor},
                                 {"round_prefer_ceil", ResizeNearest::round_prefer_ceil},
                                 {"floor", ResizeNearest::floor},
                                 {"ceil", ResizeNearest::ceil}},
                                p.nearest));
  TRN_TRY(choose<Params::Aspect>(n, "keep_aspect_ratio_policy", "stretch",
                                 {{"stretch", Params::Aspect::stretch},
                                  {"not_larger", Params::Aspect::not_larger},
                                  {"not_smaller", Params::Aspect::not_smaller}},
                                 p.aspect));
  p.antialias = n.attr("antialias", 0) != 0;
  p.exclude_outside = n.attr("exclude_outside", 0) != 0;
  p.extrapolation = n.attr("extrapolation_value", 0.0f);
  p.cubic_a = n.attr("cubic_coeff_a", -0.75f);
  p.axes = n.ints("axes");
  return p;
}

// The axes that scales, sizes and roi speak of.
Result<std::vector<int>> resized_axes(const Params& p, int rank) {
  std::vector<int> axes;
  if (p.axes.empty()) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }
  std::vector<bool> seen(static_cast<size_t>(rank));
  for (int64_t a : p.axes) {
    TRN_ASSIGN(const int axis, normalize_axis(a, rank));
    if (seen[axis]) return invalid_argument("attribute axes names axis {} twice", axis);
    seen[axis] = true;
    axes.push_back(axis);
  }
  return axes;
}

// The numbers that come as inputs (or attributes); empty where absent.
struct Numbers {
  std::vector<float> scales;
  std::vector<int64_t> sizes;
  std::vector<double> roi;
};
Status read_numbers(const Params& p, const TensorView* scales, const TensorView* sizes, const TensorView* roi,
                    Numbers& out) {
  out.scales = p.scales;
  if (scales) out.scales.assign(scales->as<float>(), scales->as<float>() + scales->count);
  if (sizes) out.sizes.assign(sizes->as<int64_t>(), sizes->as<int64_t>() + sizes->count);
  if (!roi || p.coords != ResizeCoords::tf_crop_and_resize) return {};
  return dispatch<kFloats.bits()>(roi->dtype, [&]<class T>() {
    for (int64_t i = 0; i < roi->count; ++i)
      out.roi.push_back(static_cast<double>(static_cast<Compute<T>>(roi->as<T>()[i])));
  });
}

// One resized axis: how the model states its size.
struct AxisSize {
  double scale = 1, roi_begin = 0, roi_end = 1;
  int64_t out = 0;
};

// Sizes for all of `axes`, when everything about them is known.
Result<std::vector<AxisSize>> axis_sizes(const Params& p, const Numbers& n, std::span<const int> axes,
                                         std::span<const int64_t> x) {
  const size_t count = axes.size();
  const bool by_size = !n.sizes.empty();
  if (by_size == !n.scales.empty())
    return invalid_argument("{} given: exactly one of scales and sizes is needed",
                            by_size ? "scales and sizes are" : "neither is");
  if ((by_size ? n.sizes.size() : n.scales.size()) != count)
    return invalid_argument("{} has {} elements, but {} axes are resized", by_size ? "sizes" : "scales",
                            by_size ? n.sizes.size() : n.scales.size(), count);
  const bool crop = p.coords == ResizeCoords::tf_crop_and_resize;
  if (crop && n.roi.size() != 2 * count)
    return invalid_argument("roi has {} elements, needs {}", n.roi.size(), 2 * count);
  std::vector<AxisSize> out(count);
  double chosen = 0;
  for (size_t i = 0; i < count; ++i) {
    const int64_t in = x[axes[i]];
    AxisSize& a = out[i];
    if (crop) {
      a.roi_begin = n.roi[i];
      a.roi_end = n.roi[count + i];
    }
    if (by_size) {
      if (n.sizes[i] < 0) return invalid_argument("sizes[{}] is {}, expected at least 0", i, n.sizes[i]);
      a.out = n.sizes[i];
      a.scale = in ? static_cast<double>(a.out) / static_cast<double>(in) : 1;
      chosen = i == 0                                   ? a.scale
               : p.aspect == Params::Aspect::not_larger ? std::min(chosen, a.scale)
                                                        : std::max(chosen, a.scale);
      continue;
    }
    const float scale = n.scales[i];
    if (!(scale > 0) || !std::isfinite(scale))
      return invalid_argument("scales[{}] is {}, expected a positive number", i, scale);
    a.scale = static_cast<double>(scale);
    const double size = crop ? std::floor(static_cast<double>(in) * (a.roi_end - a.roi_begin) * a.scale)
                             : static_cast<double>(std::floor(static_cast<float>(in) * scale));
    if (!(size < 0x1p31))
      return invalid_argument("scales[{}] = {} makes axis {} of size {} too large", i, scale, axes[i], in);
    a.out = static_cast<int64_t>(std::max(size, 0.0));
  }
  if (by_size && p.aspect != Params::Aspect::stretch)
    for (size_t i = 0; i < count; ++i) {
      out[i].scale = chosen;
      const double size = std::floor(chosen * static_cast<double>(x[axes[i]]) + 0.5);
      if (!(size < 0x1p31)) return invalid_argument("the output would have {} elements along axis {}", size, axes[i]);
      out[i].out = static_cast<int64_t>(size);
    }
  return out;
}

// n * scale for the scales that give whole numbers of a symbol.
Dim scaled(const Dim& n, float scale) {
  if (scale == 1) return n;
  if (scale > 1 && scale < 0x1p20f && scale == std::floor(scale)) return n * Dim(static_cast<int64_t>(scale));
  if (scale > 0 && 1 / scale == std::floor(1 / scale) && 1 / scale < 0x1p20f)
    return floor_div(n, Dim(static_cast<int64_t>(1 / scale)));
  return {};
}

Status infer(const ir::Node& node, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(node));
  f.set(0, f.dtype(0));
  if (!f.has_rank(0)) return {};
  const SymShape& x = f.in(0).shape();
  TRN_ASSIGN(const auto axes, resized_axes(p, f.in(0).rank()));
  const auto view = [&](int i, TensorView& v) -> const TensorView* {
    if (i < 0 || !f.constant(i)) return nullptr;
    v = f.constant(i)->view();
    return &v;
  };
  const auto is_empty = [&](int i) {
    return i < 0 || !f.has(i) || (f.has_rank(i) && f.in(i).rank() == 1 && f.in(i).dim(0).is_int(0));
  };
  Numbers n;
  TensorView scales, sizes, roi;
  TRN_TRY(read_numbers(p, view(p.scales_input, scales), view(p.sizes_input, sizes), view(p.roi_input, roi), n));
  SymShape out = x;
  for (int a : axes) out[a] = Dim();
  const auto ints = f.in(0).concrete();
  const bool roi_known = p.coords != ResizeCoords::tf_crop_and_resize || !n.roi.empty();
  if (ints && (!n.sizes.empty() || (!n.scales.empty() && roi_known))) {
    if (n.sizes.empty() || p.aspect != Params::Aspect::stretch || !n.scales.empty()) {
      Numbers with_roi = n;
      if (with_roi.roi.empty()) with_roi.roi.resize(p.coords == ResizeCoords::tf_crop_and_resize ? 2 * axes.size() : 0);
      TRN_ASSIGN(const auto known, axis_sizes(p, with_roi, axes, *ints));
      for (size_t i = 0; i < axes.size(); ++i) out[axes[i]] = Dim(known[i].out);
      f.set(0, f.dtype(0), std::move(out));
      return {};
    }
  }
  if (!is_empty(p.sizes_input)) {
    const auto content = f.dims(p.sizes_input);
    if (content && content->size() != axes.size())
      return invalid_argument("sizes has {} elements, but {} axes are resized", content->size(), axes.size());
    if (content && p.aspect == Params::Aspect::stretch)
      for (size_t i = 0; i < axes.size(); ++i) {
        if ((*content)[i].is_int() && (*content)[i].value() < 0)
          return invalid_argument("sizes[{}] is {}, expected at least 0", i, (*content)[i].value());
        out[axes[i]] = (*content)[i];
      }
  } else if (n.scales.size() == axes.size() && p.coords != ResizeCoords::tf_crop_and_resize) {
    for (size_t i = 0; i < axes.size(); ++i) {
      if (!(n.scales[i] > 0)) return invalid_argument("scales[{}] is {}, expected a positive number", i, n.scales[i]);
      const Dim& d = x[axes[i]];
      out[axes[i]] = d.is_int() ? Dim(static_cast<int64_t>(std::floor(static_cast<float>(d.value()) * n.scales[i])))
                                : scaled(d, n.scales[i]);
    }
  } else if (!n.scales.empty() && n.scales.size() != axes.size()) {
    return invalid_argument("scales has {} elements, but {} axes are resized", n.scales.size(), axes.size());
  }
  f.set(0, f.dtype(0), std::move(out));
  return {};
}

// x as (outer, table.in, inner) becomes (outer, table.out, inner).
struct Pass {
  kernels::ResizeTable table;
  int axis = 0;
  int64_t outer = 1, inner = 1;
};
struct Plan final : KernelState {
  std::vector<Pass> passes;
  bool blend = false;  // the elements are computed with, not moved
};

// Complex numbers are blended as pairs.
int parts(DType t, bool blend) { return blend && kComplex.has(t) ? 2 : 1; }

DType work_type(DType t, bool blend) {
  if (!blend) return t;
  switch (t) {
    case DType::c64:
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::i8:
    case DType::u8:
    case DType::i16:
    case DType::u16:
    case DType::boolean:
      return DType::f32;
    default:
      return DType::f64;
  }
}

// The order of passes: those that shrink first; where the rest grows, the innermost first, where it shrinks the
// outermost.
std::vector<int> pass_order(std::span<const int> axes, std::span<const int64_t> x, std::span<const int64_t> y) {
  std::vector<int> order(axes.begin(), axes.end());
  const auto ratio = [&](int a) { return static_cast<double>(y[a]) / static_cast<double>(std::max<int64_t>(x[a], 1)); };
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    if (ratio(a) != ratio(b)) return ratio(a) < ratio(b);
    return ratio(a) < 1 ? a < b : a > b;
  });
  return order;
}

// Elements of the largest tensor between two passes.
int64_t largest_between(std::span<const int> order, std::span<const int64_t> x, std::span<const int64_t> y) {
  Shape now(x);
  int64_t most = 0;
  for (int a : order) {
    now[a] = y[a];
    most = std::max(most, element_count(now));
  }
  return most;
}

void blend_f64(const double* x, double* y, const kernels::ResizeTable& t, int64_t outer, int64_t inner) {
  for (int64_t o = 0; o < outer; ++o, x += t.in * inner, y += t.out * inner)
    for (int64_t j = 0; j < t.out; ++j)
      for (int64_t i = 0; i < inner; ++i) {
        double sum = 0;
        if (t.weight.empty()) {
          sum = x[t.index[j] * inner + i];
        } else {
          for (int k = 0; k < t.taps; ++k)
            sum += x[t.index[k * t.out + j] * inner + i] * static_cast<double>(t.weight[k * t.out + j]);
        }
        y[j * inner + i] = !t.outside.empty() && t.outside[j] ? static_cast<double>(t.extrapolation) : sum;
      }
}

class ResizeKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(Params p, read(node));
    return std::unique_ptr<Kernel>(new ResizeKernel(std::move(p)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    TRN_ASSIGN(const auto axes, resized_axes(p_, x.rank));
    const bool blend = p_.mode != ResizeMode::nearest || p_.coords == ResizeCoords::tf_crop_and_resize;
    if (x.dtype == DType::string) return std::unique_ptr<KernelState>();
    const size_t size = size_of(work_type(x.dtype, blend)) * static_cast<size_t>(parts(x.dtype, blend));
    if (!size) return not_implemented("element type {} is not supported here", dtype_name(x.dtype));
    const int64_t most =
        std::max(largest_between(pass_order(axes, x.shape(), y.shape()), x.shape(), y.shape()), x.count);
    if (most < 0 || most > std::numeric_limits<int64_t>::max() / 64) return invalid_argument("the output is too large");
    ctx.request_scratch(2 * (static_cast<size_t>(most) * size + 64));
    const auto ready = [&](int i) { return i < 0 || !ctx.has_in(i) || ctx.in(i).data || ctx.in(i).count == 0; };
    if (!ready(p_.scales_input) || !ready(p_.sizes_input) || !ready(p_.roi_input))
      return std::unique_ptr<KernelState>();
    auto plan = std::make_unique<Plan>();
    TRN_TRY(make_plan(ctx, x, y, *plan));
    return std::unique_ptr<KernelState>(std::move(plan));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    const Plan* plan = ctx.state<Plan>();
    Plan here;
    if (!plan) {
      TRN_TRY(make_plan(ctx, x, y, here));
      plan = &here;
    }
    if (y.count == 0) return {};
    if (x.dtype == DType::string) return move_strings(*plan, x, y);
    const DType work = work_type(x.dtype, plan->blend);
    const int pair = parts(x.dtype, plan->blend);
    const bool as_is = work == x.dtype || pair == 2;
    const size_t size = size_of(work) * static_cast<size_t>(pair);
    const std::byte* from = x.as<const std::byte>();
    std::byte* buffers[] = {ctx.scratch(), nullptr};
    const int64_t most = std::max(largest_between(orders(*plan), x.shape(), y.shape()), x.count);
    buffers[1] = ctx.scratch() + (static_cast<size_t>(most) * size + 63) / 64 * 64;
    int next = 0;
    if (!as_is) {
      convert(ctx, from, x.dtype, buffers[next], work, x.count);
      from = buffers[next];
      next = 1 - next;
    }
    const size_t passes = plan->passes.size();
    const auto [rows, cols] = plane_passes(*plan, work);
    if (rows) {
      std::byte* to = as_is ? y.as<std::byte>() : buffers[next];
      run_plane(ctx, *rows, *cols, reinterpret_cast<const float*>(from), reinterpret_cast<float*>(to));
      from = to;
    }
    const bool moved = !rows && nearest_planes(*plan);
    if (moved) run_nearest(ctx, *plan, from, y.as<std::byte>(), size);
    for (size_t i = 0; i < passes && !rows && !moved; ++i) {
      std::byte* to = i + 1 == passes && as_is ? y.as<std::byte>() : buffers[next];
      run_pass(ctx, plan->passes[i], from, to, work, plan->blend);
      from = to;
      next = 1 - next;
    }
    if (!as_is)
      is_float(y.dtype) ? convert(ctx, from, work, y.data, y.dtype, y.count) : round_to_integers(ctx, from, work, y);
    else if (passes == 0)
      copy_elements(ctx, x.data, y.data, y.count, y.dtype);
    return {};
  }

 private:
  explicit ResizeKernel(Params p) : p_(std::move(p)) {}

  static std::vector<int> orders(const Plan& plan) {
    std::vector<int> order;
    for (const Pass& pass : plan.passes) order.push_back(pass.axis);
    return order;
  }

  template <class Context>
  Status make_plan(const Context& ctx, const TensorView& x, const TensorView& y, Plan& plan) const {
    TRN_ASSIGN(const auto axes, resized_axes(p_, x.rank));
    const auto input = [&](int i) { return i >= 0 && ctx.has_in(i) && ctx.in(i).count > 0 ? &ctx.in(i) : nullptr; };
    Numbers numbers;
    TRN_TRY(read_numbers(p_, input(p_.scales_input), input(p_.sizes_input), input(p_.roi_input), numbers));
    TRN_ASSIGN(const auto sizes, axis_sizes(p_, numbers, axes, x.shape()));
    plan.blend = p_.mode != ResizeMode::nearest || p_.coords == ResizeCoords::tf_crop_and_resize;
    if (y.count == 0) return {};
    if (x.count == 0) return invalid_argument("an input of shape {} has no element to resize", shape_text(x.shape()));
    Shape now(x.shape());
    for (int axis : pass_order(axes, x.shape(), y.shape())) {
      const AxisSize& s = sizes[static_cast<size_t>(std::find(axes.begin(), axes.end(), axis) - axes.begin())];
      if (s.out != y.dim(axis))
        return invalid_argument("axis {} of the output has size {}, scales or sizes give {}", axis, y.dim(axis), s.out);
      kernels::ResizeAxis a;
      a.mode = p_.mode;
      a.coords = p_.coords;
      a.nearest = p_.ceil_when_shrinking && s.scale < 1 ? ResizeNearest::ceil : p_.nearest;
      a.in = x.dim(axis);
      a.out = s.out;
      a.scale = s.scale;
      a.roi_begin = s.roi_begin;
      a.roi_end = s.roi_end;
      a.extrapolation = static_cast<double>(p_.extrapolation);
      a.cubic_a = static_cast<double>(p_.cubic_a);
      a.exclude_outside = p_.exclude_outside;
      a.antialias = p_.antialias;
      Pass pass;
      if (!kernels::resize_table(a, pass.table))
        return invalid_argument("axis {} of size {} cannot be resized to {}", axis, a.in, a.out);
      if (pass.table.identity) continue;
      pass.axis = axis;
      pass.outer = product(now, 0, axis);
      pass.inner = product(now, axis + 1, x.rank) * parts(x.dtype, plan.blend);
      now[axis] = a.out;
      plan.passes.push_back(std::move(pass));
    }
    return {};
  }

  static void run_pass(KernelContext& ctx, const Pass& pass, const std::byte* from, std::byte* to, DType work,
                       bool blend) {
    const auto& t = pass.table;
    const auto size = static_cast<int64_t>(size_of(work));
    const double cost = static_cast<double>(t.out) * static_cast<double>(pass.inner) * t.taps;
    ctx.parallel_for(
        pass.outer, static_cast<int64_t>(32768 / std::max(cost, 1.0)) + 1, [&](int64_t begin, int64_t end) {
          const std::byte* x = from + begin * t.in * pass.inner * size;
          std::byte* y = to + begin * t.out * pass.inner * size;
          if (!blend)
            kernels::resize_nearest(x, y, t, end - begin, pass.inner, static_cast<size_t>(size));
          else if (work == DType::f32)
            kernels::resize().axis(reinterpret_cast<const float*>(x), reinterpret_cast<float*>(y), t, end - begin,
                                   pass.inner);
          else
            blend_f64(reinterpret_cast<const double*>(x), reinterpret_cast<double*>(y), t, end - begin, pass.inner);
        });
  }

  // The passes of a bilinear blend of planes: over rows and over neighbouring columns, two taps each.
  static std::pair<const kernels::ResizeTable*, const kernels::ResizeTable*> plane_passes(const Plan& plan,
                                                                                          DType work) {
    if (work != DType::f32 || plan.passes.size() != 2) return {};
    const Pass *rows = &plan.passes[0], *cols = &plan.passes[1];
    if (rows->axis > cols->axis) std::swap(rows, cols);
    if (cols->inner != 1 || cols->axis != rows->axis + 1) return {};
    for (const Pass* p : {rows, cols})
      if (p->table.taps != 2 || p->table.weight.empty() || !p->table.outside.empty()) return {};
    return {&rows->table, &cols->table};
  }

  static void run_plane(KernelContext& ctx, const kernels::ResizeTable& rows, const kernels::ResizeTable& cols,
                        const float* x, float* y) {
    const int64_t planes = ctx.out(0).count / (rows.out * cols.out);
    ctx.parallel_for(planes * rows.out, 16384 / cols.out + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t j = i % rows.out;
        const float* plane = x + i / rows.out * rows.in * cols.in;
        const float *a = plane + rows.index[j] * cols.in, *b = plane + rows.index[rows.out + j] * cols.in;
        kernels::bilinear().row(a, b, rows.weight[j], rows.weight[rows.out + j],
                                {cols.index.data(), cols.index.data() + cols.out, cols.weight.data(),
                                 cols.weight.data() + cols.out, cols.out},
                                y + i * cols.out);
      }
    });
  }

  // Elements moved along two neighbouring axes.
  static bool nearest_planes(const Plan& plan) {
    if (plan.blend || plan.passes.size() != 2) return false;
    const int a = plan.passes[0].axis, b = plan.passes[1].axis;
    return a + 1 == b || b + 1 == a;
  }

  static void run_nearest(KernelContext& ctx, const Plan& plan, const std::byte* x, std::byte* y, size_t size) {
    const Pass *rows = &plan.passes[0], *cols = &plan.passes[1];
    if (rows->axis > cols->axis) std::swap(rows, cols);
    const int64_t lines = ctx.out(0).count / (cols->table.out * cols->inner);
    const double cost = static_cast<double>(cols->table.out) * static_cast<double>(cols->inner);
    ctx.parallel_for(lines, static_cast<int64_t>(32768 / std::max(cost, 1.0)) + 1, [&](int64_t begin, int64_t end) {
      kernels::resize_nearest_planes(x, y, rows->table, cols->table, begin, end, cols->inner, size);
    });
  }

  static void convert(KernelContext& ctx, const void* x, DType from, void* y, DType to, int64_t count) {
    const auto fn = kernels::convert(elem(from), elem(to));
    ctx.parallel_for(count, 65536, [&](int64_t begin, int64_t end) {
      fn(element(x, begin, from), element(y, begin, to), static_cast<size_t>(end - begin), {});
    });
  }

  // Fractions are cut off, what does not fit gives the nearest number that does.
  static void round_to_integers(KernelContext& ctx, const void* x, DType work, const TensorView& y) {
    (void)dispatch<(kIntegers | DType::boolean).bits()>(y.dtype, [&]<class T>() {
      ctx.parallel_for(y.count, 16384, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const double v = work == DType::f32 ? static_cast<double>(static_cast<const float*>(x)[i])
                                              : static_cast<const double*>(x)[i];
          if constexpr (std::is_same_v<T, bool>) {
            y.as<T>()[i] = v >= 1;
          } else {
            constexpr double kLow = static_cast<double>(std::numeric_limits<T>::lowest()),
                             kHigh = static_cast<double>(std::numeric_limits<T>::max());
            y.as<T>()[i] = !(v > kLow)  ? std::numeric_limits<T>::lowest()
                           : v >= kHigh ? std::numeric_limits<T>::max()
                                        : static_cast<T>(v);
          }
        }
      });
    });
  }

  static Status move_strings(const Plan& plan, const TensorView& x, const TensorView& y) {
    if (plan.blend) return not_implemented("strings can only be resized in mode nearest");
    const Shape stride = row_major_strides(x.shape());
    for (int64_t i = 0; i < y.count; ++i) {
      int64_t rest = i, at = 0;
      for (int d = y.rank; d-- > 0; rest /= y.dim(d)) {
        int64_t c = rest % y.dim(d);
        for (const Pass& pass : plan.passes)
          if (pass.axis == d) c = pass.table.index[c];
        at += c * stride[d];
      }
      y.as<std::string>()[i] = x.as<std::string>()[at];
    }
    return {};
  }

  Params p_;
};

constexpr DTypes kTypes = DTypes::from_bits(kAllTypes.bits() & ~kSubByte.bits());
constexpr OpDef kDefs[] = {
    {"Resize", infer, cpu<ResizeKernel>(kTypes), {.reviewed = 19}},
    {"Upsample", infer, cpu<ResizeKernel>(kTypes), {.reviewed = 10}},
};

}  // namespace

TRUNNION_OPS(resize, kDefs);
}  // namespace trunnion::ops
