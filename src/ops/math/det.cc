// Det (ai.onnx 11, 22): determinants of a batch of square matrices, by elimination with pivots, in f64.
#include <algorithm>
#include <cmath>

#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/tiles.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node&, ir::Facts& f) {
  f.set(0, f.dtype(0));
  if (!f.has_rank(0)) return {};
  SymShape x = f.in(0).shape();
  const size_t n = x.size();
  if (n < 2) return invalid_argument("input 0 has shape {}, needs at least 2 dimensions", shape_text(x));
  if (x[n - 1].is_int() && x[n - 2].is_int() && !(x[n - 1] == x[n - 2]))
    return invalid_argument("matrices of shape {} are not square", shape_text(x));
  x.resize(n - 2);
  f.set(0, f.dtype(0), std::move(x));
  return {};
}

double determinant(double* a, int64_t n) {
  double det = 1;
  for (int64_t c = 0; c < n; ++c) {
    int64_t pivot = c;
    for (int64_t r = c + 1; r < n; ++r)
      if (std::fabs(a[r * n + c]) > std::fabs(a[pivot * n + c])) pivot = r;
    if (a[pivot * n + c] == 0) return 0;
    if (pivot != c) {
      std::swap_ranges(a + c * n, a + (c + 1) * n, a + pivot * n);
      det = -det;
    }
    det *= a[c * n + c];
    for (int64_t r = c + 1; r < n; ++r) {
      const double factor = a[r * n + c] / a[c * n + c];
      for (int64_t k = c; k < n; ++k) a[r * n + k] -= factor * a[c * n + k];
    }
  }
  return det;
}

class DetKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new DetKernel); }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    ctx.request_scratch(stride(ctx.in(0)) * static_cast<size_t>(tile_slots(ctx.out(0).count, ctx.threads())));
    return std::unique_ptr<KernelState>();
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    const int64_t n = x.dim(x.rank - 1);
    return dispatch<kFloats.bits()>(x.dtype, [&]<class T>() {
      for_each_tile(ctx, ctx.out(0).count, ctx.scratch(), stride(x), [&](int64_t i, std::byte* own) {
        auto* a = reinterpret_cast<double*>(own);
        const T* from = x.as<T>() + i * n * n;
        for (int64_t k = 0; k < n * n; ++k) a[k] = static_cast<double>(static_cast<Compute<T>>(from[k]));
        ctx.out(0).as<T>()[i] = static_cast<T>(static_cast<Compute<T>>(determinant(a, n)));
      });
    });
  }

 private:
  static size_t stride(const TensorView& x) {
    return (static_cast<size_t>(x.dim(x.rank - 1) * x.dim(x.rank - 1)) * sizeof(double) + 63) / 64 * 64;
  }
};

constexpr OpDef kDefs[] = {{"Det", infer, cpu<DetKernel>(kFloats), {.reviewed = 22}}};

}  // namespace

TRUNNION_OPS(det, kDefs);
}  // namespace trunnion::ops
