// LRN (ai.onnx 1, 13): local response normalization across neighbouring channels.
#include <cmath>

#include "ops/dispatch.h"
#include "ops/elementwise.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

struct Params {
  int64_t size;
  float alpha, beta, bias;
};
Params read(const ir::Node& n) {
  return {n.attr("size", 1), n.attr("alpha", 1e-4f), n.attr("beta", 0.75f), n.attr("bias", 1.0f)};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  if (const int64_t size = read(n).size; size < 1)
    return invalid_argument("attribute size is {}, expected at least 1", size);
  if (f.has_rank(0) && f.in(0).rank() < 2)
    return invalid_argument("input 0 has shape {}, needs at least 2 dimensions", shape_text(f.in(0).shape()));
  return infer_elementwise(n, f);
}

class LrnKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new LrnKernel(read(node)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (x.count == 0) return {};
    const int64_t channels = x.dim(1), plane = product(x.shape(), 2, x.rank), before = (p_.size - 1) / 2,
                  after = p_.size - 1 - before;
    // A piece is a range of the channels of all images, with the neighbours that its windows need.
    return dispatch<(DType::f32 | DType::f64).bits()>(x.dtype, [&]<class T>() {
      ctx.parallel_for(x.dim(0) * channels, 2048 / plane + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t c = i % channels, first = std::max<int64_t>(c - before, 0),
                        last = std::min(c + after, channels - 1);
          const T *image = x.as<T>() + (i - c) * plane, *in = image + c * plane;
          T* out = y.as<T>() + i * plane;
          std::fill_n(out, plane, T(0));
          for (int64_t w = first; w <= last; ++w)
            for (int64_t k = 0; k < plane; ++k) out[k] += image[w * plane + k] * image[w * plane + k];
          const T factor = static_cast<T>(p_.alpha) / static_cast<T>(p_.size), bias = static_cast<T>(p_.bias),
                  beta = static_cast<T>(p_.beta);
          if (p_.beta == 0.75f)
            for (int64_t k = 0; k < plane; ++k) {  // v^-3/4 by square roots
              const T root = std::sqrt(bias + factor * out[k]);
              out[k] = in[k] / (root * std::sqrt(root));
            }
          else
            for (int64_t k = 0; k < plane; ++k) out[k] = in[k] / std::pow(bias + factor * out[k], beta);
        }
      });
    });
  }

 private:
  explicit LrnKernel(Params p) : p_(p) {}
  Params p_;
};

constexpr OpDef kDefs[] = {{"LRN", infer, cpu_widened<LrnKernel>(kFloats), {.reviewed = 13}}};

}  // namespace

TRUNNION_OPS(lrn, kDefs);
}  // namespace trunnion::ops
