// StringConcat (ai.onnx 20): joins two texts, element by element with broadcasting.
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node&, ir::Facts& f) { return infer_broadcast(f, DType::string); }

class StringConcat final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new StringConcat); }
  Status run(KernelContext& ctx) const override {
    const TensorView &a = ctx.in(0), &b = ctx.in(1), &y = ctx.out(0);
    const Shape a_step = steps(a, y), b_step = steps(b, y);
    const auto *from_a = a.as<const std::string>(), *from_b = b.as<const std::string>();
    ctx.parallel_for(y.count, 512, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t rest = i, at_a = 0, at_b = 0;
        for (int d = y.rank - 1; d >= 0; --d) {
          const int64_t k = rest % y.dim(d);
          rest /= y.dim(d);
          at_a += k * a_step[static_cast<size_t>(d)];
          at_b += k * b_step[static_cast<size_t>(d)];
        }
        y.as<std::string>()[i] = from_a[at_a] + from_b[at_b];
      }
    });
    return {};
  }

 private:
  // Elements from one index of each output dimension to the next; 0 where x is broadcast.
  static Shape steps(const TensorView& x, const TensorView& y) {
    Shape out(static_cast<size_t>(y.rank), 0);
    int64_t step = 1;
    for (int d = x.rank - 1; d >= 0; --d) {
      if (x.dim(d) != 1) out[static_cast<size_t>(d + y.rank - x.rank)] = step;
      step *= x.dim(d);
    }
    return out;
  }
};

constexpr OpDef kDefs[] = {{"StringConcat", infer, cpu<StringConcat>(DType::string), {.reviewed = 20}}};

}  // namespace

TRUNNION_OPS(string_concat, kDefs);

}  // namespace trunnion::ops
