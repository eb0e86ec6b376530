// QLinearSoftmax (com.microsoft 1): softmax of 8-bit quantized elements, quantized again. The exponentials of all 256
// differences to the largest element stand in a table.
#include <cmath>

#include "kernels/quant.h"
#include "kernels/transpose.h"
#include "ops/contrib/q_linear_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

enum Input { kX, kXScale, kXZero, kYScale, kYZero };

Status infer(const ir::Node& n, ir::Facts& f) {
  const int points[] = {kXScale, kXZero, kYScale, kYZero};
  TRN_TRY(expect_single(f, points));
  if (f.has_rank(kX)) TRN_TRY(normalize_axis(n.attr("axis", -1), f.in(kX).rank()));
  f.set(0, f.dtype(kX), f.in(kX).type.shape);
  return {};
}

struct State final : KernelState {
  int64_t rows = 0, length = 0;
  kernels::TransposePlan in, out;  // when the axis is not the last one
  bool transposes = false;
  size_t y_offset = 0;
};

class QLinearSoftmaxCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new QLinearSoftmaxCpu(n.attr("axis", -1), n.attr("opset", 13) < 13));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    const TensorView& x = ctx.in(kX);
    TRN_ASSIGN(const int axis, normalize_axis(axis_, x.rank));
    const int64_t inner = flat_ ? 1 : product(x.shape(), axis + 1, x.rank);
    s->length = flat_ ? product(x.shape(), axis, x.rank) : x.dim(axis);
    s->rows = s->length ? x.count / s->length : 0;
    if (inner > 1 && s->rows > 0) {
      const int64_t outer = s->rows / inner;
      const int64_t dims[] = {outer, s->length, inner}, back[] = {outer, inner, s->length}, perm[] = {0, 2, 1};
      s->transposes =
          kernels::transpose_plan(dims, perm, 3, 1, s->in) && kernels::transpose_plan(back, perm, 3, 1, s->out);
      if (!s->transposes) return invalid_argument("input 0 has shape {}", shape_text(x.shape()));
      s->y_offset = (static_cast<size_t>(x.count) + 63) / 64 * 64;
      ctx.request_scratch(2 * s->y_offset);
    }
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const TensorView& x = ctx.in(kX);
    if (x.count == 0) return {};
    const bool is_signed = x.dtype == DType::i8;
    const kernels::BytePoint to = read_point(ctx, kYScale);
    float table[256];
    exponentials(*ctx.in(kXScale).as<float>(), s.length, table);
    // Times the full steps of the output between 0 and 1.
    const float steps = std::floor(1.0f / to.scale);
    float scaled[256];
    for (int i = 0; i < 256; ++i) scaled[i] = table[i] * steps;
    const auto* from = x.as<const uint8_t>();
    auto* y = ctx.out(0).as<uint8_t>();
    if (s.transposes) {
      move(ctx, s.in, from, ctx.scratch());
      from = reinterpret_cast<const uint8_t*>(ctx.scratch());
      y = reinterpret_cast<uint8_t*>(ctx.scratch() + s.y_offset);
    }
    ctx.parallel_for(s.rows, std::max<int64_t>(1, 16384 / s.length), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; r += kTogether)
        rows(from + r * s.length, y + r * s.length, std::min<int64_t>(kTogether, end - r), s.length, table, scaled,
             to.zero, is_signed);
    });
    if (s.transposes) move(ctx, s.out, y, ctx.out(0).data);
    return {};
  }

 private:
  QLinearSoftmaxCpu(int64_t axis, bool flat) : axis_(axis), flat_(flat) {}

  static void move(KernelContext& ctx, const kernels::TransposePlan& plan, const void* x, void* y) {
    const int64_t grain = std::max<int64_t>(1, (int64_t{256} << 10) / std::max<int64_t>(1, plan.unit_bytes));
    ctx.parallel_for(plan.units, grain,
                     [&](int64_t begin, int64_t end) { kernels::transpose(plan, x, y, begin, end); });
  }

  // table[255 - d] is e^(-d scale), made so large that the sum of a row of ones is near the end of the float range.
  static void exponentials(float scale, int64_t length, float* table) {
    const double room = std::log(std::numeric_limits<float>::max() / static_cast<float>(length));
    const double shift = std::max(0.0, room - 5) / static_cast<double>(scale);
    for (int i = 0; i < 256; ++i)
      table[i] = static_cast<float>(std::exp((static_cast<double>(i) - 255 + shift) * static_cast<double>(scale)));
  }

  static constexpr int kTogether = 4;  // rows whose sums are taken side by side: each has its order

  static void rows(const uint8_t* x, uint8_t* y, int64_t count, int64_t n, const float* table, const float* scaled,
                   int32_t zero, bool is_signed) {
    // Signed codes become unsigned ones that are 128 larger: only differences count.
    const uint8_t flip = is_signed ? 128 : 0;
    uint8_t largest[kTogether];
    const float* shifted[kTogether];
    for (int64_t r = 0; r < count; ++r) {
      largest[r] = largest_of(x + r * n, n, flip);
      shifted[r] = table + (255 - largest[r]);
    }
    float sum[kTogether] = {};
    if (count == kTogether) {
      for (int64_t i = 0; i < n; ++i)
        for (int64_t r = 0; r < kTogether; ++r) sum[r] += shifted[r][x[r * n + i] ^ flip];
    } else {
      for (int64_t r = 0; r < count; ++r)
        for (int64_t i = 0; i < n; ++i) sum[r] += shifted[r][x[r * n + i] ^ flip];
    }
    const kernels::QuantizeFn quantize = kernels::quantize(is_signed ? kernels::Elem::i8 : kernels::Elem::u8);
    for (int64_t r = 0; r < count; ++r, x += n, y += n) {
      const float* parts = scaled + (255 - largest[r]);  // numerators of the results
      uint8_t bytes[256];
      if (n < 256) {
        float values[256];
        for (int64_t i = 0; i < n; ++i) bytes[i] = x[i] ^ flip;
        kernels::look_up(parts, bytes, values, static_cast<size_t>(n));
        quantize(values, y, static_cast<size_t>(n), sum[r], zero);
        continue;
      }
      uint8_t results[256];
      quantize(parts, bytes, static_cast<size_t>(largest[r]) + 1, sum[r], zero);
      for (int code = 0; code <= largest[r]; ++code) results[code ^ flip] = bytes[code];
      kernels::look_up(results, x, y, static_cast<size_t>(n));
    }
  }

  static uint8_t largest_of(const uint8_t* x, int64_t n, uint8_t flip) {
    uint8_t largest = 0;
    for (int64_t i = 0; i < n; ++i) largest = std::max<uint8_t>(largest, x[i] ^ flip);
    return largest;
  }

  int64_t axis_;
  bool flat_;  // before opset 13: all dimensions from the axis on are one
};

constexpr OpDef kDefs[] = {
    {"QLinearSoftmax",
     infer,
     cpu<QLinearSoftmaxCpu>(kBytes),
     {.reviewed = 1, .in_place = {{0, 0}}},
     "com.microsoft",
     "com.microsoft::QLinearSoftmax 1 (X:T, X_scale:f32, x_zero_point?:T, y_scale:f32, y_zero_point:T) -> (Y:T) "
     "{axis:i=-1, opset!:i} T=u8|i8"},
};

}  // namespace

TRUNNION_OPS(q_linear_softmax, kDefs);

}  // namespace trunnion::ops
