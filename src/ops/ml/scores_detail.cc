#include "ops/ml/scores_detail.h"

#include <cmath>
#include <limits>

#include "kernels/convert.h"
#include "ops/dispatch.h"

namespace trunnion::ops {
namespace {

// An approximation of the inverse error function with one constant (Winitzki's), which other engines use too.
float inverse_erf(float x) {
  const float sign = x < 0 ? -1.0f : 1.0f, log = std::log((1 - x) * (1 + x));
  const float v = 2 / (3.14159f * 0.147f) + 0.5f * log;
  return sign * std::sqrt(std::sqrt(v * v - log / 0.147f) - v);
}

void softmax(float* s, int64_t n, bool keep_zeros) {
  float highest = -std::numeric_limits<float>::max(), sum = 0;
  for (int64_t i = 0; i < n; ++i) highest = std::max(highest, s[i]);
  const float zero = std::exp(-highest);
  for (int64_t i = 0; i < n; ++i) {
    if (keep_zeros && std::fabs(s[i]) <= 1e-7f) {
      s[i] *= zero;
    } else {
      s[i] = std::exp(s[i] - highest);
      sum += s[i];
    }
  }
  for (int64_t i = 0; i < n; ++i) s[i] /= sum;
}

template <class T>
Result<const T*> as_type(KernelContext& ctx, const TensorView& x, Tensor& holder) {
  constexpr DType kType = DTypeOf<T>::value;
  if (x.dtype == kType) return static_cast<const T*>(x.as<T>());
  const auto fn = kernels::convert(elem(x.dtype), elem(kType));
  if (!fn) return not_implemented("input of type {}", dtype_name(x.dtype));
  TRN_ASSIGN(holder, Tensor::allocate(kType, x.shape()));
  const auto size = static_cast<int64_t>(size_of(x.dtype));
  ctx.parallel_for(x.count, 1 << 15, [&](int64_t b, int64_t e) {
    fn(x.as<const std::byte>() + b * size, holder.data<T>() + b, static_cast<size_t>(e - b), {});
  });
  return static_cast<const T*>(holder.data<T>());
}

}  // namespace

Result<PostTransform> post_transform(std::string_view name) {
  if (name == "NONE") return PostTransform::none;
  if (name == "SOFTMAX") return PostTransform::softmax;
  if (name == "LOGISTIC") return PostTransform::logistic;
  if (name == "SOFTMAX_ZERO") return PostTransform::softmax_zero;
  if (name == "PROBIT") return PostTransform::probit;
  return invalid_argument("attribute post_transform is '{}', expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT",
                          name);
}

float logistic(float x) {
  const float v = 1 / (1 + std::exp(-std::fabs(x)));
  return x < 0 ? 1 - v : v;
}

float probit(float x) { return 1.41421356f * inverse_erf(2 * x - 1); }

void transform_scores(PostTransform t, float* scores, int64_t n) {
  switch (t) {
    case PostTransform::none:
      return;
    case PostTransform::softmax:
      return softmax(scores, n, false);
    case PostTransform::softmax_zero:
      return softmax(scores, n, true);
    case PostTransform::logistic:
      for (int64_t i = 0; i < n; ++i) scores[i] = logistic(scores[i]);
      return;
    case PostTransform::probit:
      for (int64_t i = 0; i < n; ++i) scores[i] = probit(scores[i]);
      return;
  }
}

int transform_one_score(PostTransform t, float score, SecondClass second, float* z) {
  if (t == PostTransform::probit || second == SecondClass::none) {
    z[0] = t == PostTransform::probit ? probit(score) : score;
    return 1;
  }
  if (second == SecondClass::complement) {
    z[0] = 1 - score;
    z[1] = score;
  } else if (t == PostTransform::logistic) {
    z[0] = logistic(-score);
    z[1] = logistic(score);
  } else {
    z[0] = -score;
    z[1] = score;
  }
  return 2;
}

Result<ClassLabels> read_labels(const ir::Node& n, const char* ints, const char* strings) {
  ClassLabels l{n.ints(ints), n.strings(strings)};
  if (l.ints.empty() == l.strings.empty())
    return invalid_argument("exactly one of the attributes {} and {} must have entries", ints, strings);
  return l;
}

Result<Rows> infer_rows(const ir::Facts& f, int input) {
  if (!f.has_rank(input)) return Rows{};
  const SymShape& x = f.in(input).shape();
  if (x.size() == 1) return Rows{Dim(1), x[0]};
  if (x.size() == 2) return Rows{x[0], x[1]};
  return invalid_argument("input {} has rank {} (shape {}), it must be 1 or 2", input, x.size(), shape_text(x));
}

Result<const float*> as_floats(KernelContext& ctx, const TensorView& x, Tensor& holder) {
  return as_type<float>(ctx, x, holder);
}
Result<const double*> as_doubles(KernelContext& ctx, const TensorView& x, Tensor& holder) {
  return as_type<double>(ctx, x, holder);
}

}  // namespace trunnion::ops
