// SVMClassifier (ai.onnx.ml 1): one decision for each pair of classes, votes and (with prob_a, prob_b) probabilities;
// or one linear function for each class.
#include <algorithm>
#include <cmath>

#include "ops/ml/svm_detail.h"

namespace trunnion::ops {
namespace {

struct Params {
  ClassLabels labels;
  SvmKernel kernel;
  PostTransform transform = PostTransform::none;
  std::vector<float> coefficients, vectors, rho, prob_a, prob_b;
  std::vector<int64_t> per_class, first;  // support vectors
  int64_t classes = 0, count = 0, features = 0;
  bool linear() const { return count == 0; }
  int64_t pairs() const { return classes * (classes - 1) / 2; }
  // Scores of a row.
  int64_t scores() const {
    if (linear() || !prob_a.empty()) return classes;
    return classes <= 2 ? 2 : pairs();
  }
};

Result<Params> read(const ir::Node& n) {
  Params p;
  TRN_ASSIGN(p.labels, read_labels(n, "classlabels_ints", "classlabels_strings"));
  TRN_ASSIGN(p.kernel, read_svm_kernel(n));
  TRN_ASSIGN(p.transform, post_transform(n.attr("post_transform", "NONE")));
  p.coefficients = n.floats("coefficients");
  p.vectors = n.floats("support_vectors");
  p.rho = n.floats("rho");
  p.prob_a = n.floats("prob_a");
  p.prob_b = n.floats("prob_b");
  p.per_class = n.ints("vectors_per_class");
  p.classes = p.labels.count();
  if (p.classes > 65535) return invalid_argument("there are {} class labels", p.classes);
  for (int64_t c : p.per_class) {
    if (c < 0 || c > INT32_MAX) return invalid_argument("attribute vectors_per_class has an entry {}", c);
    p.first.push_back(p.count);
    p.count += c;
  }
  const auto vectors = static_cast<int64_t>(p.vectors.size()),
             coefficients = static_cast<int64_t>(p.coefficients.size());
  const auto have = [](const std::vector<float>& v) { return static_cast<int64_t>(v.size()); };
  if (p.linear()) {
    p.kernel = {};
    p.prob_a.clear();
    if (coefficients == 0 || coefficients % p.classes != 0 || p.rho.empty())
      return invalid_argument("there are {} coefficients and {} values of rho for {} classes", coefficients,
                              p.rho.size(), p.classes);
    p.features = coefficients / p.classes;
    return p;
  }
  if (have(p.rho) < p.pairs() || static_cast<int64_t>(p.per_class.size()) != p.classes || vectors % p.count != 0 ||
      coefficients < (p.classes - 1) * p.count)
    return invalid_argument(
        "{} classes and {} support vectors do not go with {} values of vectors, {} coefficients, {} values of rho and "
        "{} of vectors_per_class",
        p.classes, p.count, vectors, coefficients, p.rho.size(), p.per_class.size());
  if (!p.prob_a.empty() && (have(p.prob_a) < p.pairs() || have(p.prob_b) < p.pairs()))
    return invalid_argument("attributes prob_a and prob_b have {} and {} entries, {} are needed", p.prob_a.size(),
                            p.prob_b.size(), p.pairs());
  p.features = vectors / p.count;
  return p;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Rows x, infer_rows(f));
  TRN_ASSIGN(const Params p, read(n));
  if (x.columns.is_int() && x.columns.value() != p.features)
    return invalid_argument("input 0 has {} features, the model has {}", x.columns.value(), p.features);
  f.set(0, p.labels.dtype(), SymShape{x.rows});
  f.set(1, DType::f32, SymShape{x.rows, Dim(p.scores())});
  return {};
}

// Probabilities of k classes from those of each pair, r[i * k + j] = P(i | i or j): the second method of Wu, Lin and
// Weng (2004), an iteration that solves for the minimum of a quadratic form.
void couple(int64_t k, const std::vector<float>& r, float* p) {
  const auto at = [k](int64_t i, int64_t j) { return static_cast<size_t>(i * k + j); };
  std::vector<float> q(static_cast<size_t>(k * k), 0.0f), qp(static_cast<size_t>(k));
  for (int64_t i = 0; i < k; ++i) {
    p[i] = 1.0f / static_cast<float>(k);
    for (int64_t j = 0; j < k; ++j) {
      if (i == j) continue;
      q[at(i, i)] += r[at(j, i)] * r[at(j, i)];
      q[at(i, j)] = -r[at(j, i)] * r[at(i, j)];
    }
  }
  const float close = 0.005f / static_cast<float>(k);
  for (int loop = 0; loop < 100; ++loop) {
    float total = 0, worst = 0;
    for (int64_t i = 0; i < k; ++i) {
      float sum = 0;
      for (int64_t j = 0; j < k; ++j) sum += q[at(i, j)] * p[j];
      qp[static_cast<size_t>(i)] = sum;
      total += p[i] * sum;
    }
    for (float v : qp) worst = std::max(worst, std::fabs(v - total));
    if (worst < close) return;
    for (int64_t i = 0; i < k; ++i) {
      const float d = (total - qp[static_cast<size_t>(i)]) / q[at(i, i)];
      p[i] += d;
      total = (total + d * (d * q[at(i, i)] + 2 * qp[static_cast<size_t>(i)])) / (1 + d) / (1 + d);
      for (int64_t j = 0; j < k; ++j) {
        qp[static_cast<size_t>(j)] = (qp[static_cast<size_t>(j)] + d * q[at(i, j)]) / (1 + d);
        p[j] /= 1 + d;
      }
    }
  }
}

class SvmClassifier final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(Params p, read(n));
    return std::unique_ptr<Kernel>(new SvmClassifier(std::move(p)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    const int64_t rows = row_count(x), width = p_.scores();
    if (rows == 0) return {};
    Tensor holder;
    TRN_ASSIGN(const float* from, as_floats(ctx, x, holder));
    const int64_t cost = std::max<int64_t>(1, (p_.linear() ? p_.classes : p_.count) * p_.features);
    ctx.parallel_for(rows, std::max<int64_t>(1, 20'000 / cost), [&](int64_t begin, int64_t end) {
      Work work;
      work.scores.resize(static_cast<size_t>(width));
      for (int64_t r = begin; r < end; ++r) {
        float* z = ctx.has_out(1) ? ctx.out(1).as<float>() + r * width : work.scores.data();
        const int64_t best =
            p_.linear() ? linear_row(from + r * p_.features, z) : vector_row(from + r * p_.features, z, work);
        if (!ctx.has_out(0)) continue;
        if (p_.labels.is_text())
          ctx.out(0).as<std::string>()[r] = p_.labels.strings[static_cast<size_t>(best)];
        else
          ctx.out(0).as<int64_t>()[r] = p_.labels.ints[static_cast<size_t>(best)];
      }
    });
    return {};
  }

 private:
  explicit SvmClassifier(Params p) : p_(std::move(p)) {}

  struct Work {
    std::vector<float> scores, kernels, decisions, pairs;
    std::vector<int64_t> votes;
  };

  int64_t linear_row(const float* x, float* z) const {
    for (int64_t c = 0; c < p_.classes; ++c)
      z[c] = p_.kernel(x, p_.coefficients.data() + c * p_.features, p_.features) + p_.rho[0];
    const int64_t best = std::max_element(z, z + p_.classes) - z;
    transform_scores(p_.transform, z, p_.classes);
    return best;
  }

  int64_t vector_row(const float* x, float* z, Work& w) const {
    const int64_t k = p_.classes;
    w.kernels.resize(static_cast<size_t>(p_.count));
    for (int64_t v = 0; v < p_.count; ++v)
      w.kernels[static_cast<size_t>(v)] = p_.kernel(x, p_.vectors.data() + v * p_.features, p_.features);
    w.votes.assign(static_cast<size_t>(k), 0);
    w.decisions.clear();
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = i + 1; j < k; ++j) {
        const double sum = part(w, j - 1, i) + part(w, i, j) + p_.rho[w.decisions.size()];
        w.decisions.push_back(static_cast<float>(sum));
        ++w.votes[static_cast<size_t>(sum > 0 ? i : j)];
      }
    const int64_t best = std::max_element(w.votes.begin(), w.votes.end()) - w.votes.begin();
    if (!p_.prob_a.empty()) {
      probabilities(w, z);
      transform_scores(p_.transform, z, k);
    } else if (k > 2) {
      std::copy(w.decisions.begin(), w.decisions.end(), z);
      transform_scores(p_.transform, z, p_.pairs());
    } else {
      const float s = w.decisions.empty() ? 0.0f : w.decisions[0];
      z[0] = -s;
      z[1] = s;
      transform_scores(p_.transform, z, 2);
    }
    return best;
  }

