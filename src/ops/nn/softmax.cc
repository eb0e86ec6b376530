// Softmax, LogSoftmax and Hardmax (ai.onnx 1, 11, 13). Before 13 the input is taken as a matrix cut at `axis`, and rows
// are normalized; since 13 one axis is.
#include "kernels/softmax.h"

#include <algorithm>
#include <cstring>

#include "kernels/reduce.h"
#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

struct Params {
  int64_t axis;
  bool flatten;
};
Params read(const ir::Node& n) {
  const bool old = n.since() < 13;
  return {n.attr("axis", old ? 1 : -1), old};
}

// The input as (outer, axis, inner).
struct Box {
  int64_t outer = 1, axis = 1, inner = 1;
};
Result<Box> box(Params p, const TensorView& x) {
  TRN_ASSIGN(const int axis, normalize_axis(p.axis, std::max(x.rank, 1)));
  if (x.rank == 0) return Box{};
  if (p.flatten) return Box{product(x.shape(), 0, axis), product(x.shape(), axis, x.rank), 1};
  return Box{product(x.shape(), 0, axis), x.dim(axis), product(x.shape(), axis + 1, x.rank)};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  if (f.has_rank(0)) TRN_TRY(normalize_axis(read(n).axis, std::max(f.in(0).rank(), 1)));
  TRN_TRY(infer_same(n, f));
  f.out(0).content.reset();
  return {};
}

// f32 and f64.
template <bool kLog>
class SoftmaxKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new SoftmaxKernel(read(node)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    TRN_ASSIGN(const Box b, box(p_, x));
    if (x.count == 0) return {};
    const int64_t block = b.axis * b.inner;
    if (x.dtype == DType::f64) {
      ctx.parallel_for(b.outer, 1024 / block + 1, [&](int64_t begin, int64_t end) {
        kernels::softmax_f64(x.as<double>() + begin * block, y.as<double>() + begin * block, end - begin, b.axis,
                             b.inner, kLog);
      });
      return {};
    }
    const auto& k = kernels::softmax();
    ctx.parallel_for(b.outer, 16384 / block + 1, [&](int64_t begin, int64_t end) {
      const float* from = x.as<float>() + begin * block;
      float* to = y.as<float>() + begin * block;
      if (b.inner == 1)
        (kLog ? k.log_rows : k.rows)(from, to, end - begin, b.axis);
      else
        (kLog ? k.log_strided : k.strided)(from, to, end - begin, b.axis, b.inner);
    });
    return {};
  }

 private:
  explicit SoftmaxKernel(Params p) : p_(p) {}
  Params p_;
};

// 1 at the first largest element, 0 elsewhere.
class HardmaxKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new HardmaxKernel(read(node)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    TRN_ASSIGN(const Box b, box(p_, ctx.in(0)));
    ctx.request_scratch(static_cast<size_t>(b.outer * b.inner) * sizeof(int64_t));
    return std::unique_ptr<KernelState>();
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    TRN_ASSIGN(const Box b, box(p_, x));
    if (x.count == 0) return {};
    const auto find = kernels::arg_extreme(true, false, elem(x.dtype));
    auto* at = reinterpret_cast<int64_t*>(ctx.scratch());
    const int64_t block = b.axis * b.inner;
    return dispatch<kFloats.bits()>(x.dtype, [&]<class T>() {
      ctx.parallel_for(b.outer, 16384 / block + 1, [&](int64_t begin, int64_t end) {
        find(x.as<T>() + begin * block, at + begin * b.inner, {end - begin, b.axis, b.inner, b.inner});
        std::memset(static_cast<void*>(y.as<T>() + begin * block), 0,
                    static_cast<size_t>((end - begin) * block) * sizeof(T));
        for (int64_t o = begin; o < end; ++o)
          for (int64_t i = 0; i < b.inner; ++i) y.as<T>()[o * block + at[o * b.inner + i] * b.inner + i] = T(1.0f);
      });
    });
  }

 private:
  explicit HardmaxKernel(Params p) : p_(p) {}
  Params p_;
};

constexpr OpDef kDefs[] = {
    {"Softmax", infer, cpu_widened<SoftmaxKernel<false>>(kFloats), {.reviewed = 13, .in_place = {{0, 0}}}},
    {"LogSoftmax", infer, cpu_widened<SoftmaxKernel<true>>(kFloats), {.reviewed = 13, .in_place = {{0, 0}}}},
    {"Hardmax", infer, cpu<HardmaxKernel>(kFloats), {.reviewed = 13}},
};

}  // namespace

TRUNNION_OPS(softmax, kDefs);
}  // namespace trunnion::ops
