// BiasSoftmax (com.microsoft 1): softmax(data + bias) over all dimensions from `axis` on. The bias is repeated over the
// dimensions before that it lacks: the innermost of them, or the outermost.
#include <algorithm>

#include "kernels/binary.h"
#include "kernels/softmax.h"
#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  f.set(0, f.dtype(0));
  if (!f.has_rank(0)) return {};
  TRN_TRY(normalize_axis(n.attr("axis", 1), f.in(0).rank()));
  f.set(0, f.dtype(0), f.in(0).shape());
  return {};
}

// Row r of the data takes row r / repeat % rows of the bias.
struct State final : KernelState {
  int64_t cols = 1, repeat = 1, rows = 1;
};

class BiasSoftmaxCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new BiasSoftmaxCpu(n.attr("axis", 1), n.attr("is_inner_broadcast", 0) != 0));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    const TensorView &x = ctx.in(0), &bias = ctx.in(1);
    TRN_ASSIGN(const int axis, normalize_axis(axis_, x.rank));
    s->cols = product(x.shape(), axis, x.rank);
    if (x.count == 0) return std::unique_ptr<KernelState>(std::move(s));
    const int64_t rows = x.count / s->cols;
    s->rows = bias.count / s->cols;
    if (bias.count % s->cols != 0 || s->rows == 0 || rows % s->rows != 0)
      return invalid_argument("a bias of shape {} does not go with data of shape {} from axis {} on",
                              shape_text(bias.shape()), shape_text(x.shape()), axis);
    if (inner_) s->repeat = rows / s->rows;
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    if (x.count == 0) return {};
    const auto add = kernels::binary(kernels::BinaryOp::add, elem(x.dtype), kernels::BinaryShape::vector_vector);
    return dispatch<(DType::f32 | DType::f64).bits()>(x.dtype, [&]<class T>() {
      ctx.parallel_for(x.count / s.cols, 4096 / s.cols + 1, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          T* to = y.as<T>() + r * s.cols;
          add(x.as<const T>() + r * s.cols, ctx.in(1).as<const T>() + r / s.repeat % s.rows * s.cols, to,
              static_cast<size_t>(s.cols));
          if constexpr (std::is_same_v<T, float>)
            kernels::softmax().rows(to, to, 1, s.cols);
          else
            kernels::softmax_f64(to, to, 1, s.cols, 1, false);
        }
      });
    });
  }

 private:
  BiasSoftmaxCpu(int64_t axis, bool inner) : axis_(axis), inner_(inner) {}
  int64_t axis_;
  bool inner_;
};

constexpr OpDef kDefs[] = {
    {"BiasSoftmax",
     infer,
     cpu_widened<BiasSoftmaxCpu>(DType::f32 | DType::f64 | DType::f16),
     {.reviewed = 1, .in_place = {{0, 0}}},
     "com.microsoft",
     "com.microsoft::BiasSoftmax 1 (data:T, bias:T) -> (output:T) {axis:i=1, is_inner_broadcast!:i} T=float"},
};

}  // namespace

TRUNNION_OPS(bias_softmax, kDefs);

}  // namespace trunnion::ops