  // The coefficients in that row for the support vectors of a class.
  double part(const Work& w, int64_t row, int64_t of) const {
    double sum = 0;
    const int64_t first = p_.first[static_cast<size_t>(of)];
    for (int64_t v = first; v < first + p_.per_class[static_cast<size_t>(of)]; ++v)
      sum += static_cast<double>(p_.coefficients[static_cast<size_t>(row * p_.count + v)]) *
             w.kernels[static_cast<size_t>(v)];
    return sum;
  }

  void probabilities(Work& w, float* z) const {
    const int64_t k = p_.classes;
    w.pairs.assign(static_cast<size_t>(k * k), 0.0f);
    size_t pair = 0;
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = i + 1; j < k; ++j, ++pair) {
        const float v = 1 - logistic(w.decisions[pair] * p_.prob_a[pair] + p_.prob_b[pair]);
        const float clamped = std::min(std::max(v, 1.0e-7f), 1 - 1.0e-7f);
        w.pairs[static_cast<size_t>(i * k + j)] = clamped;
        w.pairs[static_cast<size_t>(j * k + i)] = 1 - clamped;
      }
    couple(k, w.pairs, z);
  }

  Params p_;
};

constexpr OpDef kDefs[] = {
    {"SVMClassifier",
     infer,
     cpu<SvmClassifier>(DType::f32 | DType::f64 | DType::i64 | DType::i32),
     {.reviewed = 1},
     "ai.onnx.ml"},
};

}  // namespace

TRUNNION_OPS(svm_classifier, kDefs);

}  // namespace trunnion::ops
