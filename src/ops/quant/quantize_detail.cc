#include "ops/quant/quantize_detail.h"

#include "kernels/convert.h"
#include "ops/dispatch.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Result<DType> read_type(const ir::Node& n, const char* name) {
  const int64_t code = n.attr(name, 0);
  if (code == 0) return DType::undefined;
  const auto type = dtype_from_code(code);
  if (!type) return not_implemented("attribute {} is {}: no such element type", name, code);
  return *type;
}

}  // namespace

Result<QuantParams> read_quant(const ir::Node& n) {
  QuantParams p;
  p.axis = n.attr("axis", 1);
  p.block = n.attr("block_size", 0);
  p.per_tensor_only = n.domain().empty() && n.since() < 13;
  p.saturate = n.attr("saturate", 1) != 0;
  TRN_ASSIGN(p.output, read_type(n, "output_dtype"));
  TRN_ASSIGN(p.precision, read_type(n, "precision"));
  if (p.block < 0) return invalid_argument("attribute block_size is {}, it must not be negative", p.block);
  return p;
}

Result<QuantLayout> quant_layout(const QuantParams& p, std::span<const int64_t> x, std::span<const int64_t> scale) {
  QuantLayout l;
  const int rank = static_cast<int>(x.size());
  if (scale.size() <= 1 && product(scale) == 1 && (p.block == 0 || rank != 1)) {
    l.inner = product(x);
    return l;
  }
  if (p.per_tensor_only)
    return invalid_argument("input 1 (scale) has shape {}: before opset 13 it must be a scalar", shape_text(scale));
  TRN_ASSIGN(const int axis, normalize_axis(p.axis, rank));
  const auto at = static_cast<size_t>(axis);
  l.outer = product(x, 0, axis);
  l.axis = x[at];
  l.inner = product(x, axis + 1, rank);
  if (p.block == 0) {
    if (scale.size() != 1 || scale[0] != x[at])
      return invalid_argument(
          "input 1 (scale) has shape {}: per axis {} of input 0 (shape {}) it must have shape {{{}}}",
          shape_text(scale), axis, shape_text(x), x[at]);
    if (l.inner == 1) {  // the scales change with every element
      l.inner = l.axis;
      l.axis = 1;
      l.inner_step = 1;
    } else {
      l.axis_step = 1;
    }
    return l;
  }
  bool fits = scale.size() == x.size();
  for (size_t i = 0; fits && i < x.size(); ++i)
    fits = i == at ? scale[i] == (x[i] + p.block - 1) / p.block : scale[i] == x[i];
  if (!fits)
    return invalid_argument(
        "input 1 (scale) has shape {}: with blocks of {} along axis {} of input 0 (shape {}) it must have "
        "that shape but for {} entries there",
        shape_text(scale), p.block, axis, shape_text(x), (x[at] + p.block - 1) / p.block);
  l.block = p.block;
  l.axis_step = l.inner;
  l.outer_step = scale[at] * l.inner;
  l.inner_step = l.inner == 1 ? 0 : 1;
  return l;
}

Status infer_quant(const QuantParams& p, ir::Facts& f, DType out) {
  f.set(0, out, f.in(0).type.shape);
  if (f.has_rank(1) && f.has_rank(2)) {
    const auto scale = f.in(1).concrete(), zero = f.in(2).concrete();
    if (scale && zero && product(*scale) != product(*zero))
      return invalid_argument("input 1 (scale) has shape {} and input 2 (zero point) shape {}: they must agree",
                              shape_text(*scale), shape_text(*zero));
  }
  if (!f.has_rank(0) || !f.has_rank(1)) return {};
  const auto x = f.in(0).concrete(), scale = f.in(1).concrete();
  if (x && scale) TRN_TRY(quant_layout(p, *x, *scale));
  return {};
}

QuantScales& QuantScales::operator=(QuantScales&& o) noexcept {
  one_scale_ = o.one_scale_;
  one_zero_ = o.one_zero_;
  one_float_zero_ = o.one_float_zero_;
  scales_ = std::move(o.scales_);
  zeros_ = std::move(o.zeros_);
  scale_ = o.scale_ == &o.one_scale_ ? &one_scale_ : o.scale_;
  zero_ = o.zero_ == &o.one_zero_ ? &one_zero_ : o.zero_;
  float_zero_ = o.float_zero_ == &o.one_float_zero_ ? &one_float_zero_ : o.float_zero_;
  return *this;
}

Result<QuantScales> QuantScales::read(const TensorView& scale, const TensorView* zero) {
  QuantScales q;
  const auto convert = [](const TensorView& from, DType to, void* one, Tensor& many) -> Result<const void*> {
    void* out = one;
    if (from.count != 1) {
      TRN_ASSIGN(many, Tensor::allocate(to, from.shape()));
      out = many.raw();
    }
    const auto fn = kernels::convert(elem(from.dtype), elem(to));
    if (!fn) return not_implemented("scales or zero points of type {}", dtype_name(from.dtype));
    fn(from.data, out, static_cast<size_t>(from.count), {});
    return static_cast<const void*>(out);
  };
  if (scale.dtype == DType::f32) {
    q.scale_ = scale.as<const float>();
  } else {
    TRN_ASSIGN(const void* p, convert(scale, DType::f32, &q.one_scale_, q.scales_));
    q.scale_ = static_cast<const float*>(p);
  }
  if (!zero) return q;
  if (is_float(zero->dtype)) {
    TRN_ASSIGN(const void* p, convert(*zero, DType::f32, &q.one_float_zero_, q.zeros_));
    const auto* z = static_cast<const float*>(p);
    if (std::any_of(z, z + zero->count, [](float v) { return v != 0; })) q.float_zero_ = z;
    return q;
  }
  if (zero->dtype == DType::i32) {
    q.zero_ = zero->as<const int32_t>();
    return q;
  }
  TRN_ASSIGN(const void* p, convert(*zero, DType::i32, &q.one_zero_, q.zeros_));
  q.zero_ = static_cast<const int32_t*>(p);
  return q;
}

}  // namespace trunnion::ops
