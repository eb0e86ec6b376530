// STFT (ai.onnx 17): Fourier transforms of overlapping, windowed frames of a signal.
#include <algorithm>

#include "ops/dispatch.h"
#include "ops/math/fourier_detail.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

bool onesided(const ir::Node& n) { return n.attr("onesided", 1) != 0; }

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(expect_rank(f, 0, 3));
  TRN_TRY(expect_rank(f, 2, 1));
  Dim length, batch, signal;
  if (f.has_rank(0)) {
    const SymShape& x = f.in(0).shape();
    batch = x[0];
    signal = x[1];
    if (x[2].is_int() && !x[2].is_int(1) && !x[2].is_int(2))
      return invalid_argument("the last dimension of shape {} must be 1 or 2", shape_text(x));
    if (x[2].is_int(2) && onesided(n))
      return invalid_argument("a one-sided transform needs a real signal, not shape {}", shape_text(x));
  }
  if (f.has(3)) {
    const auto content = f.dims(3);
    if (content && content->size() != 1)
      return invalid_argument("frame_length has {} elements, needs one", content->size());
    if (content) length = (*content)[0];
  } else {
    length = f.has(2) ? (f.has_rank(2) ? f.in(2).dim(0) : Dim()) : signal;
  }
  const auto step = f.ints(1);
  if (step && (step->size() != 1 || (*step)[0] < 1)) return invalid_argument("frame_step must be one positive number");
  if (length.is_int() && length.value() < 1)
    return invalid_argument("the frame length is {}, expected at least 1", length.value());
  if (length.is_int() && signal.is_int() && length.value() > signal.value())
    return invalid_argument("frames of {} are longer than the signal of {}", length.value(), signal.value());
  if (f.has_rank(2) && f.has(3) && length.is_int() && f.in(2).dim(0).is_int() && !(f.in(2).dim(0) == length))
    return invalid_argument("the window has {} elements, the frame length is {}", f.in(2).dim(0).value(),
                            length.value());
  const Dim frames = step ? floor_div(signal - length, Dim((*step)[0])) + Dim(1) : Dim();
  f.set(0, f.dtype(0), SymShape{batch, frames, onesided(n) ? floor_div(length, Dim(2)) + Dim(1) : length, Dim(2)});
  return {};
}

class StftKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new StftKernel(onesided(node)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (ctx.in(1).count != 1) return invalid_argument("frame_step has {} elements, needs one", ctx.in(1).count);
    const int64_t step = read_ints(ctx.in(1))[0], signal = x.dim(1), parts = x.dim(2), frames = y.dim(1),
                  bins = y.dim(2);
    int64_t length = ctx.has_in(2) ? ctx.in(2).count : signal;
    if (ctx.has_in(3)) {
      if (ctx.in(3).count != 1) return invalid_argument("frame_length has {} elements, needs one", ctx.in(3).count);
      length = read_ints(ctx.in(3))[0];
    }
    if (step < 1 || length < 1 || length > signal || frames > (signal - length) / step + 1 ||
        bins != (onesided_ ? length / 2 + 1 : length) || (ctx.has_in(2) && ctx.in(2).count != length))
      return invalid_argument("frames of {} every {} do not fit a signal of {} (window: {})", length, step, signal,
                              ctx.has_in(2) ? ctx.in(2).count : length);
    const Fourier fourier(length, false);
    return dispatch<kFloats.bits()>(x.dtype, [&]<class T>() {
      const auto number = [](const TensorView& v, int64_t i) {
        return static_cast<double>(static_cast<Compute<T>>(v.as<T>()[i]));
      };
      ctx.parallel_for(x.dim(0) * frames, 1024 / length + 1, [&](int64_t begin, int64_t end) {
        std::vector<Fourier::Complex> line(static_cast<size_t>(length)), work;
        for (int64_t i = begin; i < end; ++i) {
          const int64_t from = (i / frames * signal + i % frames * step) * parts;
          for (int64_t k = 0; k < length; ++k) {
            const double w = ctx.has_in(2) ? number(ctx.in(2), k) : 1;
            line[k] = {w * number(x, from + k * parts), parts == 2 ? w * number(x, from + k * parts + 1) : 0};
          }
          fourier.run(line.data(), work);
          for (int64_t k = 0; k < bins; ++k) {
            y.as<T>()[(i * bins + k) * 2] = static_cast<T>(static_cast<Compute<T>>(line[k].real()));
            y.as<T>()[(i * bins + k) * 2 + 1] = static_cast<T>(static_cast<Compute<T>>(line[k].imag()));
          }
        }
      });
    });
  }

 private:
  explicit StftKernel(bool onesided) : onesided_(onesided) {}
  bool onesided_;
};

constexpr OpDef kDefs[] = {{"STFT", infer, cpu<StftKernel>(kFloats), {.reviewed = 17}}};

}  // namespace

TRUNNION_OPS(stft, kDefs);
}  // namespace trunnion::ops
