// OneHotEncoder (ai.onnx.ml 1): ones where the categories stand; numbers are cast to integers first.
#include <algorithm>

#include "ops/ml/lookup_detail.h"

namespace trunnion::ops {
namespace {

Result<Tensor> categories(const ir::Node& n) {
  const auto ints = n.ints("cats_int64s");
  const auto texts = n.strings("cats_strings");
  if (ints.empty() == texts.empty())
    return invalid_argument("exactly one of the attributes cats_int64s and cats_strings must have entries");
  return ints.empty() ? vector_of(texts) : vector_of(ints);
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Tensor cats, categories(n));
  f.set(0, DType::f32);
  if (!f.has_rank(0)) return {};
  SymShape y = f.in(0).shape();
  y.push_back(cats.count());
  f.set(0, DType::f32, std::move(y));
  return {};
}

class OneHotEncoder final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const Tensor cats, categories(n));
    TRN_ASSIGN(Lookup lookup, Lookup::make(cats));
    return std::unique_ptr<Kernel>(new OneHotEncoder(std::move(lookup), cats.count(), n.attr("zeros", 1) != 0));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    float* y = ctx.out(0).as<float>();
    std::vector<int64_t> position(static_cast<size_t>(x.count));
    TRN_TRY(lookup_.find(x, 0, x.count, position.data(), true));
    if (!zeros_)
      if (const auto it = std::find(position.begin(), position.end(), -1); it != position.end())
        return invalid_argument("element {} of input 0 is in no category, and attribute zeros is 0",
                                it - position.begin());
    ctx.parallel_for(x.count, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, count_)),
                     [&](int64_t begin, int64_t end) {
                       std::fill(y + begin * count_, y + end * count_, 0.0f);
                       for (int64_t i = begin; i < end; ++i)
                         if (const int64_t p = position[static_cast<size_t>(i)]; p >= 0) y[i * count_ + p] = 1;
                     });
    return {};
  }

 private:
  OneHotEncoder(Lookup lookup, int64_t count, bool zeros) : lookup_(std::move(lookup)), count_(count), zeros_(zeros) {}
  Lookup lookup_;
  int64_t count_;
  bool zeros_;
};

constexpr OpDef kDefs[] = {
    {"OneHotEncoder",
     infer,
     cpu<OneHotEncoder>(DType::string | DType::i64 | DType::i32 | DType::f32 | DType::f64),
     {.reviewed = 1},
     "ai.onnx.ml"},
};

}  // namespace

TRUNNION_OPS(one_hot_encoder, kDefs);

}  // namespace trunnion::ops
