// Inverse (com.microsoft 1): inverses of a batch of square matrices, by elimination with pivots, in f64. A matrix
// without an inverse gives infinities or NaN.
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
  const SymShape& x = f.in(0).shape();
  const size_t n = x.size();
  if (n < 2) return invalid_argument("input 0 has shape {}, needs at least 2 dimensions", shape_text(x));
  if (x[n - 1].is_int() && x[n - 2].is_int() && !(x[n - 1] == x[n - 2]))
    return invalid_argument("matrices of shape {} are not square", shape_text(x));
  f.set(0, f.dtype(0), x);
  return {};
}

// a becomes the unit matrix, and b, which was it, the inverse.
void invert(double* a, double* b, int64_t n) {
  std::fill_n(b, n * n, 0.0);
  for (int64_t i = 0; i < n; ++i) b[i * n + i] = 1;
  for (int64_t c = 0; c < n; ++c) {
    int64_t pivot = c;
    for (int64_t r = c + 1; r < n; ++r)
      if (std::fabs(a[r * n + c]) > std::fabs(a[pivot * n + c])) pivot = r;
    if (pivot != c) {
      std::swap_ranges(a + c * n, a + (c + 1) * n, a + pivot * n);
      std::swap_ranges(b + c * n, b + (c + 1) * n, b + pivot * n);
    }
    const double scale = 1 / a[c * n + c];
    for (int64_t k = 0; k < n; ++k) {
      a[c * n + k] *= scale;
      b[c * n + k] *= scale;
    }
    for (int64_t r = 0; r < n; ++r) {
      if (r == c) continue;
      const double factor = a[r * n + c];
      for (int64_t k = c; k < n; ++k) a[r * n + k] -= factor * a[c * n + k];
      for (int64_t k = 0; k < n; ++k) b[r * n + k] -= factor * b[c * n + k];
    }
  }
}

class InverseCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new InverseCpu); }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    ctx.request_scratch(stride(ctx.in(0)) * static_cast<size_t>(tile_slots(matrices(ctx.in(0)), ctx.threads())));
    return std::unique_ptr<KernelState>();
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    if (x.count == 0) return {};
    const int64_t n = x.dim(x.rank - 1);
    return dispatch<kFloats.bits()>(x.dtype, [&]<class T>() {
      for_each_tile(ctx, matrices(x), ctx.scratch(), stride(x), [&](int64_t i, std::byte* own) {
        auto *a = reinterpret_cast<double*>(own), *b = a + n * n;
        const T* from = x.as<T>() + i * n * n;
        T* to = ctx.out(0).as<T>() + i * n * n;
        for (int64_t k = 0; k < n * n; ++k) a[k] = static_cast<double>(static_cast<Compute<T>>(from[k]));
        invert(a, b, n);
        for (int64_t k = 0; k < n * n; ++k) to[k] = static_cast<T>(static_cast<Compute<T>>(b[k]));
      });
    });
  }

 private:
  static int64_t matrices(const TensorView& x) { return product(x.shape(), 0, x.rank - 2); }
  static size_t stride(const TensorView& x) {
    return (static_cast<size_t>(2 * x.dim(x.rank - 1) * x.dim(x.rank - 1)) * sizeof(double) + 63) / 64 * 64;
  }
};

constexpr OpDef kDefs[] = {{"Inverse",
                            infer,
                            cpu<InverseCpu>(kFloats),
                            {.reviewed = 1},
                            "com.microsoft",
                            "com.microsoft::Inverse 1 (X:T) -> (Y:T) T=float"}};

}  // namespace

TRUNNION_OPS(inverse, kDefs);

}  // namespace trunnion::ops
