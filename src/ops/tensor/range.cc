// Range (ai.onnx 11, 27; com.microsoft 1 without a delta too): start, start + delta, ... below limit. 16-bit floats are
// computed in float.
#include <cmath>

#include "ops/dispatch.h"
#include "ops/elementwise.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

constexpr DTypes kTypes = kFloats | DType::i16 | DType::i32 | DType::i64;

// Number of elements, exact for integers.
Result<int64_t> count_integers(int64_t start, int64_t limit, int64_t delta) {
  if (delta == 0) return invalid_argument("delta is 0");
  const bool up = delta > 0;
  if (up ? start >= limit : start <= limit) return int64_t{0};
  const uint64_t distance = up ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                               : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
  const uint64_t step = up ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(delta);
  const uint64_t n = (distance - 1) / step + 1;
  if (n > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return invalid_argument("a range of {} elements is too large", n);
  return static_cast<int64_t>(n);
}

template <class C>
Result<int64_t> count_floats(C start, C limit, C delta) {
  if (delta == 0) return invalid_argument("delta is 0");
  const double n = std::ceil(static_cast<double>(limit - start) / static_cast<double>(delta));
  if (std::isnan(n) || n > 1e15)
    return invalid_argument("start {}, limit {} and delta {} give no range", start, limit, delta);
  return n > 0 ? static_cast<int64_t>(n) : 0;
}

// Elements [begin, end) of the range.
template <class T>
void write(T* y, T start, T delta, int64_t begin, int64_t end) {
  if constexpr (std::is_integral_v<T>) {  // modulo 2^bits
    const auto step = static_cast<uint64_t>(delta);
    uint64_t v = static_cast<uint64_t>(start) + static_cast<uint64_t>(begin) * step;
    constexpr int64_t kTogether = 8;
    uint64_t ahead[kTogether];
    for (int64_t k = 0; k < kTogether; ++k) ahead[k] = static_cast<uint64_t>(k) * step;
    int64_t i = begin;
    for (; i + kTogether <= end; i += kTogether, v += kTogether * step)
      for (int64_t k = 0; k < kTogether; ++k) y[i + k] = static_cast<T>(v + ahead[k]);
    for (; i < end; ++i, v += step) y[i] = static_cast<T>(v);
  } else {
    using C = Compute<T>;
    for (int64_t i = begin; i < end; ++i)
      y[i] = static_cast<T>(static_cast<C>(start) + static_cast<C>(i) * static_cast<C>(delta));
  }
}

Status infer(const ir::Node&, ir::Facts& f) {
  f.set(0, f.dtype(0), unknown_shape(1));
  for (int i = 0; i < 3; ++i)
    if (f.has_rank(i) && f.in(i).rank() > 1)
      return invalid_argument("input {} has shape {}, needs a scalar", i, shape_text(f.in(i).shape()));
  if (f.dtype(0) == DType::undefined) return {};
  Dim count;
  if (is_float(f.dtype(0))) {
    const Tensor* in[] = {f.constant(0), f.constant(1), f.constant(2)};
    for (int i = 0; i < 3; ++i)
      if (f.has(i) && (!in[i] || in[i]->count() != 1 || in[i]->dtype() != f.dtype(0))) return {};
    TRN_TRY(dispatch<kFloats.bits()>(f.dtype(0), [&]<class T>() -> Status {
      using C = Compute<T>;
      const C delta = in[2] ? static_cast<C>(*in[2]->data<T>()) : C(1);
      TRN_ASSIGN(count, count_floats<C>(*in[0]->data<T>(), *in[1]->data<T>(), delta));
      return {};
    }));
  } else {
    const auto start = f.dims(0), limit = f.dims(1), delta = f.has(2) ? f.dims(2) : SymShape{Dim(1)};
    if (!start || !limit || !delta || start->size() != 1 || limit->size() != 1 || delta->size() != 1) return {};
    const Dim &a = (*start)[0], &b = (*limit)[0], &step = (*delta)[0];
    if (a.is_int() && b.is_int() && step.is_int()) {
      TRN_ASSIGN(const int64_t n, count_integers(a.value(), b.value(), step.value()));
      count = n;
      if (n <= ir::kMaxContent) {
        std::vector<Dim> values;
        for (int64_t i = 0; i < n; ++i) values.push_back(a + Dim(i) * step);
        f.out(0).content = std::move(values);
      }
    } else if (step.is_int() && step.value() > 0) {
      // max(0, ...) only where the distance may be negative.
      const Dim distance = b - a;
      const bool sure = a.is_int(0) && is_not_negative(b);
      count = ceil_div(sure ? distance : dim_max(distance, 0), step);
    }
  }
  f.out(0).type.shape = SymShape{count};
  return {};
}

class RangeKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new RangeKernel); }
  Status run(KernelContext& ctx) const override {
    TensorView& y = ctx.out(0);
    for (int i = 0; i < 3; ++i)
      if ((i < 2 || ctx.has_in(i)) && (ctx.in(i).count != 1 || ctx.in(i).dtype != y.dtype))
        return invalid_argument("input {} is no scalar of type {}", i, dtype_name(y.dtype));
    return dispatch<kTypes.bits()>(y.dtype, [&]<class T>() {
      const T start = *ctx.in(0).as<const T>(), delta = ctx.has_in(2) ? *ctx.in(2).as<const T>() : T(1);
      ctx.parallel_for(y.count, 16384,
                       [&](int64_t begin, int64_t end) { write<T>(y.as<T>(), start, delta, begin, end); });
    });
  }
};

constexpr OpDef kDefs[] = {
    {"Range", infer, cpu<RangeKernel>(kTypes), {.reviewed = 27}},
    {"Range",
     infer,
     cpu<RangeKernel>(kTypes),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::Range 1 (start:T, limit:T, delta?:T) -> (Y:T) T=f32|f64|i16|i32|i64"},
};

}  // namespace

TRUNNION_OPS(range, kDefs);
}  // namespace trunnion::ops
