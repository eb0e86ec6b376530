// GatherBlockQuantized (com.microsoft 1): entries of one axis by index, dequantized with a scale for each block along
// another axis. Indices out of range give zeros.
#include <algorithm>

#include "kernels/convert.h"
#include "kernels/quant.h"
#include "ops/dispatch.h"
#include "ops/half_adapter.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

enum Input { kData, kIndices, kScales, kZeros };
constexpr int64_t kChunk = 512;  // elements that are dequantized at once; a multiple of those in a byte

struct Params {
  int64_t gather_axis = 0, quantize_axis = 1, block = 128, bits = 4;
};

bool is_float_code(DType t) { return t != DType::u8 && t != DType::u4 && t != DType::i4; }

// Elements in a byte of data that says it holds bytes.
int64_t per_byte(const Params& p, DType t) { return t == DType::u8 ? 8 / p.bits : 1; }

Result<Params> read(const ir::Node& n) {
  const Params p{n.attr("gather_axis", 0), n.attr("quantize_axis", 1), n.attr("block_size", 128), n.attr("bits", 4)};
  const DType data = n.input(kData)->fact.dtype();
  if (data == DType::undefined) return p;
  const bool whole_axis = p.block == 0 && is_float_code(data);
  if (!whole_axis && (p.block < 16 || p.block > (int64_t{1} << 40) || (p.block & (p.block - 1)) != 0))
    return invalid_argument("attribute block_size is {}, it must be a power of two and at least 16", p.block);
  if (data == DType::u8 ? p.bits != 2 && p.bits != 4 && p.bits != 8 : !is_float_code(data) && p.bits != 4)
    return invalid_argument("attribute bits is {}, not possible with data of type {}", p.bits, dtype_name(data));
  return p;
}

struct Axes {
  int gather, quantize;
};
Result<Axes> read_axes(const Params& p, DType data, int rank) {
  TRN_ASSIGN(const int gather, normalize_axis(p.gather_axis, rank, "gather_axis"));
  TRN_ASSIGN(const int quantize, normalize_axis(p.quantize_axis, rank, "quantize_axis"));
  if (data == DType::u8 && (gather != 0 || quantize != rank - 1 || rank < 2))
    return invalid_argument(
        "data of type uint8 with {} dimensions needs gather_axis 0 and quantize_axis {}, found {} and {}", rank,
        rank - 1, gather, quantize);
  return Axes{gather, quantize};
}

Status check_scales(const Params& p, const Axes& axes, DType type, std::span<const int64_t> data,
                    std::span<const int64_t> scales, const std::optional<Shape>& zeros) {
  const int64_t packed = per_byte(p, type);
  bool fits = scales.size() == data.size(), zeros_fit = !zeros || zeros->size() == scales.size();
  for (size_t i = 0; fits && i < data.size(); ++i) {
    const bool blocks = static_cast<int>(i) == axes.quantize;
    const int64_t size = data[i] * (blocks ? packed : 1), block = p.block ? p.block : std::max<int64_t>(size, 1);
    fits =
        scales[i] == (blocks ? (size + block - 1) / block : size) || (!blocks && is_float_code(type) && scales[i] == 1);
    if (zeros && zeros_fit) zeros_fit = (*zeros)[i] == (blocks ? (scales[i] + packed - 1) / packed : scales[i]);
  }
  if (!fits)
    return invalid_argument(
        "input 2 (scales) has shape {}, it does not fit data of shape {} in blocks of {} on axis {}",
        shape_text(scales), shape_text(data), p.block, axes.quantize);
  if (!zeros_fit)
    return invalid_argument("input 3 (zero points) has shape {}, it does not fit scales of shape {}",
                            shape_text(*zeros), shape_text(scales));
  return {};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  const DType out = f.dtype(kScales), type = f.dtype(kData);
  f.set(0, out);
  if (f.has(kZeros) && is_float_code(type) && type != DType::undefined)
    return invalid_argument("input 3 (zero points) must be absent when the data has type {}", dtype_name(type));
  if (!f.has_rank(kData)) return {};
  const SymShape& data = f.in(kData).shape();
  TRN_ASSIGN(const Axes axes, read_axes(p, type, f.in(kData).rank()));
  if (f.has_rank(kScales)) {
    const auto d = f.in(kData).concrete(), s = f.in(kScales).concrete();
    if (d && s)
      TRN_TRY(check_scales(p, axes, type, *d, *s, f.has_rank(kZeros) ? f.in(kZeros).concrete() : std::nullopt));
  }
  if (!f.has_rank(kIndices)) return {};
  SymShape y(data.begin(), data.begin() + axes.gather);
  y.insert(y.end(), f.in(kIndices).shape().begin(), f.in(kIndices).shape().end());
  y.insert(y.end(), data.begin() + axes.gather + 1, data.end());
  if (per_byte(p, type) > 1) y.back() = y.back() * Dim(per_byte(p, type));
  f.set(0, out, std::move(y));
  return {};
}

