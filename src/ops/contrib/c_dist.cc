// CDist (com.microsoft 1): distances of every row of A from every row of B, squared or not. As |a|^2 - 2 a b + |b|^2
// for f32, with the product from the matrix kernel; f64 sums the squares of the differences.
#include <algorithm>
#include <cmath>

#include "kernels/gemm.h"
#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/tiles.h"

namespace trunnion::ops {
namespace {

Result<bool> read_root(const ir::Node& n) {
  const std::string metric = n.attr("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    return invalid_argument("attribute metric is '{}', expected euclidean or sqeuclidean", metric);
  return metric == "euclidean";
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(read_root(n).status());
  TRN_TRY(expect_rank(f, 0, 2));
  TRN_TRY(expect_rank(f, 1, 2));
  SymShape y = unknown_shape(2);
  for (int i : {0, 1})
    if (f.has_rank(i)) y[i] = f.in(i).dim(0);
  if (f.has_rank(0) && f.has_rank(1)) {
    const Dim &a = f.in(0).dim(1), &b = f.in(1).dim(1);
    if (a.is_int() && b.is_int() && !(a == b))
      return invalid_argument("rows of A have {} elements, those of B {}", a.value(), b.value());
  }
  f.set(0, f.dtype(0), std::move(y));
  return {};
}

class CDistCpu final : public Kernel {
 public:
  struct State final : KernelState {
    kernels::GemmGrid grid;
    size_t scratch_offset = 0, scratch_stride = 0;
  };

  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const bool root, read_root(n));
    return std::unique_ptr<Kernel>(new CDistCpu(root));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    const TensorView &a = ctx.in(0), &b = ctx.in(1);
    if (a.dtype == DType::f64 || ctx.out(0).count == 0) return std::unique_ptr<KernelState>(std::move(s));
    s->grid = kernels::gemm_grid(a.dim(0), b.dim(0), a.dim(1), ctx.threads());
    s->scratch_offset = (static_cast<size_t>(a.dim(0) + b.dim(0)) * sizeof(float) + 63) / 64 * 64;
    s->scratch_stride = (kernels::gemm_scratch_size(b.dim(0), a.dim(1)) + 63) / 64 * 64;
    ctx.request_scratch(s->scratch_offset +
                        s->scratch_stride * static_cast<size_t>(tile_slots(s->grid.count(), ctx.threads())));
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    if (ctx.out(0).count == 0) return {};
    if (ctx.in(0).dtype == DType::f64)
      wide(ctx);
    else
      products(ctx);
    return {};
  }

 private:
  explicit CDistCpu(bool root) : root_(root) {}

  static void squares(const TensorView& x, float* to) {
    for (int64_t r = 0; r < x.dim(0); ++r) {
      const float* row = x.as<float>() + r * x.dim(1);
      double sum = 0;
      for (int64_t k = 0; k < x.dim(1); ++k) sum += static_cast<double>(row[k]) * static_cast<double>(row[k]);
      to[r] = static_cast<float>(sum);
    }
  }

  void products(KernelContext& ctx) const {
    const State& s = *ctx.state<State>();
    const TensorView &a = ctx.in(0), &b = ctx.in(1), &y = ctx.out(0);
    auto *a2 = reinterpret_cast<float*>(ctx.scratch()), *b2 = a2 + a.dim(0);
    squares(a, a2);
    squares(b, b2);
    kernels::GemmArgs args;
    args.m = a.dim(0);
    args.n = b.dim(0);
    args.k = a.dim(1);
    args.a = a.as<float>();
    args.a_row_stride = args.k;
    args.b = b.as<float>();
    args.b_k_stride = 1;
    args.b_n_stride = args.k;
    args.c = y.as<float>();
    args.ldc = args.n;
    args.epilogue.alpha = -2;
    args.epilogue.bias_col = b2;
    args.epilogue.bias_row = a2;
    for_each_tile(ctx, s.grid.count(), ctx.scratch() + s.scratch_offset, s.scratch_stride,
                  [&](int64_t i, std::byte* own) { kernels::gemm_tile(args, s.grid, i, own); });
    // Rounding may leave a little less than nothing.
    ctx.parallel_for(y.count, 16384, [&](int64_t begin, int64_t end) {
      float* v = y.as<float>();
      for (int64_t i = begin; i < end; ++i) {
        v[i] = v[i] < 0 ? 0 : v[i];
        if (root_) v[i] = std::sqrt(v[i]);
      }
    });
  }

  void wide(KernelContext& ctx) const {
    const TensorView &a = ctx.in(0), &b = ctx.in(1), &y = ctx.out(0);
    const int64_t n = b.dim(0), k = a.dim(1);
    ctx.parallel_for(y.count, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, k)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double *p = a.as<double>() + i / n * k, *q = b.as<double>() + i % n * k;
        double sum = 0;
        for (int64_t j = 0; j < k; ++j) sum += (p[j] - q[j]) * (p[j] - q[j]);
        y.as<double>()[i] = root_ ? std::sqrt(sum) : sum;
      }
    });
  }

  bool root_;
};

constexpr OpDef kDefs[] = {{"CDist",
                            infer,
                            cpu<CDistCpu>(DType::f32 | DType::f64),
                            {.reviewed = 1},
                            "com.microsoft",
                            "com.microsoft::CDist 1 (A:T, B:T) -> (C:T) {metric:s='sqeuclidean'} T=f32|f64"}};

}  // namespace

TRUNNION_OPS(c_dist, kDefs);

}  // namespace trunnion::ops
