// DequantizeLinear (ai.onnx 10, 13, 19, 21, 23, 24, 25, 28; com.microsoft 1): y = (x - zero point) * scale, with one
// scale for all, one for each position of an axis, or one for each block along an axis.
#include "kernels/convert.h"
#include "kernels/quant.h"
#include "ops/dispatch.h"
#include "ops/half_adapter.h"
#include "ops/quant/quantize_detail.h"

namespace trunnion::ops {
namespace {

constexpr int64_t kChunk = 1024;  // elements; a multiple of 8, so that packed chunks start at a byte

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const QuantParams p, read_quant(n));
  DType out = p.output != DType::undefined ? p.output : f.dtype(1);
  if (out == DType::f8e8m0) out = DType::f32;
  return infer_quant(p, f, out);
}

struct State final : KernelState {
  QuantLayout layout;
};

class DequantizeCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(QuantParams p, read_quant(n));
    return std::unique_ptr<Kernel>(new DequantizeCpu(p));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto state = std::make_unique<State>();
    TRN_ASSIGN(state->layout, quant_layout(params_, ctx.in(0).shape(), ctx.in(1).shape()));
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    const QuantLayout& layout = ctx.state<State>()->layout;
    TRN_ASSIGN(const QuantScales scales, QuantScales::read(ctx.in(1), ctx.has_in(2) ? &ctx.in(2) : nullptr));
    const bool direct = y.dtype == DType::f32 && is_integer(x.dtype) && !is_sub_byte(x.dtype);
    ctx.parallel_for((x.count + 7) / 8, 2048, [&](int64_t b, int64_t e) {
      const int64_t begin = b * 8, end = std::min(x.count, e * 8);
      if (direct) return dequantize(layout, scales, begin, end, x.data, x.dtype, y.as<float>());
      for (int64_t at = begin; at < end; at += kChunk) chunk(layout, scales, x, y, at, std::min(kChunk, end - at));
    });
    return {};
  }

 private:
  explicit DequantizeCpu(QuantParams p) : params_(p) {}

  // Elements [begin, end) of a type of whole bytes; x and y are the addresses of element `first`.
  static void dequantize(const QuantLayout& l, const QuantScales& s, int64_t begin, int64_t end, const void* x,
                         DType type, float* y, int64_t first = 0) {
    const kernels::DequantizeFn fn = kernels::dequantize(elem(type));
    const auto size = static_cast<int64_t>(size_of(type));
    for_each_quant_run(l, begin, end, [&](int64_t at, int64_t n, int64_t k) {
      const void* from = static_cast<const std::byte*>(x) + (at - first) * size;
      float* to = y + (at - first);
      if (l.inner_step)
        kernels::dequantize_vector(from, to, static_cast<size_t>(n), s.scale() + k, s.zero() ? s.zero() + k : nullptr,
                                   elem(type));
      else
        fn(from, to, static_cast<size_t>(n), s.scale()[k], s.zero() ? s.zero()[k] : 0);
    });
  }

  // Any types; n <= kChunk.
  static void chunk(const QuantLayout& l, const QuantScales& s, const TensorView& x, const TensorView& y, int64_t begin,
                    int64_t n) {
    float wide[kChunk];
    uint8_t codes[kChunk];
    float* value = y.dtype == DType::f32 ? y.as<float>() + begin : wide;
    const std::byte* from = x.as<const std::byte>() + begin * bits_of(x.dtype) / 8;
    const auto count = static_cast<size_t>(n);
    if (is_float(x.dtype)) {
      kernels::convert(elem(x.dtype), kernels::Elem::f32)(from, value, count, {});
      for_each_quant_run(l, begin, begin + n, [&](int64_t at, int64_t m, int64_t k) {
        float* v = value + (at - begin);
        for (int64_t i = 0; i < m; ++i) {
          const int64_t q = k + i * l.inner_step;
          v[i] = (s.float_zero() ? v[i] - s.float_zero()[q] : v[i]) * s.scale()[q];
        }
      });
    } else if (is_sub_byte(x.dtype)) {
      kernels::unpack_bits(reinterpret_cast<const uint8_t*>(from), codes, count, elem(x.dtype));
      dequantize(l, s, begin, begin + n, codes, is_signed_integer(x.dtype) ? DType::i8 : DType::u8, value, begin);
    } else {
      dequantize(l, s, begin, begin + n, from, x.dtype, value, begin);
    }
    if (y.dtype != DType::f32)
      kernels::convert(kernels::Elem::f32, elem(y.dtype))(
          wide, y.as<std::byte>() + begin * static_cast<int64_t>(size_of(y.dtype)), count, {});
  }

  QuantParams params_;
};

constexpr DTypes kInputs = kFloat8 | kSubByte | DType::i8 | DType::u8 | DType::i16 | DType::u16 | DType::i32;
constexpr OpDef kDefs[] = {
    {"DequantizeLinear", infer, cpu<DequantizeCpu>(kInputs), {.reviewed = 28}},
    {"DequantizeLinear",
     infer,
     cpu<DequantizeCpu>(kInputs),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::DequantizeLinear 1 (x:T1, x_scale:T2, x_zero_point?:T1) -> (y:T2) {axis:i=1, block_size:i=0, "
     "output_dtype:i=0} "
     "T1=u8|i8|u16|i16|i32|u4|i4 T2=f32|f16"},
};

}  // namespace

TRUNNION_OPS(dequantize_linear, kDefs);

}  // namespace trunnion::ops
