// SVMRegressor (ai.onnx.ml 1): a weighted sum of kernels with the support vectors, or its sign (one-class).
#include "ops/ml/svm_detail.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node&, ir::Facts& f) {
  TRN_ASSIGN(const Rows x, infer_rows(f));
  f.set(0, DType::f32, SymShape{x.rows, Dim(1)});
  return {};
}

class SvmRegressor final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    std::unique_ptr<SvmRegressor> k(new SvmRegressor);
    TRN_ASSIGN(k->kernel_, read_svm_kernel(n));
    TRN_ASSIGN(k->transform_, post_transform(n.attr("post_transform", "NONE")));
    k->coefficients_ = n.floats("coefficients");
    k->vectors_ = n.floats("support_vectors");
    k->count_ = n.attr("n_supports", 0);
    k->one_class_ = n.attr("one_class", 0) != 0;
    const auto rho = n.floats("rho");
    if (rho.size() != 1) return invalid_argument("attribute rho has {} entries, 1 is needed", rho.size());
    k->rho_ = rho[0];
    const auto vectors = static_cast<int64_t>(k->vectors_.size()),
               coefficients = static_cast<int64_t>(k->coefficients_.size());
    if (k->count_ > 0) {
      if (vectors % k->count_ != 0 || coefficients != k->count_)
        return invalid_argument("there are {} values of support vectors and {} coefficients for n_supports = {}",
                                vectors, coefficients, k->count_);
      k->features_ = vectors / k->count_;
    } else {  // one linear function
      k->vectors_ = k->coefficients_;
      k->coefficients_ = {1};
      k->kernel_ = {};
      k->features_ = coefficients;
      k->count_ = 1;
    }
    return std::unique_ptr<Kernel>(std::move(k));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    if (column_count(ctx.in(0)) != features_)
      return invalid_argument("input 0 has {} features, the support vectors have {}", column_count(ctx.in(0)),
                              features_);
    return std::unique_ptr<KernelState>();
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    if (x.count == 0 && row_count(x) == 0) return {};
    Tensor holder;
    TRN_ASSIGN(const float* from, as_floats(ctx, x, holder));
    float* y = ctx.out(0).as<float>();
    ctx.parallel_for(row_count(x), std::max<int64_t>(1, 20'000 / std::max<int64_t>(1, count_ * features_)),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t r = begin; r < end; ++r) {
                         double sum = rho_;
                         for (int64_t j = 0; j < count_; ++j)
                           sum += static_cast<double>(coefficients_[static_cast<size_t>(j)]) *
                                  kernel_(from + r * features_, vectors_.data() + j * features_, features_);
                         y[r] = static_cast<float>(sum);
                         if (one_class_)
                           y[r] = sum > 0 ? 1.0f : -1.0f;
                         else if (transform_ == PostTransform::logistic || transform_ == PostTransform::probit)
                           transform_scores(transform_, y + r, 1);
                       }
                     });
    return {};
  }

 private:
  SvmRegressor() = default;
  SvmKernel kernel_;
  PostTransform transform_ = PostTransform::none;
  std::vector<float> coefficients_, vectors_;
  int64_t count_ = 0, features_ = 0;
  bool one_class_ = false;
  float rho_ = 0;
};

constexpr OpDef kDefs[] = {
    {"SVMRegressor",
     infer,
     cpu<SvmRegressor>(DType::f32 | DType::f64 | DType::i64 | DType::i32),
     {.reviewed = 1},
     "ai.onnx.ml"},
};

}  // namespace

TRUNNION_OPS(svm_regressor, kDefs);

}  // namespace trunnion::ops
