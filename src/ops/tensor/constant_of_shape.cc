// ConstantOfShape (ai.onnx 9 ... 25): a tensor of the shape that the input holds, filled with one value.
#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Result<Tensor> read(const ir::Node& n) {
  const Tensor* t = n.tensor_attr("value");
  if (!t || !t->valid()) {
    const float zero = 0;
    return Tensor::from<float>({}, std::span<const float>(&zero, 1));
  }
  if (t->count() != 1) return invalid_argument("attribute value has {} elements, needs one", t->count());
  return *t;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Tensor value, read(n));
  TRN_TRY(expect_rank(f, 0, 1));
  std::optional<SymShape> shape = f.dims(0);
  if (!shape && f.has_rank(0) && f.in(0).dim(0).is_int())
    shape = unknown_shape(static_cast<int>(f.in(0).dim(0).value()));
  f.set(0, value.dtype(), shape);
  if (!shape) return {};
  for (const Dim& d : *shape)
    if (d.is_int() && d.value() < 0) return invalid_argument("shape {} has a negative size", shape_text(*shape));
  if (shape->size() > 1 || !is_integer(value.dtype()) || is_sub_byte(value.dtype())) return {};
  const Dim count = element_count(*shape);
  auto one = ir::Fact::of(value.reshaped({})).content;
  if (one && count.is_int() && count.value() <= ir::kMaxContent)
    f.out(0).content = std::vector<Dim>(static_cast<size_t>(count.value()), (*one)[0]);
  return {};
}

class ConstantOfShape final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(Tensor t, read(node));
    return std::unique_ptr<Kernel>(new ConstantOfShape(std::move(t)));
  }
  Status run(KernelContext& ctx) const override {
    fill_elements(ctx, ctx.out(0).data, value_.raw(), ctx.out(0).count, value_.dtype());
    return {};
  }

 private:
  explicit ConstantOfShape(Tensor value) : value_(std::move(value)) {}
  Tensor value_;
};

constexpr OpDef kDefs[] = {{"ConstantOfShape", infer, cpu<ConstantOfShape>(DType::i64), {.reviewed = 25}}};

}  // namespace

TRUNNION_OPS(constant_of_shape, kDefs);
}  // namespace trunnion::ops