struct State final : KernelState {
  Axes axes{};
  int64_t outer = 1, entries = 1, inner = 1;  // data around the gathered axis, in elements
  int64_t block = 1, packed = 1;
  Shape data, scale_strides;  // of elements; a repeated scale has stride 0
};

class GatherBlockQuantizedCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const Params p, read(n));
    return std::unique_ptr<Kernel>(new GatherBlockQuantizedCpu(p));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    const TensorView &data = ctx.in(kData), &scales = ctx.in(kScales);
    TRN_ASSIGN(s->axes, read_axes(p_, data.dtype, data.rank));
    std::optional<Shape> zeros;
    if (ctx.has_in(kZeros)) zeros = Shape(ctx.in(kZeros).shape());
    TRN_TRY(check_scales(p_, s->axes, data.dtype, data.shape(), scales.shape(), zeros));
    s->packed = per_byte(p_, data.dtype);
    s->data = Shape(data.shape());
    s->data.back() *= s->packed;
    const auto q = static_cast<size_t>(s->axes.quantize);
    s->block = p_.block ? p_.block : std::max<int64_t>(s->data[q], 1);
    s->outer = product(s->data, 0, s->axes.gather);
    s->entries = s->data[static_cast<size_t>(s->axes.gather)];
    s->inner = product(s->data, s->axes.gather + 1, data.rank);
    s->scale_strides = row_major_strides(scales.shape());
    for (size_t i = 0; i < s->data.size(); ++i)
      if (i != q && scales.dim(static_cast<int>(i)) == 1) s->scale_strides[i] = 0;
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const TensorView &indices = ctx.in(kIndices), &y = ctx.out(0);
    if (y.count == 0) return {};
    ctx.parallel_for(s.outer * indices.count, std::max<int64_t>(1, 16384 / s.inner), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = i % indices.count;
        int64_t index = indices.dtype == DType::i32 ? indices.as<int32_t>()[at] : indices.as<int64_t>()[at];
        float* to = y.as<float>() + i * s.inner;
        if (index < -s.entries || index >= s.entries) {
          std::fill_n(to, s.inner, 0.0f);
          continue;
        }
        if (index < 0) index += s.entries;
        entry(ctx, s, (i / indices.count * s.entries + index) * s.inner, to);
      }
    });
    return {};
  }

 private:
  explicit GatherBlockQuantizedCpu(Params p) : p_(p) {}

  // Elements [from, from + inner) of the data.
  void entry(const KernelContext& ctx, const State& s, int64_t from, float* to) const {
    Codes codes;
    for (int64_t done = 0; done < s.inner;) {
      const int64_t first = from + done;
      // Chunks start at a byte: what stands before the first element there is unpacked and left out.
      const int64_t skip = first % 8, n = std::min(kChunk - skip, s.inner - done);
      unpack(ctx.in(kData), first - skip, skip + n, codes);
      scale(ctx, s, first, skip, n, codes, to + done);
      done += n;
    }
  }

  struct Codes {
    float values[kChunk];  // of float types
    uint8_t bytes[kChunk];
  };

  // `first` is a multiple of 8.
  void unpack(const TensorView& data, int64_t first, int64_t n, Codes& codes) const {
    const DType type = data.dtype != DType::u8 || p_.bits == 8 ? data.dtype : p_.bits == 4 ? DType::u4 : DType::u2;
    const auto* from = data.as<const uint8_t>() + first * bits_of(type) / 8;
    const auto count = static_cast<size_t>(n);
    if (is_float_code(data.dtype))
      kernels::convert(elem(type), kernels::Elem::f32)(from, codes.values, count, {});
    else if (type == DType::u8)
      std::copy_n(from, count, codes.bytes);
    else
      kernels::unpack_bits(from, codes.bytes, count, elem(type));
  }

  int32_t zero(const KernelContext& ctx, int64_t scale, const State& s) const {
    const DType type = ctx.in(kData).dtype;
    if (!ctx.has_in(kZeros)) return type == DType::u8 ? 1 << (p_.bits - 1) : 0;
    const auto* z = ctx.in(kZeros).as<const uint8_t>();
    if (type == DType::u8) {
      // Packed along the last axis of the scales.
      const TensorView& scales = ctx.in(kScales);
      const int64_t row = scales.dim(scales.rank - 1), at = scale % row;
      const int64_t bytes = (row + s.packed - 1) / s.packed;
      const int byte = z[scale / row * bytes + at / s.packed];
      return byte >> (at % s.packed * p_.bits) & ((1 << p_.bits) - 1);
    }
    const int code = z[scale / 2] >> (scale % 2 * 4) & 15;
    return type == DType::i4 ? (code ^ 8) - 8 : code;
  }

  // to[i] = (code[skip + i] - zero point) * scale for the elements from `first` on.
  void scale(const KernelContext& ctx, const State& s, int64_t first, int64_t skip, int64_t n, const Codes& codes,
             float* to) const {
    const int rank = static_cast<int>(s.data.size());
    const float* scales = ctx.in(kScales).as<const float>();
    const DType type = ctx.in(kData).dtype;
    const kernels::DequantizeFn fn = kernels::dequantize(type == DType::i4 ? kernels::Elem::i8 : kernels::Elem::u8);
    Shape at(s.data);
    int64_t rest = first;
    for (int d = rank - 1; d >= 0; --d) {
      at[static_cast<size_t>(d)] = rest % s.data[static_cast<size_t>(d)];
      rest /= s.data[static_cast<size_t>(d)];
    }
    const auto last = static_cast<size_t>(rank - 1), q = static_cast<size_t>(s.axes.quantize);
    for (int64_t i = 0; i < n;) {
      int64_t k = 0;
      for (size_t d = 0; d < s.data.size(); ++d) k += (d == q ? at[d] / s.block : at[d]) * s.scale_strides[d];
      // A run of elements that share the scale, or one element.
      int64_t run = 1;
      if (last == q) run = std::min(s.block - at[last] % s.block, s.data[last] - at[last]);
      if (last != q && s.scale_strides[last] == 0) run = s.data[last] - at[last];
      run = std::min(run, n - i);
      const float by = scales[k];
      if (is_float_code(type))
        for (int64_t j = 0; j < run; ++j) to[i + j] = codes.values[skip + i + j] * by;
      else
        fn(codes.bytes + skip + i, to + i, static_cast<size_t>(run), by, zero(ctx, k, s));
      i += run;
      at[last] += run;
      for (size_t d = last; d > 0 && at[d] == s.data[d]; --d) {
        at[d] = 0;
        ++at[d - 1];
      }
    }
  }

  Params p_;
};

constexpr DTypes kTypes = DType::u8 | DType::u4 | DType::i4 | DType::f8e4m3fn | DType::f8e4m3fnuz | DType::f8e5m2 |
                          DType::f8e5m2fnuz | DType::f4e2m1;
constexpr OpDef kDefs[] = {
    {"GatherBlockQuantized",
     infer,
     cpu_widened<GatherBlockQuantizedCpu>(kTypes),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::GatherBlockQuantized 1 (data:T1, indices:Tind, scales:T2, zero_points?:T1) -> (output:T2) "
     "{bits:i=4, block_size:i=128, gather_axis:i=0, quantize_axis:i=1} "
     "T1=i4|u4|u8|f8e4m3fn|f8e4m3fnuz|f8e5m2|f8e5m2fnuz|f4e2m1 T2=f32|f16|bf16 Tind=i32|i64"},
};

}  // namespace

TRUNNION_OPS(gather_block_quantized, kDefs);

}  // namespace trunnion::ops
