// What the QLinear operators share: scales and zero points of whole tensors, and tables of 256 results.
#pragma once
#include "kernels/quant_bytes.h"
#include "ops/op.h"

namespace trunnion::ops {

constexpr DTypes kBytes = DType::u8 | DType::i8;

// Scale and zero point of one tensor; zero may be null (0).
kernels::BytePoint read_point(const TensorView& scale, const TensorView* zero);
// The inputs `scale` and `scale + 1` of the node; the second may be absent.
kernels::BytePoint read_point(const KernelContext& ctx, int scale);

// For infer: refuses when one of these inputs is known not to hold exactly one value.
Status expect_single(const ir::Facts& f, std::span<const int> inputs);

// table[code] = the code of y for f(value of the code of x). `type` is that of both. f works on 256 values in place;
// null: the value itself.
void requantize_table(kernels::BytePoint x, kernels::BytePoint y, DType type, FunctionRef<void(float*)> f,
                      uint8_t* table);
void requantize_table(kernels::BytePoint x, kernels::BytePoint y, DType type, uint8_t* table);
// table[code] = the value of the code.
void dequantize_table(kernels::BytePoint x, DType type, float* table);

inline bool same_point(kernels::BytePoint a, kernels::BytePoint b) { return a.scale == b.scale && a.zero == b.zero; }

}  // namespace trunnion::ops
