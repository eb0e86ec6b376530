// DFT (ai.onnx 17, 20): Fourier transforms along one axis of real or complex signals, whose parts are the last
// dimension.
#include <algorithm>

#include "ops/dispatch.h"
#include "ops/math/fourier_detail.h"
#include "ops/math/fourier_f32_detail.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

struct Params {
  bool axis_input, inverse, onesided;
  int64_t axis;
};
Params read(const ir::Node& n) {
  const bool input = n.since() >= 20;
  return {input, n.attr("inverse", 0) != 0, n.attr("onesided", 0) != 0, input ? -2 : n.attr("axis", 1)};
}

constexpr int64_t kMaxLength = int64_t{1} << 40;

Result<int> signal_axis(int64_t axis, int64_t rank) {
  if (rank < 2) return invalid_argument("input 0 has rank {}, needs at least 2", rank);
  TRN_ASSIGN(const int a, normalize_axis(axis, rank));
  if (a == rank - 1) return invalid_argument("axis {} is that of the real and imaginary parts", axis);
  return a;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  const Params p = read(n);
  f.set(0, f.dtype(0));
  if (!f.has_rank(0)) return {};
  SymShape x = f.in(0).shape();
  const Dim& parts = x.back();
  if (parts.is_int() && !parts.is_int(1) && !parts.is_int(2))
    return invalid_argument("the last dimension of shape {} must be 1 or 2", shape_text(x));
  if (p.onesided && !p.inverse && parts.is_int(2))
    return invalid_argument("a one-sided transform needs a real input, not shape {}", shape_text(x));
  int64_t axis = p.axis;
  bool axis_known = true;
  if (p.axis_input && f.has(2)) {
    const auto ints = f.ints(2);
    if (ints && ints->size() != 1) return invalid_argument("axis has {} elements, needs one", ints->size());
    axis_known = ints.has_value();
    if (ints) axis = (*ints)[0];
  }
  SymShape out = x;
  out.back() = Dim(p.inverse && p.onesided ? 1 : 2);
  if (!axis_known) {
    // Without a length of its own and with both sides kept, a transform changes no size, whichever axis it takes.
    if (f.has(1) || p.onesided) std::fill(out.begin(), out.end() - 1, Dim());
    f.set(0, f.dtype(0), std::move(out));
    return {};
  }
  TRN_ASSIGN(const int a, signal_axis(axis, static_cast<int64_t>(x.size())));
  Dim length = p.inverse && p.onesided ? (x[a] - Dim(1)) * Dim(2) : x[a];
  if (f.has(1)) {
    const auto content = f.dims(1);
    if (content && content->size() != 1)
      return invalid_argument("dft_length has {} elements, needs one", content->size());
    length = content ? (*content)[0] : Dim();
  }
  if (length.is_int() && (length.value() < 1 || length.value() > kMaxLength))
    return invalid_argument("the length of the transform is {}, expected at least 1", length.value());
  out[a] = p.onesided && !p.inverse ? floor_div(length, Dim(2)) + Dim(1) : length;
  f.set(0, f.dtype(0), std::move(out));
  return {};
}

class DftKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new DftKernel(read(node)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    int64_t axis = p_.axis;
    if (p_.axis_input && ctx.has_in(2)) {
      if (ctx.in(2).count != 1) return invalid_argument("axis has {} elements, needs one", ctx.in(2).count);
      axis = read_ints(ctx.in(2))[0];
    }
    TRN_ASSIGN(const int a, signal_axis(axis, x.rank));
    if (y.count == 0) return {};
    const bool half = p_.onesided && !p_.inverse, real_out = p_.onesided && p_.inverse;
    int64_t length = half ? x.dim(a) : y.dim(a);
    if (ctx.has_in(1)) {
      if (ctx.in(1).count != 1) return invalid_argument("dft_length has {} elements, needs one", ctx.in(1).count);
      length = read_ints(ctx.in(1))[0];
    }
    if (length < 1 || length > kMaxLength || y.dim(a) != (half ? length / 2 + 1 : length))
      return invalid_argument("the length of the transform is {}", length);
    if (x.dtype == DType::f32 && x.dim(x.rank - 1) == 2 && !real_out && FourierF32::takes(length)) {
      run_f32(ctx, a, length);
      return {};
    }
    const Fourier fourier(length, p_.inverse);
    const int64_t inner = product(x.shape(), a + 1, x.rank - 1), outer = product(x.shape(), 0, a), given = x.dim(a),
                  parts = x.dim(x.rank - 1);
    return dispatch<kFloats.bits()>(x.dtype, [&]<class T>() {
      const auto get = [&](int64_t i) { return static_cast<double>(static_cast<Compute<T>>(x.as<T>()[i])); };
      const auto put = [&](int64_t i, double v) { y.as<T>()[i] = static_cast<T>(static_cast<Compute<T>>(v)); };
      ctx.parallel_for(outer * inner, 1024 / length + 1, [&](int64_t begin, int64_t end) {
        std::vector<Fourier::Complex> line(static_cast<size_t>(length)), work;
        for (int64_t i = begin; i < end; ++i) {
          const int64_t o = i / inner, c = i % inner;
          const auto element = [&](int64_t k) {
            const int64_t at = ((o * given + k) * inner + c) * parts;
            return Fourier::Complex(get(at), parts == 2 ? get(at + 1) : 0);
          };
          for (int64_t k = 0; k < length; ++k)
            line[k] = k < given && !(real_out && k > length / 2) ? element(k) : Fourier::Complex();
          if (real_out) {  // the other half is the mirror image; the ends are real
            line[0] = line[0].real();
            if (length % 2 == 0) line[length / 2] = line[length / 2].real();
            for (int64_t k = 1; k < (length + 1) / 2; ++k) line[length - k] = std::conj(line[k]);
          }
          fourier.run(line.data(), work);
          for (int64_t k = 0; k < y.dim(a); ++k) {
            const int64_t at = (o * y.dim(a) + k) * inner + c;
            if (real_out) {
              put(at, line[k].real());
            } else {
              put(2 * at, line[k].real());
              put(2 * at + 1, line[k].imag());
            }
          }
        }
      });
    });
  }

 private:
  explicit DftKernel(Params p) : p_(p) {}

  // Complex signals of handy lengths.
  void run_f32(KernelContext& ctx, int axis, int64_t length) const {
    using Complex = FourierF32::Complex;
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    const FourierF32 fourier(length, p_.inverse);
    const int64_t inner = product(x.shape(), axis + 1, x.rank - 1), outer = product(x.shape(), 0, axis);
    const int64_t given = x.dim(axis), wanted = y.dim(axis);
    ctx.parallel_for(outer * inner, 2048 / length + 1, [&](int64_t begin, int64_t end) {
      std::vector<Complex> line(static_cast<size_t>(length)), work;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t o = i / inner, c = i % inner;
        const float* from = x.as<const float>() + (o * given * inner + c) * 2;
        for (int64_t k = 0; k < length; ++k)
          line[static_cast<size_t>(k)] = k < given ? Complex(from[2 * k * inner], from[2 * k * inner + 1]) : Complex();
        fourier.run(line.data(), work);
        float* to = y.as<float>() + (o * wanted * inner + c) * 2;
        for (int64_t k = 0; k < wanted; ++k) {
          to[2 * k * inner] = line[static_cast<size_t>(k)].real();
          to[2 * k * inner + 1] = line[static_cast<size_t>(k)].imag();
        }
      }
    });
  }
  Params p_;
};

constexpr OpDef kDefs[] = {{"DFT", infer, cpu<DftKernel>(kFloats), {.reviewed = 20}}};

}  // namespace

TRUNNION_OPS(dft, kDefs);
}  // namespace trunnion::ops
