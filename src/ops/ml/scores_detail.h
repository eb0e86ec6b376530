// What classifiers and regressors of ai.onnx.ml do to their scores last.
#pragma once
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace trunnion::ops {

enum class PostTransform : uint8_t { none, softmax, logistic, softmax_zero, probit };

// From the attribute's text: "NONE", "SOFTMAX", ...
Result<PostTransform> post_transform(std::string_view name);

float logistic(float x);
float probit(float x);

// n scores of one row, in place.
void transform_scores(PostTransform t, float* scores, int64_t n);

// A two-class row with one score only: writes the scores of both classes (z has room for two). How the other one comes
// about depends on what the weights are like:
enum class SecondClass : uint8_t {
  none,        // one score, as it is
  complement,  // weights are probabilities: 1 - score
  negative,    // score of either sign: -score
};
// Returns how many were written.
int transform_one_score(PostTransform t, float score, SecondClass second, float* z);

// Labels of a classifier: integers or strings.
struct ClassLabels {
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  bool is_text() const { return !strings.empty(); }
  int64_t count() const { return static_cast<int64_t>(is_text() ? strings.size() : ints.size()); }
  DType dtype() const { return is_text() ? DType::string : DType::i64; }
};
// Exactly one of the two attributes may have entries.
Result<ClassLabels> read_labels(const ir::Node& n, const char* ints, const char* strings);

// Rows and columns of input 0 as ai.onnx.ml sees it: a vector is one row (or, column_vector, one column).
struct Rows {
  Dim rows, columns;
};
Result<Rows> infer_rows(const ir::Facts& f, int input = 0);
// Of a concrete tensor of rank 1 or 2.
inline int64_t row_count(const TensorView& x) { return x.rank == 1 ? 1 : x.dim(0); }
inline int64_t column_count(const TensorView& x) { return x.rank == 1 ? x.dim(0) : x.dim(1); }

// Elements of a numeric tensor as T (float or double): the tensor's own or converted into `holder`.
Result<const float*> as_floats(KernelContext& ctx, const TensorView& x, Tensor& holder);
Result<const double*> as_doubles(KernelContext& ctx, const TensorView& x, Tensor& holder);

}  // namespace trunnion::ops
