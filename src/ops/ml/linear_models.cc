// LinearRegressor and LinearClassifier (ai.onnx.ml 1): X W^T + b, and what follows it.
#include "kernels/gemm.h"
#include "ops/ml/scores_detail.h"
#include "ops/tiles.h"

namespace trunnion::ops {
namespace {

bool is_classifier(const ir::Node& n) { return n.op_type() == "LinearClassifier"; }

struct Params {
  std::vector<float> weights, intercepts;
  int64_t outputs = 1, features = 0;
  PostTransform transform = PostTransform::none;
  ClassLabels labels;
  bool second_class = false;  // two labels, one set of weights: the other score follows from the one
};

Result<Params> read(const ir::Node& n) {
  Params p;
  p.weights = n.floats("coefficients");
  p.intercepts = n.floats("intercepts");
  TRN_ASSIGN(p.transform, post_transform(n.attr("post_transform", "NONE")));
  if (is_classifier(n)) {
    TRN_ASSIGN(p.labels, read_labels(n, "classlabels_ints", "classlabels_strings"));
    p.outputs = p.intercepts.empty() ? p.labels.count() : static_cast<int64_t>(p.intercepts.size());
    p.second_class = p.outputs == 1 && p.labels.count() == 2;
    if (!p.second_class && p.outputs != p.labels.count() && p.outputs != 1)
      return invalid_argument("there are {} intercepts and {} class labels", p.outputs, p.labels.count());
  } else {
    p.outputs = n.attr("targets", 1);
    if (p.outputs < 1) return invalid_argument("attribute targets is {}", p.outputs);
    if (!p.intercepts.empty() && static_cast<int64_t>(p.intercepts.size()) != p.outputs)
      return invalid_argument("attribute intercepts has {} entries, there are {} targets", p.intercepts.size(),
                              p.outputs);
  }
  const auto count = static_cast<int64_t>(p.weights.size());
  if (count % p.outputs != 0)
    return invalid_argument("attribute coefficients has {} entries: no multiple of {}", count, p.outputs);
  p.features = count / p.outputs;
  // Exported models may carry more coefficients than the declared input has features; the rows are as long as the
  // input's, and the surplus is not read (ONNX Runtime reads them so).
  if (const ir::Fact& x = n.input(0)->fact; x.has_rank() && x.rank() > 0 && x.shape().back().is_int()) {
    const int64_t columns = x.shape().back().value();
    if (columns > 0 && columns < p.features) p.features = columns;
  }
  return p;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Rows x, infer_rows(f));
  TRN_ASSIGN(const Params p, read(n));
  if (x.columns.is_int() && x.columns.value() != p.features)
    return invalid_argument("input 0 has {} features, attribute coefficients is for {}", x.columns.value(), p.features);
  if (!is_classifier(n)) {
    f.set(0, DType::f32, SymShape{x.rows, Dim(p.outputs)});
    return {};
  }
  f.set(0, p.labels.dtype(), SymShape{x.rows});
  f.set(1, DType::f32, SymShape{x.rows, Dim(p.second_class ? 2 : p.outputs)});
  return {};
}

struct State final : KernelState {
  kernels::GemmGrid grid;
  size_t scratch_offset = 0, scratch_stride = 0;
};

class LinearModel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(Params p, read(n));
    std::unique_ptr<LinearModel> kernel(new LinearModel(std::move(p), is_classifier(n)));
    const Params& q = kernel->p_;
    const int64_t size[] = {kernels::gemm_packed_b_size(q.features, q.outputs)};
    TRN_ASSIGN(kernel->packed_, Tensor::allocate(DType::f32, size));
    kernels::gemm_pack_b(q.weights.data(), 1, q.features, q.features, q.outputs, 0,
                         kernels::gemm_panel_count(q.outputs), kernel->packed_.data<float>());
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    const int64_t rows = row_count(ctx.in(0));
    s->grid = kernels::gemm_grid(rows, p_.outputs, p_.features, ctx.threads());
    s->scratch_offset = (static_cast<size_t>(rows * p_.outputs) * sizeof(float) + 63) / 64 * 64;
    s->scratch_stride = (kernels::gemm_scratch_size(p_.outputs, p_.features) + 63) / 64 * 64;
    ctx.request_scratch(s->scratch_offset +
                        s->scratch_stride * static_cast<size_t>(tile_slots(s->grid.count(), ctx.threads())));
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const TensorView& x = ctx.in(0);
    const int64_t rows = row_count(x);
    if (rows == 0) return {};
    Tensor holder;
    TRN_ASSIGN(const float* from, as_floats(ctx, x, holder));
    auto* scores = reinterpret_cast<float*>(ctx.scratch());
    kernels::GemmArgs g;
    g.m = rows;
    g.n = p_.outputs;
    g.k = p_.features;
    g.a = from;
    g.a_row_stride = p_.features;
    g.packed_b = packed_.data<float>();
    g.c = scores;
    g.ldc = p_.outputs;
    if (!p_.intercepts.empty()) g.epilogue.bias_col = p_.intercepts.data();
    for_each_tile(ctx, s.grid.count(), ctx.scratch() + s.scratch_offset, s.scratch_stride,
                  [&](int64_t i, std::byte* own) { kernels::gemm_tile(g, s.grid, i, own); });
    const int z = classifier_ ? 1 : 0;
    ctx.parallel_for(rows, 512, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        if (classifier_ && ctx.has_out(0)) label(scores + r * p_.outputs, ctx.out(0), r);
        if (ctx.has_out(z))
          finish(scores + r * p_.outputs, ctx.out(z).as<float>() + r * (p_.second_class ? 2 : p_.outputs));
      }
    });
    return {};
  }

 private:
  LinearModel(Params p, bool classifier) : p_(std::move(p)), classifier_(classifier) {}

  void label(const float* scores, const TensorView& y, int64_t row) const {
    int64_t best = std::max_element(scores, scores + p_.outputs) - scores;
    if (p_.outputs == 1) best = scores[0] > 0 ? 1 : 0;
    if (p_.labels.is_text())
      y.as<std::string>()[row] = p_.labels.strings[static_cast<size_t>(std::min(best, p_.labels.count() - 1))];
    else
      y.as<int64_t>()[row] =
          best < p_.labels.count() && p_.labels.count() > 1 ? p_.labels.ints[static_cast<size_t>(best)] : best;
  }

  void finish(const float* scores, float* z) const {
    if (!p_.second_class) {
      std::copy_n(scores, p_.outputs, z);
      if (p_.outputs > 1 || p_.transform == PostTransform::probit || p_.transform == PostTransform::logistic)
        transform_scores(p_.transform, z, p_.outputs);
      return;
    }
    const bool complement = p_.transform == PostTransform::none || p_.transform == PostTransform::probit;
    z[0] = complement ? 1 - scores[0] : -scores[0];
    z[1] = scores[0];
    transform_scores(p_.transform, z, 2);
  }

  Params p_;
  bool classifier_;
  Tensor packed_;
};

constexpr DTypes kTypes = DType::f32 | DType::f64 | DType::i64 | DType::i32;
constexpr OpDef kDefs[] = {
    {"LinearRegressor", infer, cpu<LinearModel>(kTypes), {.reviewed = 1}, "ai.onnx.ml"},
    {"LinearClassifier", infer, cpu<LinearModel>(kTypes), {.reviewed = 1}, "ai.onnx.ml"},
};

}  // namespace

TRUNNION_OPS(linear_models, kDefs);

}  // namespace trunnion::ops
