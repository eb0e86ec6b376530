// MaxPool (ai.onnx 1 to 22), AveragePool (1 to 22) and LpPool (1 to 22): a window slides over [N, C, D...].
#include <algorithm>
#include <cmath>

#include "kernels/pool_window.h"
#include "ops/dispatch.h"
#include "ops/nn/window_detail.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const WindowParams p, read_window(n));
  std::optional<SymShape> shape;
  if (f.has_rank(0)) {
    TRN_ASSIGN(shape, window_shape(p, f.in(0).shape()));
  }
  f.set(0, f.dtype(0), shape);
  f.set(1, DType::i64, shape);  // MaxPool's indices
  return {};
}

struct PoolState final : KernelState {
  kernels::PoolShape shape;
  int64_t planes = 0, in_plane = 0, out_plane = 0, grain = 1;
};

// The part of prepare that all of them share.
Result<std::unique_ptr<PoolState>> make_state(const WindowParams& p, PrepareContext& ctx) {
  auto s = std::make_unique<PoolState>();
  const TensorView &x = ctx.in(0), &y = ctx.has_out(0) ? ctx.out(0) : ctx.out(1);
  TRN_ASSIGN(s->shape, pool_shape(p, x.shape(), y.shape()));
  s->planes = x.dim(0) * x.dim(1);
  s->in_plane = product(x.shape(), 2, x.rank);
  s->out_plane = product(y.shape(), 2, y.rank);
  const double work =
      static_cast<double>(s->out_plane) * static_cast<double>(product(std::span<const int64_t>(p.kernel)));
  s->grain = 1 + static_cast<int64_t>(32768 / std::max(work, 1.0));
  return s;
}

// Runs fn(first plane, planes) over all planes.
template <class F>
void each_planes(KernelContext& ctx, const PoolState& s, F&& fn) {
  if (s.out_plane == 0) return;
  ctx.parallel_for(s.planes, s.grain, [&](int64_t begin, int64_t end) { fn(begin, end - begin); });
}

class MaxPoolKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(WindowParams p, read_window(node));
    return std::unique_ptr<Kernel>(new MaxPoolKernel(std::move(p), node.attr("storage_order", 0) == 1));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    TRN_ASSIGN(auto s, make_state(p_, ctx));
    if (!ctx.has_out(0))
      ctx.request_scratch(ctx.out(1).bytes());  // values that nobody wants; no element is larger than an index
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const auto& s = *ctx.state<PoolState>();
    const DType type = ctx.in(0).dtype;
    const auto size = static_cast<int64_t>(size_of(type));
    const auto* x = ctx.in(0).as<const std::byte>();
    auto* y = ctx.has_out(0) ? ctx.out(0).as<std::byte>() : ctx.scratch();
    auto* indices = ctx.has_out(1) ? ctx.out(1).as<int64_t>() : nullptr;
    each_planes(ctx, s, [&](int64_t first, int64_t planes) {
      kernels::PoolShape shape = s.shape;
      shape.index_base = first * s.in_plane;
      const void* from = x + first * s.in_plane * size;
      void* to = y + first * s.out_plane * size;
      int64_t* at = indices ? indices + first * s.out_plane : nullptr;
      if (type == DType::f32)
        kernels::pool().max(static_cast<const float*>(from), static_cast<float*>(to), at, planes, shape, column_major_);
      else
        kernels::max_pool(elem(type), from, to, at, planes, shape, column_major_);
    });
    return {};
  }

 private:
  MaxPoolKernel(WindowParams p, bool column_major) : p_(std::move(p)), column_major_(column_major) {}
  WindowParams p_;
  bool column_major_;
};

