// QuantizeLinear (ai.onnx 10, 13, 19, 21, 23, 24, 25, 28; com.microsoft 1): y = saturate(round(x / scale) + zero
// point), with one scale for all, one for each position of an axis, or one for each block along an axis.
#include <cmath>

#include "kernels/convert.h"
#include "kernels/quant.h"
#include "ops/dispatch.h"
#include "ops/half_adapter.h"
#include "ops/quant/quantize_detail.h"

namespace trunnion::ops {
namespace {

constexpr int64_t kChunk = 1024;  // elements; a multiple of 8, so that packed chunks start at a byte

DType output_type(const QuantParams& p, DType zero) {
  if (zero != DType::undefined) return zero;
  return p.output != DType::undefined ? p.output : DType::u8;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const QuantParams p, read_quant(n));
  const DType zero = f.dtype(2);
  if (zero != DType::undefined && p.output != DType::undefined && p.output != zero)
    return invalid_argument("attribute output_dtype is {}, but input 2 (zero point) has type {}", dtype_name(p.output),
                            dtype_name(zero));
  return infer_quant(p, f, output_type(p, zero));
}

struct State final : KernelState {
  QuantLayout layout;
};

struct Bounds {
  int low, high;
};
Bounds bounds(DType t) {
  switch (t) {
    case DType::u4:
      return {0, 15};
    case DType::i4:
      return {-8, 7};
    case DType::u2:
      return {0, 3};
    default:
      return {-2, 1};
  }
}

class QuantizeCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(QuantParams p, read_quant(n));
    const DType scale = n.input(1)->fact.dtype();
    DType precision = p.precision != DType::undefined ? p.precision : scale;
    if (precision == DType::f8e8m0) precision = DType::f32;
    if (precision != DType::f32 && precision != DType::f16 && precision != DType::bf16 && precision != DType::i32 &&
        precision != DType::f64)
      return not_implemented("a division in precision {}", dtype_name(precision));
    return std::unique_ptr<Kernel>(new QuantizeCpu(p, precision));
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
    const bool packed = is_sub_byte(y.dtype);
    // Pieces start at multiples of 8 elements.
    ctx.parallel_for((x.count + 7) / 8, 2048, [&](int64_t b, int64_t e) {
      const int64_t begin = b * 8, end = std::min(x.count, e * 8);
      if (x.dtype == DType::f32 && precision_ == DType::f32 && is_integer(y.dtype) && !packed)
        return quantize(layout, scales, begin, end, x.as<const float>(), y.data, y.dtype);
      for (int64_t at = begin; at < end; at += kChunk) chunk(layout, scales, x, y, at, std::min(kChunk, end - at));
    });
    return {};
  }

 private:
  QuantizeCpu(QuantParams p, DType precision) : params_(p), precision_(precision) {}

  // Elements [begin, end); x and y are the addresses of element 0.
  static void quantize(const QuantLayout& l, const QuantScales& s, int64_t begin, int64_t end, const float* x, void* y,
                       DType type) {
    const kernels::QuantizeFn fn = kernels::quantize(elem(type));
    const auto size = static_cast<int64_t>(size_of(type));
    for_each_quant_run(l, begin, end, [&](int64_t at, int64_t n, int64_t k) {
      void* to = static_cast<std::byte*>(y) + at * size;
      if (l.inner_step)
        kernels::quantize_vector(x + at, to, static_cast<size_t>(n), s.scale() + k, s.zero() ? s.zero() + k : nullptr,
                                 elem(type));
      else
        fn(x + at, to, static_cast<size_t>(n), s.scale()[k], s.zero() ? s.zero()[k] : 0);
    });
  }

  // x / scale in the precision asked for, as f32.
  void divide(const QuantLayout& l, const QuantScales& s, const TensorView& x, int64_t begin, int64_t n,
              float* out) const {
    if (x.dtype == DType::i32 && (precision_ == DType::i32 || precision_ == DType::f64)) {
      for_each_quant_run(l, begin, begin + n, [&](int64_t at, int64_t m, int64_t k) {
        for (int64_t i = 0; i < m; ++i)
          out[at - begin + i] = static_cast<float>(
              std::nearbyint(x.as<const int32_t>()[at + i] / static_cast<double>(s.scale()[k + i * l.inner_step])));
      });
      return;
    }
    const std::byte* from = x.as<const std::byte>() + begin * static_cast<int64_t>(size_of(x.dtype));
    kernels::convert(elem(x.dtype), kernels::Elem::f32)(from, out, static_cast<size_t>(n), {});
    for_each_quant_run(l, begin, begin + n, [&](int64_t at, int64_t m, int64_t k) {
      float* o = out + (at - begin);
      for (int64_t i = 0; i < m; ++i) o[i] /= s.scale()[k + i * l.inner_step];
    });
    if (!is_half(precision_)) return;
    uint16_t rounded[kChunk];
    kernels::convert(kernels::Elem::f32, elem(precision_))(out, rounded, static_cast<size_t>(n), {});
    kernels::convert(elem(precision_), kernels::Elem::f32)(rounded, out, static_cast<size_t>(n), {});
  }

  // Any types; n <= kChunk.
  void chunk(const QuantLayout& l, const QuantScales& s, const TensorView& x, const TensorView& y, int64_t begin,
             int64_t n) const {
    float value[kChunk];
    divide(l, s, x, begin, n, value);
    std::byte* to = y.as<std::byte>() + begin * bits_of(y.dtype) / 8;
    if (is_float(y.dtype)) {
      if (s.float_zero())
        for_each_quant_run(l, begin, begin + n, [&](int64_t at, int64_t m, int64_t k) {
          for (int64_t i = 0; i < m; ++i) value[at - begin + i] += s.float_zero()[k + i * l.inner_step];
        });
      kernels::convert(kernels::Elem::f32, elem(y.dtype))(value, to, static_cast<size_t>(n), {params_.saturate});
      return;
    }
    const bool packed = is_sub_byte(y.dtype);
    const DType wide = !packed ? y.dtype : is_signed_integer(y.dtype) ? DType::i8 : DType::u8;
    int8_t codes[kChunk];
    void* out = packed ? static_cast<void*>(codes) : to;
    const auto size = static_cast<int64_t>(size_of(wide));
    const kernels::QuantizeFn fn = kernels::quantize(elem(wide));
    for_each_quant_run(l, begin, begin + n, [&](int64_t at, int64_t m, int64_t k) {
      for (int64_t i = 0; i < m; i += l.inner_step ? 1 : m)
        fn(value + (at - begin) + i, static_cast<std::byte*>(out) + (at - begin + i) * size,
           static_cast<size_t>(l.inner_step ? 1 : m), 1.0f, s.zero() ? s.zero()[k + i * l.inner_step] : 0);
    });
    if (!packed) return;
    // Saturating to the wider type first changes nothing: its range holds the narrower one.
    const Bounds range = bounds(y.dtype);
    for (int64_t i = 0; i < n; ++i) {
      const int v = wide == DType::i8 ? codes[i] : static_cast<uint8_t>(codes[i]);
      codes[i] = static_cast<int8_t>(std::clamp(v, range.low, range.high));
    }
    kernels::pack_bits(reinterpret_cast<const uint8_t*>(codes), reinterpret_cast<uint8_t*>(to), static_cast<size_t>(n),
                       elem(y.dtype));
  }

  QuantParams params_;
  DType precision_;
};

constexpr DTypes kInputs = DType::f32 | DType::f16 | DType::bf16 | DType::i32;
constexpr OpDef kDefs[] = {
    {"QuantizeLinear", infer, cpu<QuantizeCpu>(kInputs), {.reviewed = 28}},
    {"QuantizeLinear",
     infer,
     cpu<QuantizeCpu>(kInputs),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::QuantizeLinear 1 (x:T1, y_scale:T1, y_zero_point?:T2) -> (y:T2) {axis:i=1, block_size:i=0, "
     "output_dtype:i=0, "
     "saturate:i=1} T1=f32|f16 T2=u8|i8|u16|i16|u4|i4"},
};

}  // namespace

TRUNNION_OPS(quantize_linear, kDefs);

}  // namespace trunnion::ops
