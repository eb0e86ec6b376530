// RandomUniform, RandomNormal (ai.onnx 1, 22), their Like forms, Bernoulli (15, 22) and Multinomial (7, 22).
#include <algorithm>
#include <cmath>

#include "ops/dispatch.h"
#include "ops/random/random_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Result<DType> read_type(const ir::Node& n, DType fallback) {
  if (!n.has_attr("dtype")) return fallback;
  const auto type = dtype_from_code(n.attr("dtype", 1));
  if (!type) return invalid_argument("attribute dtype is {}, which is no element type", n.attr("dtype", 1));
  return *type;
}

Status infer_shape(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const DType type, read_type(n, DType::f32));
  const auto shape = n.ints("shape");
  if (element_count(std::span<const int64_t>(shape)) < 0)
    return invalid_argument("attribute shape {} is negative or too large", shape_text(std::span<const int64_t>(shape)));
  f.set(0, type, to_symbolic(shape));
  return {};
}

Status infer_like(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const DType type, read_type(n, f.dtype(0)));
  f.set(0, type, f.has_rank(0) ? std::optional<SymShape>(f.in(0).shape()) : std::nullopt);
  return {};
}

Status infer_multinomial(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const DType type, read_type(n, DType::i32));
  TRN_TRY(expect_rank(f, 0, 2));
  const int64_t samples = n.attr("sample_size", 1);
  if (samples < 0) return invalid_argument("attribute sample_size is {}, expected at least 0", samples);
  f.set(0, type, SymShape{f.has_rank(0) ? f.in(0).dim(0) : Dim(), Dim(samples)});
  return {};
}

// Uniform numbers in [low, high), or normal ones.
template <bool kNormal>
class RandomKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    if (kNormal) return std::unique_ptr<Kernel>(new RandomKernel(n, n.attr("mean", 0.0f), n.attr("scale", 1.0f)));
    const float low = n.attr("low", 0.0f);
    return std::unique_ptr<Kernel>(new RandomKernel(n, low, n.attr("high", 1.0f) - low));
  }

  Status run(KernelContext& ctx) const override {
    RandomStream stream = seeds_.next();
    const TensorView& y = ctx.out(0);
    return dispatch<kFloats.bits()>(y.dtype, [&]<class T>() {
      using C = Compute<T>;
      for (int64_t i = 0; i < y.count; ++i) {
        const C v = static_cast<C>(kNormal ? stream.normal() : stream.uniform());
        y.as<T>()[i] = static_cast<T>(v * static_cast<C>(factor_) + static_cast<C>(offset_));
      }
    });
  }

 private:
  RandomKernel(const ir::Node& n, float offset, float factor) : seeds_(n), offset_(offset), factor_(factor) {}
  SeedSource seeds_;
  float offset_, factor_;
};

// 1 with the probability that the input says.
class BernoulliKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new BernoulliKernel(n));
  }

  Status run(KernelContext& ctx) const override {
    RandomStream stream = seeds_.next();
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    constexpr DTypes kOut = kNumeric | DType::boolean;
    return dispatch<kFloats.bits()>(x.dtype, [&]<class P>() -> Status {
      return dispatch<kOut.bits()>(y.dtype, [&]<class T>() {
        const T one = [] {
          if constexpr (kIsHalf<T>)
            return T(1.0f);
          else
            return static_cast<T>(1);
        }();
        for (int64_t i = 0; i < y.count; ++i)
          y.as<T>()[i] = stream.uniform() < static_cast<double>(static_cast<Compute<P>>(x.as<P>()[i])) ? one : T();
      });
    });
  }

 private:
  explicit BernoulliKernel(const ir::Node& n) : seeds_(n) {}
  SeedSource seeds_;
};

// Classes drawn by unnormalized log probabilities.
class MultinomialKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new MultinomialKernel(n));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    ctx.request_scratch(static_cast<size_t>(ctx.in(0).dim(1)) * sizeof(double));
    return std::unique_ptr<KernelState>();
  }

  Status run(KernelContext& ctx) const override {
    RandomStream stream = seeds_.next();
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    const int64_t classes = x.dim(1), samples = y.dim(1);
    if (y.count == 0) return {};
    if (classes == 0) return invalid_argument("there is no class to draw from");
    auto* sums = reinterpret_cast<double*>(ctx.scratch());
    return dispatch<kFloats.bits()>(x.dtype, [&]<class P>() -> Status {
      return dispatch<(DType::i32 | DType::i64).bits()>(y.dtype, [&]<class T>() {
        for (int64_t b = 0; b < x.dim(0); ++b) {
          const P* logits = x.as<P>() + b * classes;
          double most = -std::numeric_limits<double>::infinity(), sum = 0;
          for (int64_t c = 0; c < classes; ++c)
            most = std::max(most, static_cast<double>(static_cast<Compute<P>>(logits[c])));
          for (int64_t c = 0; c < classes; ++c)
            sums[c] = sum += std::exp(static_cast<double>(static_cast<Compute<P>>(logits[c])) - most);
          for (int64_t s = 0; s < samples; ++s) {
            const int64_t at = std::upper_bound(sums, sums + classes, stream.uniform() * sum) - sums;
            y.as<T>()[b * samples + s] = static_cast<T>(std::min(at, classes - 1));
          }
        }
      });
    });
  }

 private:
  explicit MultinomialKernel(const ir::Node& n) : seeds_(n) {}
  SeedSource seeds_;
};

constexpr OpDef kDefs[] = {
    {"RandomUniform", infer_shape, cpu<RandomKernel<false>>(kFloats, -1), {.reviewed = 22, .random = true}},
    {"RandomNormal", infer_shape, cpu<RandomKernel<true>>(kFloats, -1), {.reviewed = 22, .random = true}},
    {"RandomUniformLike", infer_like, cpu<RandomKernel<false>>(kFloats, -1), {.reviewed = 22, .random = true}},
    {"RandomNormalLike", infer_like, cpu<RandomKernel<true>>(kFloats, -1), {.reviewed = 22, .random = true}},
    {"Bernoulli", infer_like, cpu<BernoulliKernel>(kFloats), {.reviewed = 22, .random = true}},
    {"Multinomial", infer_multinomial, cpu<MultinomialKernel>(kFloats), {.reviewed = 22, .random = true}},
};

}  // namespace

TRUNNION_OPS(random, kDefs);
}  // namespace trunnion::ops
