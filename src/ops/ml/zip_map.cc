// ZipMap (ai.onnx.ml 1): every row of scores becomes a map from class labels to scores.
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
    return std::unique_ptr<Kernel>(new ZipMap(labels.is_text() ? vector_of(labels.strings) : vector_of(labels.ints)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    const int64_t n = keys_.count(), rows = row_count(x);
    if (column_count(x) != n)
      return invalid_argument("input 0 has {} columns, there are {} class labels", column_count(x), n);
    Sequence s;
    s.element = Type::map(keys_.dtype(), Type::tensor(DType::f32));
    s.items.reserve(static_cast<size_t>(rows));
    // One tensor for all: the maps' values are its rows.
    const int64_t size[] = {x.count}, dims[] = {n};
    TRN_ASSIGN(const Tensor all, Tensor::allocate(DType::f32, size));
    std::copy_n(x.as<const float>(), x.count, all.data<float>());
    for (int64_t r = 0; r < rows; ++r)
      s.items.emplace_back(Map{keys_, Tensor::borrow(DType::f32, dims, all.data<float>() + r * n, all.keep_alive())});
    ctx.set_output(0, Value(std::move(s)));
    return {};
  }

 private:
  explicit ZipMap(Tensor keys) : keys_(std::move(keys)) {}
  Tensor keys_;
};

constexpr OpDef kDefs[] = {{"ZipMap", infer, cpu<ZipMap>(kF32), {.reviewed = 1, .dynamic = true}, "ai.onnx.ml"}};

}  // namespace

TRUNNION_OPS(zip_map, kDefs);

}  // namespace trunnion::ops
