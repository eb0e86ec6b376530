// GivenTensorFill (ai.onnx 1): a tensor of given values; experimental, taken back in opset 10. The shape is an
// attribute, or with input_as_shape the content of the input, or the input's own shape, followed by extra_shape.
#include <algorithm>

#include "ops/dispatch.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  const DType type = f.has(0) && n.attr("input_as_shape", 0) == 0 ? f.dtype(0) : DType::f32;
  f.set(0, type);
  std::optional<SymShape> y;
  if (!f.has(0))
    y = to_symbolic(n.ints("shape"));
  else if (n.attr("input_as_shape", 0) != 0)
    y = f.dims(0);
  else if (f.has_rank(0))
    y = f.in(0).shape();
  if (!y) return {};
  for (const int64_t d : n.ints("extra_shape")) y->push_back(d);
  const auto values = static_cast<int64_t>(n.floats("values").size());
  const Dim count = element_count(*y);
  if (count.is_int() && count.value() != values)
    return invalid_argument("attribute values has {} entries, shape {} needs {}", values, shape_text(*y),
                            count.value());
  f.set(0, type, std::move(y));
  return {};
}

class GivenTensorFillCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new GivenTensorFillCpu(n.floats("values")));
  }
  Status run(KernelContext& ctx) const override {
    const TensorView& y = ctx.out(0);
    if (y.count != static_cast<int64_t>(values_.size()))
      return invalid_argument("attribute values has {} entries, the output {}", values_.size(), y.count);
    return dispatch<kFloats.bits()>(y.dtype, [&]<class T>() {
      std::transform(values_.begin(), values_.end(), y.as<T>(), [](float v) { return static_cast<T>(v); });
    });
  }

 private:
  explicit GivenTensorFillCpu(std::vector<float> values) : values_(std::move(values)) {}
  std::vector<float> values_;
};

constexpr OpDef kDefs[] = {
    {"GivenTensorFill",
     infer,
     cpu<GivenTensorFillCpu>(kFloats, -1),
     {.reviewed = 1},
     "",
     "GivenTensorFill 1 experimental (shape?:T) -> (X:T) {extra_shape:is, input_as_shape:i, shape:is, values:fs} "
     "T=float"}};

}  // namespace

TRUNNION_OPS(given_tensor_fill, kDefs);

}  // namespace trunnion::ops
