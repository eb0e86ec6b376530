// InstanceNormalization (ai.onnx 1, 6, 22) and GroupNormalization (18, 21): statistics of one or several channels of
// each image.
#include <algorithm>
#include <cmath>

#include "kernels/norm.h"
#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

struct Params {
  float epsilon;
  bool instance;
  int64_t groups;
  bool per_group;  // scale and bias have one value per group, not per channel
};
Params read(const ir::Node& n) {
  const bool instance = n.op_type() == "InstanceNormalization";
  return {n.attr("epsilon", 1e-5f), instance, n.attr("num_groups", 1), !instance && n.since() < 21};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  const Params p = read(n);
  f.set(0, f.dtype(0));
  if (p.groups < 1) return invalid_argument("attribute num_groups is {}, expected at least 1", p.groups);
  for (int i = 1; i < 3; ++i) TRN_TRY(expect_rank(f, i, 1));
  if (!f.has_rank(0)) return {};
  const SymShape& x = f.in(0).shape();
  if (x.size() < 2) return invalid_argument("input 0 has shape {}, needs at least 2 dimensions", shape_text(x));
  if (x[1].is_int() && x[1].value() % p.groups)
    return invalid_argument("{} channels do not divide into {} groups", x[1].value(), p.groups);
  const Dim want = p.per_group ? Dim(p.groups) : x[1];
  for (int i = 1; i < 3; ++i)
    if (f.has_rank(i) && want.is_int() && f.in(i).dim(0).is_int() && !(f.in(i).dim(0) == want))
      return invalid_argument("input {} has {} elements, needs {}", i, f.in(i).dim(0).value(), want.value());
  f.set(0, f.dtype(0), x);
  return {};
}

void moments(const float* x, int64_t n, float* mean, float* var) { kernels::norm().moments(x, n, mean, var); }
void moments(const double* x, int64_t n, double* mean, double* var) {
  double m = 0, v = 0;
  for (int64_t i = 0; i < n; ++i) m += x[i];
  m /= static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) v += (x[i] - m) * (x[i] - m);
  *mean = m;
  *var = v / static_cast<double>(n);
}
void scale_shift(const float* x, float* y, int64_t n, float scale, float shift) {
  kernels::norm().scale_shift(x, y, n, scale, shift);
}
void scale_shift(const double* x, double* y, int64_t n, double scale, double shift) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale + shift;
}

class GroupKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new GroupKernel(read(node)));
  }

  Status run(KernelContext& ctx) const override {
    return ctx.in(0).dtype == DType::f64 ? run_typed<double>(ctx) : run_typed<float>(ctx);
  }

 private:
  explicit GroupKernel(Params p) : p_(p) {}

  template <class T>
  Status run_typed(KernelContext& ctx) const {
    const TensorView& xv = ctx.in(0);
    const int64_t channels = xv.dim(1), plane = product(xv.shape(), 2, xv.rank),
                  groups = p_.instance ? channels : p_.groups;
    const int64_t wanted = p_.per_group ? groups : channels;
    if (ctx.in(1).count != wanted || ctx.in(2).count != wanted)
      return invalid_argument("scale and bias have {} and {} elements, need {}", ctx.in(1).count, ctx.in(2).count,
                              wanted);
    if (xv.count == 0) return {};
    const int64_t width = channels / groups;
    const T *x = xv.as<T>(), *scale = ctx.in(1).as<T>(), *bias = ctx.in(2).as<T>();
    T* y = ctx.out(0).as<T>();
    ctx.parallel_for(xv.dim(0) * groups, 8192 / (width * plane) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* from = x + i * width * plane;
        T mean, var;
        moments(from, width * plane, &mean, &var);
        const T inv = T(1) / std::sqrt(var + static_cast<T>(p_.epsilon));
        for (int64_t c = 0; c < width; ++c) {
          const int64_t at = p_.per_group ? i % groups : i % groups * width + c;
          const T f = scale[at] * inv;
          scale_shift(from + c * plane, y + (i * width + c) * plane, plane, f, bias[at] - mean * f);
        }
      }
    });
    return {};
  }

  Params p_;
};

constexpr OpDef kDefs[] = {
    {"InstanceNormalization", infer, cpu_widened<GroupKernel>(kFloats), {.reviewed = 22, .in_place = {{0, 0}}}},
    {"GroupNormalization", infer, cpu_widened<GroupKernel>(kFloats), {.reviewed = 21, .in_place = {{0, 0}}}},
};

}  // namespace

TRUNNION_OPS(group_normalization, kDefs);
}  // namespace trunnion::ops
