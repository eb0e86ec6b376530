// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss (ai.onnx 12, 13, 22): -log p of the target class, weighted by
// class, as it is, summed or averaged.
#include <algorithm>
#include <cmath>

#include "kernels/softmax.h"
#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

enum class Reduction : uint8_t { none, sum, mean };
struct Params {
  Reduction reduction = Reduction::mean;
  bool has_ignored = false;
  int64_t ignored = 0;
};

Result<Params> read(const ir::Node& n) {
  Params p;
  const std::string r = n.attr("reduction", "mean");
  if (r == "none")
    p.reduction = Reduction::none;
  else if (r == "sum")
    p.reduction = Reduction::sum;
  else if (r != "mean")
    return invalid_argument("attribute reduction is '{}', expected none, sum or mean", r);
  p.has_ignored = n.has_attr("ignore_index");
  p.ignored = n.attr("ignore_index", 0);
  return p;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  f.set(0, f.dtype(0), p.reduction == Reduction::none ? std::nullopt : std::optional(SymShape{}));
  f.set(1, f.dtype(0));
  TRN_TRY(expect_rank(f, 2, 1));
  if (f.has_rank(0)) {
    const SymShape& x = f.in(0).shape();
    if (x.size() < 2) return invalid_argument("input 0 has shape {}, needs at least 2 dimensions", shape_text(x));
    TRN_TRY(expect_rank(f, 1, static_cast<int>(x.size()) - 1));
    SymShape loss = x;
    loss.erase(loss.begin() + 1);
    if (f.has_rank(1))
      for (size_t i = 0; i < loss.size(); ++i)
        if (const Dim& t = f.in(1).dim(static_cast<int>(i)); t.is_int() && loss[i].is_int() && !(t == loss[i]))
          return invalid_argument("targets of shape {} do not go with an input of shape {}",
                                  shape_text(f.in(1).shape()), shape_text(x));
    if (f.has_rank(2) && x[1].is_int() && f.in(2).dim(0).is_int() && !(f.in(2).dim(0) == x[1]))
      return invalid_argument("there are {} weights for {} classes", f.in(2).dim(0).value(), x[1].value());
    if (p.reduction == Reduction::none) f.set(0, f.dtype(0), std::move(loss));
    f.set(1, f.dtype(0), x);
  } else if (f.has_rank(1) && p.reduction == Reduction::none) {
    f.set(0, f.dtype(0), f.in(1).shape());
  }
  return {};
}

// f32 and f64.
template <bool kSoftmax>
class LossKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(const Params p, read(node));
    return std::unique_ptr<Kernel>(new LossKernel(p));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    if (kSoftmax && !ctx.has_out(1)) ctx.request_scratch(ctx.in(0).bytes());
    return std::unique_ptr<KernelState>();
  }

  Status run(KernelContext& ctx) const override {
    constexpr DTypes kTypes = DType::f32 | DType::f64;
    return dispatch<kTypes.bits()>(ctx.in(0).dtype, [&]<class T>() -> Status {
      return dispatch<(DType::i32 | DType::i64).bits()>(ctx.in(1).dtype,
                                                        [&]<class I>() -> Status { return loss<T, I>(ctx); });
    });
  }

 private:
  explicit LossKernel(Params p) : p_(p) {}

  template <class T, class I>
  Status loss(KernelContext& ctx) const {
    const TensorView& x = ctx.in(0);
    const int64_t classes = x.dim(1), inner = product(x.shape(), 2, x.rank), samples = x.dim(0) * inner;
    const T* log_p = x.as<T>();
    if (kSoftmax) {
      T* to = ctx.has_out(1) ? ctx.out(1).as<T>() : reinterpret_cast<T*>(ctx.scratch());
      if (x.count > 0)
        ctx.parallel_for(x.dim(0), 8192 / (classes * inner) + 1, [&](int64_t begin, int64_t end) {
          const int64_t at = begin * classes * inner;
          if constexpr (std::is_same_v<T, float>)
            kernels::softmax().log_strided(log_p + at, to + at, end - begin, classes, inner);
          else
            kernels::softmax_f64(log_p + at, to + at, end - begin, classes, inner, true);
        });
      log_p = to;
    }
    const I* target = ctx.in(1).as<I>();
    if (ctx.in(1).count != samples)
      return invalid_argument("there are {} targets for {} samples", ctx.in(1).count, samples);
    const T* weight = ctx.has_in(2) ? ctx.in(2).as<T>() : nullptr;
    if (weight && ctx.in(2).count != classes)
      return invalid_argument("there are {} weights for {} classes", ctx.in(2).count, classes);
    double sum = 0, weights = 0;
    for (int64_t i = 0; i < samples; ++i) {
      const auto t = static_cast<int64_t>(target[i]);
      T l = 0;
      if (!p_.has_ignored || t != p_.ignored) {
        if (t < 0 || t >= classes) return invalid_argument("target {} is {}, but there are {} classes", i, t, classes);
        const T w = weight ? weight[t] : T(1);
        l = -log_p[(i / inner * classes + t) * inner + i % inner] * w;
        weights += static_cast<double>(w);
      }
      if (p_.reduction == Reduction::none && ctx.has_out(0)) ctx.out(0).as<T>()[i] = l;
      sum += static_cast<double>(l);
    }
    if (ctx.has_out(0) && p_.reduction != Reduction::none)
      *ctx.out(0).as<T>() = static_cast<T>(p_.reduction == Reduction::mean ? sum / weights : sum);
    return {};
  }

  Params p_;
};

constexpr OpDef kDefs[] = {
    {"NegativeLogLikelihoodLoss", infer, cpu_widened<LossKernel<false>>(kFloats), {.reviewed = 22}},
    {"SoftmaxCrossEntropyLoss", infer, cpu_widened<LossKernel<true>>(kFloats), {.reviewed = 13}},
};

}  // namespace

TRUNNION_OPS(negative_log_likelihood_loss, kDefs);
}  // namespace trunnion::ops
