// Clip (ai.onnx 1, 6, 11, 12, 13): limits to [min, max]; bounds are float attributes before 11, scalar inputs since.
#include <cstring>
#include <limits>

#include "ops/dispatch.h"
#include "ops/elementwise.h"

namespace trunnion::ops {
namespace {

// One element of any numeric type.
struct Bound {
  alignas(8) std::byte bytes[8] = {};
};

template <class T>
Bound bound(T v) {
  Bound b;
  std::memcpy(b.bytes, &v, sizeof(T));
  return b;
}

// The least or greatest finite value, which stand for absent bounds.
template <class T>
T extreme(bool least) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, Half>)
    return T(least ? -65504.f : 65504.f);
  else if constexpr (std::is_same_v<T, Bfloat>)
    return T(least ? -3.3895314e38f : 3.3895314e38f);
  else
    return least ? Limits::lowest() : Limits::max();
}

struct Params {
  Bound low, high;
};

// A float attribute as an element; integers are clamped to their range.
template <class T>
T from_attr(float v) {
  if constexpr (kIsFloating<T>) {
    return static_cast<T>(v);
  } else {
    if (!(v > static_cast<float>(extreme<T>(true)))) return extreme<T>(true);
    return v >= static_cast<float>(extreme<T>(false)) ? extreme<T>(false) : static_cast<T>(v);
  }
}

Status read(const ir::Node& n, DType type, Params& p) {
  return dispatch<kNumeric.bits()>(type, [&]<class T>() {
    p.low = bound(extreme<T>(true));
    p.high = bound(extreme<T>(false));
    if (n.since() >= 11) return;
    if (n.has_attr("min")) p.low = bound(from_attr<T>(n.attr("min", 0.f)));
    if (n.has_attr("max")) p.high = bound(from_attr<T>(n.attr("max", 0.f)));
  });
}

Status infer(const ir::Node& n, ir::Facts& f) {
  for (int i = 1; i < f.inputs(); ++i)
    if (f.has_rank(i) && f.in(i).rank() > 1)
      return invalid_argument("input {} has shape {}, needs one element", i, shape_text(f.in(i).shape()));
  return infer_elementwise(n, f);
}

class ClipKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    const DType type = node.input(0)->fact.dtype();
    Params p;
    TRN_TRY(read(node, type, p));
    const auto fn = kernels::clip(elem(type));
    if (!fn) return not_implemented("element type {} has no kernel", dtype_name(type));
    return std::unique_ptr<Kernel>(new ClipKernel(fn, p, size_of(type)));
  }
  Status run(KernelContext& ctx) const override {
    const void *low = params_.low.bytes, *high = params_.high.bytes;
    for (int i = 1; i <= 2; ++i) {
      if (!ctx.has_in(i)) continue;
      if (ctx.in(i).count != 1) return invalid_argument("input {} has {} elements, needs one", i, ctx.in(i).count);
      (i == 1 ? low : high) = ctx.in(i).data;
    }
    const auto* x = ctx.in(0).as<const std::byte>();
    auto* y = ctx.out(0).as<std::byte>();
    // The output may lie on a bound when all are single elements: keep the bounds.
    Params copy;
    std::memcpy(copy.low.bytes, low, size_);
    std::memcpy(copy.high.bytes, high, size_);
    ctx.parallel_for(ctx.in(0).count, 32768, [&](int64_t begin, int64_t end) {
      const size_t at = static_cast<size_t>(begin) * size_;
      fn_(x + at, y + at, static_cast<size_t>(end - begin), copy.low.bytes, copy.high.bytes);
    });
    return {};
  }

 private:
  ClipKernel(kernels::ClipFn fn, Params params, size_t size) : fn_(fn), params_(params), size_(size) {}
  kernels::ClipFn fn_;
  Params params_;
  size_t size_;
};

constexpr OpDef kDefs[] = {{"Clip", infer, cpu<ClipKernel>(kNumeric), {.reviewed = 13, .in_place = {{0, 0}}}}};

}  // namespace

TRUNNION_OPS(clip, kDefs);
}  // namespace trunnion::ops
