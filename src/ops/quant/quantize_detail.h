// How scales and zero points lie over a tensor: what QuantizeLinear and DequantizeLinear of all versions share.
#pragma once
#include <algorithm>

#include "ops/op.h"

namespace trunnion::ops {

// Attributes, all versions folded.
struct QuantParams {
  int64_t axis = 1;
  int64_t block = 0;             // 0: not blocked
  bool per_tensor_only = false;  // before opset 13
  bool saturate = true;
  DType output = DType::undefined;     // attribute output_dtype
  DType precision = DType::undefined;  // of the division
};
Result<QuantParams> read_quant(const ir::Node& n);

// Element (o, a, i) of a tensor seen as outer x axis x inner has scale number o * outer_step + a / block * axis_step +
// i * inner_step.
struct QuantLayout {
  int64_t outer = 1, axis = 1, inner = 1, block = 1;
  int64_t outer_step = 0, axis_step = 0, inner_step = 0;
};

// From concrete shapes; an error when they don't fit together.
Result<QuantLayout> quant_layout(const QuantParams& p, std::span<const int64_t> x, std::span<const int64_t> scale);

// Checks whatever is known of the shapes of input 0, scale (1) and zero point (2), and gives the output input 0's
// shape.
Status infer_quant(const QuantParams& p, ir::Facts& f, DType out);

// Calls fn(begin, length, scale): elements [begin, begin + length) use the scales from number `scale` on (one after the
// other when inner_step is 1, else that one alone), for all elements in [begin, end).
template <class F>
void for_each_quant_run(const QuantLayout& l, int64_t begin, int64_t end, F&& fn) {
  if (l.axis * l.inner == 0) return;
  while (begin < end) {
    const int64_t i = begin % l.inner, row = begin / l.inner, a = row % l.axis, o = row / l.axis;
    const int64_t scale = o * l.outer_step + a / l.block * l.axis_step + i * l.inner_step;
    int64_t n = l.inner - i;
    if (l.inner_step == 0) n += (std::min(l.axis, (a / l.block + 1) * l.block) - a - 1) * l.inner;
    n = std::min(n, end - begin);
    fn(begin, n, scale);
    begin += n;
  }
}

// Scales as f32 and zero points as i32: views of the tensors, or converted ones.
class QuantScales {
 public:
  // zero may be null.
  static Result<QuantScales> read(const TensorView& scale, const TensorView* zero);
  const float* scale() const { return scale_; }
  const int32_t* zero() const { return zero_; }  // null: all are 0
  // The zero points of float types, null when all are 0.
  const float* float_zero() const { return float_zero_; }

 private:
  const float* scale_ = nullptr;
  const int32_t* zero_ = nullptr;
  const float* float_zero_ = nullptr;
  float one_scale_ = 0, one_float_zero_ = 0;
  int32_t one_zero_ = 0;
  Tensor scales_, zeros_;

 public:
  QuantScales() = default;
  QuantScales(QuantScales&& o) noexcept { *this = std::move(o); }
  QuantScales& operator=(QuantScales&& o) noexcept;
};

}  // namespace trunnion::ops
