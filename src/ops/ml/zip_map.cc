// ZipMap (ai.onnx.ml 1): every row of scores becomes a map from class labels to scores. Maps are in the order of their
// keys, and of equal labels the first counts: programs read values by position.
#include <algorithm>
#include <numeric>

#include "ops/ml/lookup_detail.h"
#include "ops/ml/scores_detail.h"

namespace trunnion::ops {
namespace {

Result<ClassLabels> labels_of(const ir::Node& n) { return read_labels(n, "classlabels_int64s", "classlabels_strings"); }

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const ClassLabels labels, labels_of(n));
  TRN_TRY(infer_rows(f));
  f.out(0) = {};
  f.out(0).type = Type::sequence(Type::map(labels.dtype(), Type::tensor(DType::f32)));
  return {};
}

class ZipMap final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const ClassLabels labels, labels_of(n));
    std::unique_ptr<ZipMap> kernel(new ZipMap);
    kernel->labels_ = labels.count();
    kernel->keys_ = labels.is_text() ? kernel->sorted(labels.strings) : kernel->sorted(labels.ints);
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    const int64_t n = keys_.count(), rows = row_count(x);
    if (column_count(x) != labels_)
      return invalid_argument("input 0 has {} columns, there are {} class labels", column_count(x), labels_);
    Sequence s;
    s.element = Type::map(keys_.dtype(), Type::tensor(DType::f32));
    s.items.reserve(static_cast<size_t>(rows));
    // One tensor for all: the maps' values are its rows.
    const int64_t size[] = {rows * n}, dims[] = {n};
    TRN_ASSIGN(const Tensor all, Tensor::allocate(DType::f32, size));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < n; ++i)
        all.data<float>()[r * n + i] = x.as<const float>()[r * labels_ + column_[static_cast<size_t>(i)]];
    for (int64_t r = 0; r < rows; ++r)
      s.items.emplace_back(Map{keys_, Tensor::borrow(DType::f32, dims, all.data<float>() + r * n, all.keep_alive())});
    ctx.set_output(0, Value(std::move(s)));
    return {};
  }

 private:
  ZipMap() = default;

  // The keys in their order; column_ says where each stands.
  template <class T>
  Tensor sorted(const std::vector<T>& labels) {
    column_.resize(labels.size());
    std::iota(column_.begin(), column_.end(), 0);
    const auto label = [&](int64_t i) -> const T& { return labels[static_cast<size_t>(i)]; };
    std::stable_sort(column_.begin(), column_.end(), [&](int64_t a, int64_t b) { return label(a) < label(b); });
    column_.erase(
        std::unique(column_.begin(), column_.end(), [&](int64_t a, int64_t b) { return label(a) == label(b); }),
        column_.end());
    std::vector<T> keys;
    for (int64_t i : column_) keys.push_back(label(i));
    return vector_of(keys);
  }

  Tensor keys_;
  std::vector<int64_t> column_;  // of each key
  int64_t labels_ = 0;
};

constexpr OpDef kDefs[] = {{"ZipMap", infer, cpu<ZipMap>(kF32), {.reviewed = 1, .dynamic = true}, "ai.onnx.ml"}};

}  // namespace

TRUNNION_OPS(zip_map, kDefs);

}  // namespace trunnion::ops
