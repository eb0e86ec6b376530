#include "ops/contrib/q_linear_detail.h"

#include "kernels/quant.h"
#include "ops/dispatch.h"
#include "ops/shape.h"

namespace trunnion::ops {

kernels::BytePoint read_point(const TensorView& scale, const TensorView* zero) {
  kernels::BytePoint p{*scale.as<const float>(), 0};
  if (zero) p.zero = zero->dtype == DType::i8 ? *zero->as<const int8_t>() : *zero->as<const uint8_t>();
  return p;
}

kernels::BytePoint read_point(const KernelContext& ctx, int scale) {
  return read_point(ctx.in(scale), ctx.has_in(scale + 1) ? &ctx.in(scale + 1) : nullptr);
}

Status expect_single(const ir::Facts& f, std::span<const int> inputs) {
  for (int i : inputs) {
    if (!f.has_rank(i)) continue;
    const auto dims = f.in(i).concrete();
    if (dims && (dims->size() > 1 || product(*dims) != 1))
      return invalid_argument("input {} has shape {}, it must hold one value (a scalar or shape {{1}})", i,
                              shape_text(*dims));
  }
  return {};
}

void dequantize_table(kernels::BytePoint x, DType type, float* table) {
  for (int i = 0; i < 256; ++i) {
    const int code = type == DType::i8 ? static_cast<int8_t>(i) : i;
    table[i] = x.scale * static_cast<float>(code - x.zero);
  }
}

void requantize_table(kernels::BytePoint x, kernels::BytePoint y, DType type, FunctionRef<void(float*)> f,
                      uint8_t* table) {
  float values[256];
  dequantize_table(x, type, values);
  f(values);
  kernels::quantize(elem(type))(values, table, 256, y.scale, y.zero);
}

void requantize_table(kernels::BytePoint x, kernels::BytePoint y, DType type, uint8_t* table) {
  requantize_table(
      x, y, type, [](float*) {}, table);
}

}  // namespace trunnion::ops
