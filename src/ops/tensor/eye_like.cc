// EyeLike (ai.onnx 9, 22): a matrix of the input's shape with ones on diagonal k.
#include <cstring>

#include "ops/dispatch.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(expect_rank(f, 0, 2));
  DType type = f.dtype(0);
  if (n.has_attr("dtype")) {
    const auto t = dtype_from_code(n.attr("dtype", 0));
    if (!t || *t == DType::undefined)
      return invalid_argument("attribute dtype is {}, which is no element type", n.attr("dtype", 0));
    type = *t;
  }
  f.set(0, type, f.has_rank(0) ? f.in(0).type.shape : unknown_shape(2));
  return {};
}

class EyeLikeKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new EyeLikeKernel(node.attr("k", 0)));
  }
  Status run(KernelContext& ctx) const override {
    TensorView& y = ctx.out(0);
    if (y.count == 0) return {};
    const int64_t rows = y.dim(0), cols = y.dim(1);
    return dispatch<(kNumeric | DType::boolean).bits()>(y.dtype, [&]<class T>() {
      std::memset(y.data, 0, y.bytes());
      if (k_ >= cols || k_ <= -rows) return;
      const T one = static_cast<T>(1.f);
      for (int64_t r = k_ < 0 ? -k_ : 0; r < rows && r + k_ < cols; ++r) y.as<T>()[r * cols + r + k_] = one;
    });
  }

 private:
  explicit EyeLikeKernel(int64_t k) : k_(k) {}
  int64_t k_;
};

constexpr OpDef kDefs[] = {{"EyeLike", infer, cpu<EyeLikeKernel>(kAllTypes, -1), {.reviewed = 22}}};

}  // namespace

TRUNNION_OPS(eye_like, kDefs);
}  // namespace trunnion::ops
