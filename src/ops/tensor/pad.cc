// Pad (ai.onnx 1 ... 25; com.microsoft 1): constant, reflect, edge or wrap-around borders; negative pads crop. Pads and
// value are attributes before 11, then inputs; 18 adds the axes that the pads belong to.
#include <algorithm>
#include <cstring>
#include <string>

#include "kernels/convert.h"
#include "ops/dispatch.h"
#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

using kernels::PadMode;
using kernels::PadShape;

struct Params {
  PadMode mode = PadMode::constant;
  bool inputs = true;         // pads, value and axes are inputs
  std::vector<int64_t> pads;  // attribute
  float value = 0;            // attribute
};

Result<Params> read(const ir::Node& n) {
  Params p;
  const std::string mode = n.attr("mode", "constant");
  if (mode == "constant")
    p.mode = PadMode::constant;
  else if (mode == "reflect")
    p.mode = PadMode::reflect;
  else if (mode == "edge")
    p.mode = PadMode::edge;
  else if (mode == "wrap" && (n.since() >= 19 || !n.domain().empty()))
    p.mode = PadMode::wrap;
  else
    return invalid_argument("attribute mode is '{}', which is no mode of version {}", mode, n.since());
  p.inputs = n.since() >= 11 || !n.domain().empty();
  if (!p.inputs) {
    p.pads = n.ints(n.since() < 2 ? "paddings" : "pads");
    p.value = n.attr("value", 0.f);
  }
  return p;
}

// Pads by axis: [begin of axis 0, ...), [end of axis 0, ...), 0 where the axes list leaves one out.
template <class T, class V>
Result<V> by_axis(const V& pads, std::span<const int64_t> axes, bool has_axes, int rank) {
  const size_t n = has_axes ? axes.size() : static_cast<size_t>(rank);
  if (pads.size() != 2 * n) return invalid_argument("pads has {} entries, needs {}", pads.size(), 2 * n);
  if (!has_axes) return pads;
  V out(2 * static_cast<size_t>(rank), T(0));
  TRN_TRY(normalize_axes(axes, rank));
  for (size_t i = 0; i < n; ++i) {
    TRN_ASSIGN(const int axis, normalize_axis(axes[i], rank));
    out[axis] = pads[i];
    out[axis + rank] = pads[i + n];
  }
  return out;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  if (!f.has(0)) return {};
  f.set(0, f.dtype(0));
  if (!f.has_rank(0)) return {};
  const SymShape& in = f.in(0).shape();
  const int rank = f.in(0).rank();
  SymShape out = unknown_shape(rank);
  std::optional<SymShape> pads;
  if (p.inputs)
    pads = f.dims(1);
  else
    pads = to_symbolic(p.pads);
  const bool has_axes = p.inputs && f.has(3);
  const auto axes = has_axes ? f.ints(3) : std::vector<int64_t>{};
  if (pads && axes) {
    TRN_ASSIGN(*pads, (by_axis<Dim>(*pads, *axes, has_axes, rank)));
    for (int d = 0; d < rank; ++d) {
      const Dim &begin = (*pads)[d], &end = (*pads)[d + rank];
      out[d] = in[d] + begin + end;
      if (out[d].is_int() && out[d].value() < 0)
        return invalid_argument("axis {} of size {} with pads {} and {} gives a negative size", d, in[d].text(),
                                begin.text(), end.text());
      if (p.mode != PadMode::constant && out[d].is_int() && out[d].value() > 0 && in[d].is_int(0))
        return invalid_argument("axis {} has no elements to pad with", d);
    }
  }
  f.out(0).type.shape = std::move(out);
  return {};
}

// The kernel for strings: the same borders, one element at a time.
void pad_strings(const std::string* x, std::string* y, const PadShape& s, PadMode mode, const std::string& value) {
  std::vector<std::vector<int64_t>> source(static_cast<size_t>(s.rank));  // input index of each output index, or -1
  int64_t count = 1;
  for (int d = 0; d < s.rank; ++d) {
    const int64_t n = s.dim[d], period = std::max<int64_t>(1, 2 * (n - 1));
    for (int64_t i = -s.begin[d]; i < n + s.end[d]; ++i) {
      int64_t at = i;
      if (i < 0 || i >= n) {
        at = mode == PadMode::edge ? std::clamp<int64_t>(i, 0, n - 1) : mode == PadMode::wrap ? (i % n + n) % n : -1;
        if (mode == PadMode::reflect) at = (i % period + period) % period;
        if (mode == PadMode::reflect && at >= n) at = period - at;
      }
      source[d].push_back(at);
    }
    count *= static_cast<int64_t>(source[d].size());
  }
  int64_t stride[kernels::kMaxCopyDims];
  kernels::contiguous_strides(s.dim, s.rank, stride);
  for (int64_t k = 0; k < count; ++k) {
    int64_t rest = k, from = 0;
    bool outside = false;
    for (int d = s.rank - 1; d >= 0; --d) {
      const int64_t width = static_cast<int64_t>(source[d].size()), at = source[d][rest % width];
      rest /= width;
      outside |= at < 0;
      from += at * stride[d];
    }
    y[k] = outside ? value : x[from];
  }
}

class PadKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(Params p, read(node));
    return std::unique_ptr<Kernel>(new PadKernel(std::move(p)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    TensorView& y = ctx.out(0);
    TRN_TRY(expect_copy_rank(x.rank));
    PadShape s;
    TRN_TRY(shape(ctx, s));
    if (y.count == 0) return {};
    if (x.dtype == DType::string) {
      const std::string empty;
      const bool given = p_.inputs && ctx.has_in(2) && ctx.in(2).count == 1;
      return with_crop(ctx, x.data, s, DType::string, [&](const void* from) {
        pad_strings(static_cast<const std::string*>(from), y.as<std::string>(), s, p_.mode,
                    given ? *ctx.in(2).as<const std::string>() : empty);
      });
    }
    alignas(16) std::byte value[16] = {};
    TRN_TRY(fill_value(ctx, value));
    if (!is_sub_byte(x.dtype))
      return with_crop(ctx, x.data, s, x.dtype,
                       [&](const void* from) { rows(ctx, from, y.data, s, value, size_of(x.dtype)); });
    // Packed types go through bytes.
    std::vector<uint8_t> in(static_cast<size_t>(x.count)), out(static_cast<size_t>(y.count));
    kernels::unpack_bits(x.as<const uint8_t>(), in.data(), in.size(), elem(x.dtype));
    uint8_t one;
    kernels::unpack_bits(reinterpret_cast<const uint8_t*>(value), &one, 1, elem(x.dtype));
    TRN_TRY(
        with_crop(ctx, in.data(), s, DType::u8, [&](const void* from) { rows(ctx, from, out.data(), s, &one, 1); }));
    kernels::pack_bits(out.data(), y.as<uint8_t>(), out.size(), elem(x.dtype));
    return {};
  }

 private:
  explicit PadKernel(Params p) : p_(std::move(p)) {}

  Status shape(KernelContext& ctx, PadShape& s) const {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    const bool has_axes = p_.inputs && ctx.has_in(3);
    const Shape given = p_.inputs ? read_ints(ctx.in(1)) : Shape(std::span<const int64_t>(p_.pads));
    const Shape axes = has_axes ? read_ints(ctx.in(3)) : Shape{};
    TRN_ASSIGN(const Shape pads, (by_axis<int64_t>(given, axes.span(), has_axes, x.rank)));
    s.rank = x.rank;
    for (int d = 0; d < x.rank; ++d) {
      s.dim[d] = x.dim(d);
      s.begin[d] = pads[d];
      s.end[d] = pads[d + x.rank];
      if (s.dim[d] + s.begin[d] + s.end[d] != y.dim(d))
        return invalid_argument("pads {} and {} of axis {} do not give the output's size {}", s.begin[d], s.end[d], d,
                                y.dim(d));
    }
    return {};
  }

  Status fill_value(KernelContext& ctx, std::byte* value) const {
    const TensorView& x = ctx.in(0);
    if (!p_.inputs)
      return dispatch<kFloats.bits()>(x.dtype, [&]<class T>() {
        const T v = static_cast<T>(p_.value);
        std::memcpy(value, &v, sizeof v);
      });
    if (!ctx.has_in(2) || ctx.in(2).count == 0) return {};
    if (ctx.in(2).count != 1) return invalid_argument("constant_value has {} elements, needs one", ctx.in(2).count);
    std::memcpy(value, ctx.in(2).data, ctx.in(2).bytes());
    return {};
  }

  void rows(KernelContext& ctx, const void* x, void* y, const PadShape& s, const void* value, size_t size) const {
    const TensorView& out = ctx.out(0);
    const int64_t width = out.rank ? out.dim(out.rank - 1) : 1;
    ctx.parallel_for(out.count / width, std::max<int64_t>(1, move_grain(size) / width),
                     [&](int64_t begin, int64_t end) { kernels::pad(x, y, s, p_.mode, value, size, begin, end); });
  }

  // Borders that repeat the input repeat what negative pads leave of it: crop first.
  template <class F>
  Status with_crop(KernelContext& ctx, const void* x, PadShape& s, DType type, F&& fn) const {
    bool crop = false;
    for (int d = 0; d < s.rank; ++d) crop |= s.begin[d] < 0 || s.end[d] < 0;
    if (!crop || p_.mode == PadMode::constant) {
      fn(x);
      return {};
    }
    kernels::CopyShape box;
    box.rank = s.rank;
    kernels::contiguous_strides(s.dim, s.rank, box.src_stride);
    int64_t first = 0;
    Shape left;
    for (int d = 0; d < s.rank; ++d) {
      const int64_t begin = std::min<int64_t>(s.begin[d], 0), end = std::min<int64_t>(s.end[d], 0);
      box.dim[d] = s.dim[d] + begin + end;
      if (box.dim[d] <= 0) return invalid_argument("axis {} has no elements left to pad with", d);
      first -= begin * box.src_stride[d];
      s.begin[d] -= begin;
      s.end[d] -= end;
      s.dim[d] = box.dim[d];
      left.push_back(box.dim[d]);
    }
    kernels::contiguous_strides(box.dim, box.rank, box.dst_stride);
    TRN_ASSIGN(const Tensor cropped, Tensor::allocate(type, left));
    copy_strided(ctx, element(x, first, type), cropped.raw(), box, type);
    fn(static_cast<const void*>(cropped.raw()));
    return {};
  }

  Params p_;
};

constexpr OpDef kDefs[] = {
    {"Pad", infer, cpu<PadKernel>(kAllTypes), {.reviewed = 25}},
    {"Pad",
     infer,
     cpu<PadKernel>(kFloats),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::Pad 1 (data:T, pads:i64, value?:T) -> (output:T) {mode:s='constant'} T=float"},
};

}  // namespace

TRUNNION_OPS(pad, kDefs);
}  // namespace trunnion::ops
