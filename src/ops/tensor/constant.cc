// Constant (ai.onnx 1 ... 25): a tensor from one of its attributes. Importers usually fold it away.
#include <algorithm>
#include <cstring>

#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

// Writes the values of a sparse tensor (coordinates, linear or by row) into zeros.
Result<Tensor> densify(const SparseTensor& s) {
  if (s.format != SparseTensor::Format::coo) return not_implemented("sparse_value is in a format other than COO");
  const DType type = s.values.dtype();
  if (type == DType::string || is_sub_byte(type) || s.indices.dtype() != DType::i64)
    return not_implemented("sparse_value of type {} is not supported", dtype_name(type));
  TRN_ASSIGN(Tensor t, Tensor::allocate(type, s.dense_shape));
  std::memset(t.raw(), 0, t.bytes());
  const int64_t n = s.values.count(), rank = static_cast<int64_t>(s.dense_shape.size());
  const bool linear = s.indices.rank() == 1;
  if (s.indices.count() != (linear ? n : n * rank))
    return invalid_argument("sparse_value has {} values and indices of shape {}", n, shape_text(s.indices.shape()));
  const Shape strides = row_major_strides(s.dense_shape);
  const size_t size = size_of(type);
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = linear ? s.indices.data<int64_t>()[i] : 0;
    for (int64_t d = 0; !linear && d < rank; ++d) {
      const int64_t v = s.indices.data<int64_t>()[i * rank + d];
      if (v < 0 || v >= s.dense_shape[d])
        return invalid_argument("sparse_value has index {} on axis {} of {}", v, d, s.dense_shape[d]);
      at += v * strides[d];
    }
    if (at < 0 || at >= t.count()) return invalid_argument("sparse_value has index {} of {} elements", at, t.count());
    std::memcpy(t.data<std::byte>() + at * size, s.values.data<std::byte>() + i * size, size);
  }
  return t;
}

template <class T>
Result<Tensor> scalar(T v) {
  return Tensor::from<T>({}, std::span<const T>(&v, 1));
}
template <class T>
Result<Tensor> list(const std::vector<T>& v) {
  const int64_t dims[] = {static_cast<int64_t>(v.size())};
  return Tensor::from<T>(dims, std::span<const T>(v));
}
Result<Tensor> text(const std::vector<std::string>& v, bool is_scalar) {
  const int64_t dims[] = {static_cast<int64_t>(v.size())};
  TRN_ASSIGN(Tensor t, Tensor::allocate(DType::string, std::span<const int64_t>(dims, is_scalar ? 0 : 1)));
  std::copy(v.begin(), v.end(), t.data<std::string>());
  return t;
}

Result<Tensor> read(const ir::Node& n) {
  if (const Tensor* t = n.tensor_attr("value"); t && t->valid()) return *t;
  if (n.has_attr("value_float")) return scalar<float>(n.attr("value_float", 0.f));
  if (n.has_attr("value_int")) return scalar<int64_t>(n.attr("value_int", 0));
  if (n.has_attr("value_string")) return text({n.attr("value_string", "")}, true);
  if (n.has_attr("value_floats")) return list(n.floats("value_floats"));
  if (n.has_attr("value_ints")) return list(n.ints("value_ints"));
  if (n.has_attr("value_strings")) return text(n.strings("value_strings"), false);
  if (const ir::Attr* a = n.find_attr("sparse_value"))
    if (const Value* v = a->get<Value>(); v && v->kind() == Value::Kind::sparse_tensor) return densify(v->sparse());
  return invalid_argument("no attribute holds a value");
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Tensor t, read(n));
  f.out(0) = ir::Fact::of(t);
  return {};
}

class ConstantKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(Tensor t, read(node));
    return std::unique_ptr<Kernel>(new ConstantKernel(std::move(t)));
  }
  Status run(KernelContext& ctx) const override {
    copy_elements(ctx, value_.raw(), ctx.out(0).data, value_.count(), value_.dtype());
    return {};
  }

 private:
  explicit ConstantKernel(Tensor value) : value_(std::move(value)) {}
  Tensor value_;
};

constexpr OpDef kDefs[] = {{"Constant", infer, cpu<ConstantKernel>(kAllTypes, -1), {.reviewed = 25}}};

}  // namespace

TRUNNION_OPS(constant, kDefs);
}  // namespace trunnion::ops
