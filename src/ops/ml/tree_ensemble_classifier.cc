// TreeEnsembleClassifier (ai.onnx.ml 1, 3): scores of classes by votes of trees, and the best class.
#include "ops/ml/tree_detail.h"

namespace trunnion::ops {
namespace {

Result<ClassLabels> labels_of(const ir::Node& n) { return read_labels(n, "classlabels_int64s", "classlabels_strings"); }

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Rows x, infer_rows(f));
  TRN_ASSIGN(const ClassLabels labels, labels_of(n));
  f.set(0, labels.dtype(), SymShape{x.rows});
  f.set(1, DType::f32, SymShape{x.rows, Dim(labels.count())});
  return {};
}

// How the votes become scores and a class.
struct Rules {
  ClassLabels labels;
  PostTransform transform = PostTransform::none;
  std::vector<float> base;
  int only_class = -1;        // two classes, and all votes are for this one
  bool all_positive = false;  // no vote is below 0

  // scores: one for each class. Returns the class.
  int64_t finish(float* s, const uint8_t* voted, float* z) const {
    const int64_t n = labels.count();
    if (only_class >= 0) return finish_binary(s, z);
    const bool based = static_cast<int64_t>(base.size()) == n;
    int64_t best = -1;
    for (int64_t i = 0; i < n; ++i) {
      if (based) s[i] += base[static_cast<size_t>(i)];
      if ((based || !voted || voted[i]) && (best < 0 || s[i] > s[best])) best = i;
    }
    if (n == 1) {
      transform_one_score(transform, s[0], SecondClass::none, z);
      return s[0] > 0 ? 1 : 0;
    }
    std::copy_n(s, n, z);
    transform_scores(transform, z, n);
    return std::max<int64_t>(best, 0);
  }

  // The other class's score follows from the one that there is.
  int64_t finish_binary(const float* s, float* z) const {
    const float score = s[only_class] + (base.size() == 1 ? base[0] : 0.0f);
    if (only_class == 1) {
      z[0] = 0;
      z[1] = score;
      transform_scores(transform, z, 2);
    } else if (transform == PostTransform::probit) {
      z[0] = probit(1 - score);
      z[1] = probit(score);
    } else {
      const bool complement = all_positive && transform != PostTransform::logistic;
      transform_one_score(transform, score, complement ? SecondClass::complement : SecondClass::negative, z);
    }
    return score > (all_positive ? 0.5f : 0.0f) ? 1 : 0;
  }
};

template <class T>
class TreeClassifier final : public Kernel {
 public:
  TreeClassifier(TreeEngine<T> engine, Rules rules) : engine_(std::move(engine)), rules_(std::move(rules)) {}

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    TRN_TRY(engine_.check(column_count(ctx.in(0))));
    return std::unique_ptr<KernelState>();
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    const int64_t rows = row_count(x), n = rules_.labels.count();
    if (rows == 0) return {};
    Tensor holder;
    const T* from;
    if constexpr (std::is_same_v<T, float>) {
      TRN_ASSIGN(from, as_floats(ctx, x, holder));
    } else {
      TRN_ASSIGN(from, as_doubles(ctx, x, holder));
    }
    engine_.run(ctx, from, rows, column_count(x), [&](int64_t row, int64_t count, T* scores, const uint8_t* voted) {
      std::vector<float> own(static_cast<size_t>(2 * n));
      for (int64_t r = 0; r < count; ++r) {
        for (int64_t i = 0; i < n; ++i) own[static_cast<size_t>(i)] = static_cast<float>(scores[r * n + i]);
        float* z = ctx.has_out(1) ? ctx.out(1).as<float>() + (row + r) * n : own.data() + n;
        const int64_t best = rules_.finish(own.data(), voted ? voted + r * n : nullptr, z);
        if (!ctx.has_out(0)) continue;
        if (rules_.labels.is_text())
          ctx.out(0).as<std::string>()[row + r] = rules_.labels.strings[static_cast<size_t>(std::min(best, n - 1))];
        else
          ctx.out(0).as<int64_t>()[row + r] = n == 1 ? best : rules_.labels.ints[static_cast<size_t>(best)];
      }
    });
    return {};
  }

 private:
  TreeEngine<T> engine_;
  Rules rules_;
};

template <class T>
Result<std::unique_ptr<Kernel>> make_typed(const ir::Node& n) {
  Rules rules;
  TRN_ASSIGN(rules.labels, labels_of(n));
  TRN_ASSIGN(rules.transform, post_transform(n.attr("post_transform", "NONE")));
  TRN_ASSIGN(const auto base, read_tree_values(n, "base_values"));
  rules.base.assign(base.begin(), base.end());
  const int64_t classes = rules.labels.count();
  if (!base.empty() && base.size() != 1 && static_cast<int64_t>(base.size()) != classes)
    return invalid_argument("attribute base_values has {} entries, there are {} classes", base.size(), classes);
  const auto make = [&]() -> Result<Tensor> {
    TRN_ASSIGN(TreeSpec spec, read_trees(n, "class"));
    spec.targets = classes;
    return TreeEngine<T>::image_of(spec);
  };
  TRN_ASSIGN(Tensor image, pack_lists(n, sizeof(T) == 8 ? "trees f64" : "trees f32", tree_lists(), make));
  TRN_ASSIGN(auto engine, TreeEngine<T>::open(std::move(image)));
  rules.all_positive = engine.notes().all_positive;
  if (classes == 2 && base.size() != 2) rules.only_class = engine.notes().only_target;
  return std::unique_ptr<Kernel>(new TreeClassifier<T>(std::move(engine), std::move(rules)));
}

struct Maker {
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return n.input(0)->fact.dtype() == DType::f64 ? make_typed<double>(n) : make_typed<float>(n);
  }
};

constexpr OpDef kDefs[] = {
    {"TreeEnsembleClassifier",
     infer,
     cpu<Maker>(DType::f32 | DType::f64 | DType::i64 | DType::i32),
     {.reviewed = 5},
     "ai.onnx.ml"},
};

}  // namespace

TRUNNION_OPS(tree_ensemble_classifier, kDefs);

}  // namespace trunnion::ops
