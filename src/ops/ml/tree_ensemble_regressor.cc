// TreeEnsembleRegressor (ai.onnx.ml 1, 3) and TreeEnsemble (ai.onnx.ml 5): sums (averages, ...) of what the leaves say.
#include "kernels/convert.h"
#include "ops/dispatch.h"
#include "ops/half_adapter.h"
#include "ops/ml/tree_detail.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

bool is_ensemble(const ir::Node& n) { return n.op_type() == "TreeEnsemble"; }

Result<TreeSpec> read(const ir::Node& n) {
  if (is_ensemble(n)) return read_tree_ensemble(n);
  TRN_ASSIGN(TreeSpec s, read_trees(n, "target"));
  s.targets = n.attr("n_targets", 1);
  const std::string name = n.attr("aggregate_function", "SUM");
  constexpr std::string_view kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const auto it = std::find(std::begin(kNames), std::end(kNames), name);
  if (it == std::end(kNames))
    return invalid_argument("attribute aggregate_function is '{}', expected AVERAGE, SUM, MIN or MAX", name);
  s.aggregate = static_cast<TreeAggregate>(it - std::begin(kNames));
  // With one target the first vote of a leaf is its value: exporters of decision paths repeat it once for each class.
  if (s.targets == 1)
    for (TreeSpec::Node& node : s.nodes)
      if (node.mode == TreeMode::leaf) node.end = std::min(node.end, node.begin + 1);
  return s;
}

Result<PostTransform> read_transform(const ir::Node& n) {
  if (!is_ensemble(n)) return post_transform(n.attr("post_transform", "NONE"));
  constexpr PostTransform kCodes[] = {PostTransform::none, PostTransform::softmax, PostTransform::logistic,
                                      PostTransform::softmax_zero, PostTransform::probit};
  const int64_t code = n.attr("post_transform", 0);
  if (code < 0 || code > 4) return invalid_argument("attribute post_transform is {}, expected 0 to 4", code);
  return kCodes[code];
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Rows x, infer_rows(f));
  f.set(0, is_ensemble(n) ? f.dtype(0) : DType::f32, SymShape{x.rows, Dim(n.attr("n_targets", 1))});
  return {};
}

// T: float or double, the type of the sums. The output is f32 or f64.
template <class T>
class TreeRegressor final : public Kernel {
 public:
  TreeRegressor(TreeEngine<T> engine, PostTransform transform, std::vector<T> base)
      : engine_(std::move(engine)), transform_(transform), base_(std::move(base)) {}

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    TRN_TRY(engine_.check(column_count(ctx.in(0))));
    return std::unique_ptr<KernelState>();
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (y.count == 0) return {};
    Tensor holder;
    const T* from;
    if constexpr (std::is_same_v<T, float>) {
      TRN_ASSIGN(from, as_floats(ctx, x, holder));
    } else {
      TRN_ASSIGN(from, as_doubles(ctx, x, holder));
    }
    const int64_t targets = y.dim(1);
    engine_.run(ctx, from, row_count(x), column_count(x), [&](int64_t row, int64_t count, T* scores, const uint8_t*) {
      if (!base_.empty())
        for (int64_t i = 0; i < count * targets; ++i)
          scores[i] += base_[base_.size() == 1 ? 0 : static_cast<size_t>(i % targets)];
      if (transform_ != PostTransform::none) transform(scores, count, targets);
      for (int64_t i = 0; i < count * targets; ++i) {
        if (y.dtype == DType::f64)
          y.as<double>()[row * targets + i] = static_cast<double>(scores[i]);
        else
          y.as<float>()[row * targets + i] = static_cast<float>(scores[i]);
      }
    });
    return {};
  }

 private:
  void transform(T* scores, int64_t count, int64_t targets) const {
    // A single target has no other to be compared with: the softmaxes leave it alone.
    if (targets == 1 && (transform_ == PostTransform::softmax || transform_ == PostTransform::softmax_zero)) return;
    std::vector<float> row(static_cast<size_t>(targets));
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t t = 0; t < targets; ++t) row[static_cast<size_t>(t)] = static_cast<float>(scores[r * targets + t]);
      transform_scores(transform_, row.data(), targets);
      for (int64_t t = 0; t < targets; ++t) scores[r * targets + t] = static_cast<T>(row[static_cast<size_t>(t)]);
    }
  }

  TreeEngine<T> engine_;
  PostTransform transform_;
  std::vector<T> base_;
};

template <class T>
Result<std::unique_ptr<Kernel>> make_typed(const ir::Node& n) {
  TRN_ASSIGN(const PostTransform transform, read_transform(n));
  TRN_ASSIGN(const auto base, read_tree_values(n, "base_values"));
  const int64_t targets = n.attr("n_targets", 1);
  if (!base.empty() && base.size() != 1 && static_cast<int64_t>(base.size()) != targets)
    return invalid_argument("attribute base_values has {} entries, there are {} targets", base.size(), targets);
  const auto make = [&]() -> Result<Tensor> {
    TRN_ASSIGN(const TreeSpec spec, read(n));
    return TreeEngine<T>::image_of(spec);
  };
  TRN_ASSIGN(Tensor image, pack_lists(n, sizeof(T) == 8 ? "trees f64" : "trees f32", tree_lists(), make));
  TRN_ASSIGN(auto engine, TreeEngine<T>::open(std::move(image)));
  return std::unique_ptr<Kernel>(
      new TreeRegressor<T>(std::move(engine), transform, std::vector<T>(base.begin(), base.end())));
}

struct Maker {
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return n.input(0)->fact.dtype() == DType::f64 ? make_typed<double>(n) : make_typed<float>(n);
  }
};

constexpr OpDef kDefs[] = {
    {"TreeEnsembleRegressor",
     infer,
     cpu<Maker>(DType::f32 | DType::f64 | DType::i64 | DType::i32),
     {.reviewed = 5},
     "ai.onnx.ml"},
    {"TreeEnsemble", infer, cpu_widened<Maker>(DType::f32 | DType::f64 | DType::f16), {.reviewed = 5}, "ai.onnx.ml"},
};

}  // namespace

TRUNNION_OPS(tree_ensemble_regressor, kDefs);

}  // namespace trunnion::ops
