// Binarizer, Scaler, Imputer, Normalizer and FeatureVectorizer (ai.onnx.ml 1): features one by one, row by row.
#include <cmath>

#include "ops/dispatch.h"
#include "ops/elementwise.h"
#include "ops/ml/scores_detail.h"

namespace trunnion::ops {
namespace {

constexpr DTypes kTypes = DType::f32 | DType::f64 | DType::i64 | DType::i32;
constexpr int64_t kGrain = 1 << 14;

Status infer_floats(const ir::Node&, ir::Facts& f) {
  f.set(0, DType::f32, f.in(0).type.shape);
  return {};
}

class Binarizer final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new Binarizer(n.attr("threshold", 0.0f)));
  }
  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    return dispatch<kTypes.bits()>(x.dtype, [&]<class T>() {
      const T* from = x.as<const T>();
      T* to = ctx.out(0).as<T>();
      ctx.parallel_for(x.count, kGrain, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; ++i)
          to[i] = static_cast<double>(from[i]) > static_cast<double>(threshold_) ? T{1} : T{0};
      });
    });
  }

 private:
  explicit Binarizer(float threshold) : threshold_(threshold) {}
  float threshold_;
};

// How an attribute list with one entry, or one for each column, is read at element i.
template <class T>
T by_column(const std::vector<T>& v, int64_t i) {
  return v[v.size() == 1 ? 0 : static_cast<size_t>(i) % v.size()];
}
Status check_columns(size_t count, const TensorView& x, const char* name) {
  const int64_t columns = x.rank == 0 ? 1 : x.dim(x.rank - 1);
  if (count == 1 || static_cast<int64_t>(count) == columns) return {};
  return invalid_argument("attribute {} has {} entries; it must have 1, or {} as input 0 has columns", name, count,
                          columns);
}

class Scaler final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    auto offset = n.floats("offset"), scale = n.floats("scale");
    if (offset.empty()) offset = {0};
    if (scale.empty()) scale = {1};
    return std::unique_ptr<Kernel>(new Scaler(std::move(offset), std::move(scale)));
  }
  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    TRN_TRY(check_columns(offset_.size(), ctx.in(0), "offset"));
    TRN_TRY(check_columns(scale_.size(), ctx.in(0), "scale"));
    return std::unique_ptr<KernelState>();
  }
  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    float* to = ctx.out(0).as<float>();
    return dispatch<kTypes.bits()>(x.dtype, [&]<class T>() {
      const T* from = x.as<const T>();
      using Wide = std::conditional_t<sizeof(T) == 8, double, float>;
      ctx.parallel_for(x.count, kGrain, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; ++i)
          to[i] = static_cast<float>((static_cast<Wide>(from[i]) - static_cast<Wide>(by_column(offset_, i))) *
                                     static_cast<Wide>(by_column(scale_, i)));
      });
    });
  }

 private:
  Scaler(std::vector<float> offset, std::vector<float> scale) : offset_(std::move(offset)), scale_(std::move(scale)) {}
  std::vector<float> offset_, scale_;
};

class Imputer final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    std::unique_ptr<Imputer> k(new Imputer);
    k->floats_ = n.floats("imputed_value_floats");
    k->ints_ = n.ints("imputed_value_int64s");
    k->replaced_float_ = n.attr("replaced_value_float", 0.0f);
    k->replaced_int_ = n.attr("replaced_value_int64", 0);
    if (k->floats_.empty() == k->ints_.empty())
      return invalid_argument(
          "exactly one of the attributes imputed_value_floats and imputed_value_int64s must have entries");
    const DType type = n.input(0)->fact.dtype();
    if (is_float(type) != k->ints_.empty())
      return invalid_argument("input 0 has type {}, but the imputed values are {}", dtype_name(type),
                              k->ints_.empty() ? "floats" : "integers");
    return std::unique_ptr<Kernel>(std::move(k));
  }
  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    TRN_TRY(check_columns(std::max(floats_.size(), ints_.size()), ctx.in(0),
                          ints_.empty() ? "imputed_value_floats" : "imputed_value_int64s"));
    return std::unique_ptr<KernelState>();
  }
  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    return dispatch<kTypes.bits()>(x.dtype, [&]<class T>() {
      const T* from = x.as<const T>();
      T* to = ctx.out(0).as<T>();
      ctx.parallel_for(x.count, kGrain, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; ++i) {
          if constexpr (std::is_floating_point_v<T>) {
            const bool hit =
                std::isnan(replaced_float_) ? std::isnan(from[i]) : from[i] == static_cast<T>(replaced_float_);
            to[i] = hit ? static_cast<T>(by_column(floats_, i)) : from[i];
          } else {
            to[i] = from[i] == static_cast<T>(replaced_int_) ? static_cast<T>(by_column(ints_, i)) : from[i];
          }
        }
      });
    });
  }

 private:
  Imputer() = default;
  std::vector<float> floats_;
  std::vector<int64_t> ints_;
  float replaced_float_ = 0;
  int64_t replaced_int_ = 0;
};