// f64: sums of map(x) over each window, then finish(sum, elements that count).
template <class Map, class Finish>
void plain_sums(const double* x, double* y, int64_t planes, const kernels::PoolShape& s, const Map& map,
                const Finish& finish) {
  using kernels::window;
  for (int64_t p = 0; p < planes; ++p, x += s.in[0] * s.in[1] * s.in[2])
    for (int64_t o0 = 0; o0 < s.out[0]; ++o0)
      for (int64_t o1 = 0; o1 < s.out[1]; ++o1)
        for (int64_t o2 = 0; o2 < s.out[2]; ++o2) {
          const kernels::Window w0 = window(s, 0, o0), w1 = window(s, 1, o1), w2 = window(s, 2, o2);
          double sum = 0;
          for (int64_t k0 = w0.first; k0 < w0.last; ++k0)
            for (int64_t k1 = w1.first; k1 < w1.last; ++k1)
              for (int64_t k2 = w2.first; k2 < w2.last; ++k2) {
                const int64_t i0 = w0.start + k0 * s.dilation[0], i1 = w1.start + k1 * s.dilation[1];
                sum += map(x[(i0 * s.in[1] + i1) * s.in[2] + w2.start + k2 * s.dilation[2]]);
              }
          *y++ = finish(sum, window_count(s, 0, o0) * window_count(s, 1, o1) * window_count(s, 2, o2));
        }
}

// AveragePool, and LpPool when p > 0; f32 and f64.
template <bool kLp>
class SumPoolKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(WindowParams p, read_window(node));
    int64_t norm = 0;
    if (kLp) {
      norm = node.since() < 2 ? std::llround(node.attr("p", 2.0f)) : node.attr("p", 2);
      if (norm < 1 || norm > 1000) return invalid_argument("attribute p is {}, expected at least 1", norm);
    }
    const bool include = !kLp && node.since() >= 7 && node.attr("count_include_pad", 0) != 0;
    return std::unique_ptr<Kernel>(new SumPoolKernel(std::move(p), static_cast<int>(norm), include));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    TRN_ASSIGN(auto s, make_state(p_, ctx));
    s->shape.p = norm_;
    s->shape.count_include_pad = include_;
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const auto& s = *ctx.state<PoolState>();
    if (ctx.in(0).dtype == DType::f64) {
      each_planes(ctx, s, [&](int64_t first, int64_t planes) {
        wide(ctx.in(0).as<double>() + first * s.in_plane, ctx.out(0).as<double>() + first * s.out_plane, planes,
             s.shape);
      });
      return {};
    }
    const auto fn = kLp ? kernels::pool().lp : kernels::pool().average;
    each_planes(ctx, s, [&](int64_t first, int64_t planes) {
      fn(ctx.in(0).as<float>() + first * s.in_plane, ctx.out(0).as<float>() + first * s.out_plane, planes, s.shape);
    });
    return {};
  }

 private:
  SumPoolKernel(WindowParams p, int norm, bool include) : p_(std::move(p)), norm_(norm), include_(include) {}

  static void wide(const double* x, double* y, int64_t planes, const kernels::PoolShape& s) {
    if (kLp)
      plain_sums(
          x, y, planes, s, [&](double v) { return std::pow(std::fabs(v), s.p); },
          [&](double sum, int64_t) { return std::pow(sum, 1.0 / s.p); });
    else
      plain_sums(
          x, y, planes, s, [](double v) { return v; },
          [](double sum, int64_t count) { return count ? sum / static_cast<double>(count) : 0; });
  }

  WindowParams p_;
  int norm_;
  bool include_;
};

constexpr OpDef kDefs[] = {
    {"MaxPool", infer, cpu_widened<MaxPoolKernel>(kFloats | DType::i8 | DType::u8), {.reviewed = 22}},
    {"AveragePool", infer, cpu_widened<SumPoolKernel<false>>(kFloats), {.reviewed = 22}},
    {"LpPool", infer, cpu_widened<SumPoolKernel<true>>(kFloats), {.reviewed = 22}},
};

}  // namespace

TRUNNION_OPS(pool, kDefs);
}  // namespace trunnion::ops