class Normalizer final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    const std::string norm = n.attr("norm", "MAX");
    if (norm != "MAX" && norm != "L1" && norm != "L2")
      return invalid_argument("attribute norm is '{}', expected MAX, L1 or L2", norm);
    return std::unique_ptr<Kernel>(new Normalizer(norm));
  }
  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    const int64_t columns = column_count(x), rows = row_count(x);
    if (x.count == 0) return {};
    float* to = ctx.out(0).as<float>();
    return dispatch<kTypes.bits()>(x.dtype, [&]<class T>() {
      const T* from = x.as<const T>();
      ctx.parallel_for(rows, std::max<int64_t>(1, kGrain / columns), [&](int64_t b, int64_t e) {
        for (int64_t r = b; r < e; ++r) row(from + r * columns, to + r * columns, columns);
      });
    });
  }

 private:
  explicit Normalizer(std::string norm) : norm_(std::move(norm)) {}

  template <class T>
  void row(const T* x, float* y, int64_t n) const {
    double divisor = 0;
    if (norm_ == "MAX") divisor = static_cast<double>(x[0]);
    for (int64_t i = 0; i < n; ++i) {
      const auto v = static_cast<double>(x[i]);
      if (norm_ == "MAX")
        divisor = std::max(divisor, v);
      else
        divisor += norm_ == "L1" ? std::fabs(v) : v * v;
    }
    for (int64_t i = 0; i < n; ++i) {
      const auto v = static_cast<double>(x[i]);
      if (divisor == 0)
        y[i] = static_cast<float>(v);
      else if (norm_ == "L2")
        y[i] = static_cast<float>(std::copysign(std::sqrt(v * v / divisor), v));
      else
        y[i] = static_cast<float>(v / divisor);
    }
  }
  std::string norm_;
};

Status infer_normalizer(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(infer_rows(f));
  return infer_floats(n, f);
}

Status infer_vectorizer(const ir::Node& n, ir::Facts& f) {
  const auto sizes = n.ints("inputdimensions");
  if (!sizes.empty() && static_cast<int>(sizes.size()) != f.inputs())
    return invalid_argument("attribute inputdimensions has {} entries, there are {} inputs", sizes.size(), f.inputs());
  Dim rows, columns(0);
  for (int i = 0; i < f.inputs(); ++i) {
    TRN_ASSIGN(const Rows x, infer_rows(f, i));
    if (rows.is_unknown()) rows = x.rows;
    if (rows.is_int() && x.rows.is_int() && !(rows == x.rows))
      return invalid_argument("input 0 has {} rows, input {} has {}", rows.value(), i, x.rows.value());
    if (!sizes.empty() && sizes[static_cast<size_t>(i)] < 0)
      return invalid_argument("attribute inputdimensions has an entry {}", sizes[static_cast<size_t>(i)]);
    columns = columns + (sizes.empty() ? x.columns : Dim(sizes[static_cast<size_t>(i)]));
  }
  f.set(0, DType::f32, SymShape{rows, columns});
  return {};
}

// Each input gives as many columns as inputdimensions says: cut, or filled up with zeros.
class FeatureVectorizer final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new FeatureVectorizer(n.ints("inputdimensions")));
  }
  Status run(KernelContext& ctx) const override {
    const TensorView& y = ctx.out(0);
    const int64_t width = y.dim(1);
    int64_t at = 0;
    for (int i = 0; i < ctx.inputs(); ++i) {
      const TensorView& x = ctx.in(i);
      const int64_t columns = column_count(x), rows = std::min(row_count(x), y.dim(0)),
                    take = sizes_.empty() ? columns : sizes_[static_cast<size_t>(i)];
      TRN_TRY(dispatch<kTypes.bits()>(x.dtype, [&]<class T>() {
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < take; ++c)
            y.as<float>()[r * width + at + c] =
                c < columns ? static_cast<float>(x.as<const T>()[r * columns + c]) : 0.0f;
      }));
      at += take;
    }
    return {};
  }

 private:
  explicit FeatureVectorizer(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {}
  std::vector<int64_t> sizes_;
};

constexpr OpDef kDefs[] = {
    {"Binarizer", infer_elementwise, cpu<Binarizer>(kTypes), {.reviewed = 1, .in_place = {{0, 0}}}, "ai.onnx.ml"},
    {"Scaler", infer_floats, cpu<Scaler>(kTypes), {.reviewed = 1}, "ai.onnx.ml"},
    {"Imputer", infer_elementwise, cpu<Imputer>(kTypes), {.reviewed = 1, .in_place = {{0, 0}}}, "ai.onnx.ml"},
    {"Normalizer", infer_normalizer, cpu<Normalizer>(kTypes), {.reviewed = 1}, "ai.onnx.ml"},
    {"FeatureVectorizer", infer_vectorizer, cpu<FeatureVectorizer>(kTypes), {.reviewed = 1}, "ai.onnx.ml"},
};

}  // namespace

TRUNNION_OPS(features, kDefs);

}  // namespace trunnion::ops
