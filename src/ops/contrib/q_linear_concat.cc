// QLinearConcat (com.microsoft 1): joins 8-bit quantized tensors, each with its own scale and zero point, along an
// axis. Inputs: scale and zero point of the output, then tensor, scale and zero point for each part.
#include "ops/contrib/q_linear_detail.h"
#include "ops/move.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

constexpr int kFirst = 2, kStep = 3;

Status infer(const ir::Node& n, ir::Facts& f) {
  if (f.inputs() < kFirst + kStep || (f.inputs() - kFirst) % kStep != 0)
    return invalid_argument(
        "has {} inputs: 2 for the output and 3 (tensor, scale, zero point) for each part are needed", f.inputs());
  const int own[] = {0, 1};
  TRN_TRY(expect_single(f, own));
  const DType type = f.dtype(1);
  f.set(0, type);
  int rank = -1;
  bool all_known = true;
  for (int i = kFirst; i < f.inputs(); i += kStep) {
    for (int k = 0; k < kStep; ++k)
      if (!f.has(i + k)) return invalid_argument("input {} is missing", i + k);
    for (int k : {0, 2})
      if (f.dtype(i + k) != type && f.dtype(i + k) != DType::undefined && type != DType::undefined)
        return invalid_argument("input {} has type {}, input 1 has type {}", i + k, dtype_name(f.dtype(i + k)),
                                dtype_name(type));
    if (f.dtype(i + 1) != DType::f32 && f.dtype(i + 1) != DType::undefined)
      return invalid_argument("input {} (a scale) has type {}, it must be float", i + 1, dtype_name(f.dtype(i + 1)));
    const int points[] = {i + 1, i + 2};
    TRN_TRY(expect_single(f, points));
    if (f.has_rank(i))
      rank = f.in(i).rank();
    else
      all_known = false;
  }
  if (rank < 0) return {};
  TRN_ASSIGN(const int axis, normalize_axis(n.attr("axis", 0), rank));
  SymShape out = unknown_shape(rank);
  Dim sum = all_known ? Dim(0) : Dim();
  for (int i = kFirst; i < f.inputs(); i += kStep) {
    if (!f.has_rank(i)) continue;
    TRN_TRY(expect_rank(f, i, rank));
    for (int d = 0; d < rank; ++d) {
      const Dim& v = f.in(i).dim(d);
      Dim& o = out[static_cast<size_t>(d)];
      if (d == axis)
        sum = sum + v;
      else if (o.is_int() && v.is_int() && !(o == v))
        return invalid_argument("input {} has size {} on axis {}, the inputs before it have {}", i, v.value(), d,
                                o.value());
      else if (!o.is_int() && (v.is_int() || o.is_unknown()))
        o = v;
    }
  }
  out[static_cast<size_t>(axis)] = sum;
  f.set(0, type, std::move(out));
  return {};
}

class QLinearConcatCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new QLinearConcatCpu(n.attr("axis", 0)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& y = ctx.out(0);
    if (y.count == 0) return {};
    TRN_ASSIGN(const int axis, normalize_axis(axis_, y.rank));
    const int64_t outer = product(y.shape(), 0, axis), inner = product(y.shape(), axis + 1, y.rank),
                  row = y.dim(axis) * inner;
    const kernels::BytePoint to = read_point(ctx, 0);
    int64_t at = 0;
    for (int i = kFirst; i < ctx.inputs(); i += kStep) {
      const TensorView& x = ctx.in(i);
      const int64_t width = x.dim(axis) * inner;
      if (width == 0) continue;
      const kernels::BytePoint from = read_point(ctx, i + 1);
      if (same_point(from, to)) {
        const kernels::CopyShape box{2, {outer, width}, {width, 1}, {row, 1}};
        copy_strided(ctx, x.data, y.as<uint8_t>() + at, box, y.dtype);
      } else {
        uint8_t table[256];
        requantize_table(from, to, y.dtype, table);
        // Elements counted through all rows; a piece may span several.
        ctx.parallel_for(outer * width, 32768, [&](int64_t begin, int64_t end) {
          while (begin < end) {
            const int64_t r = begin / width, c = begin % width, n = std::min(width - c, end - begin);
            kernels::look_up(table, x.as<const uint8_t>() + begin, y.as<uint8_t>() + at + r * row + c,
                             static_cast<size_t>(n));
            begin += n;
          }
        });
      }
      at += width;
    }
    return {};
  }

 private:
  explicit QLinearConcatCpu(int64_t axis) : axis_(axis) {}
  int64_t axis_;
};

constexpr OpDef kDefs[] = {
    {"QLinearConcat",
     infer,
     cpu<QLinearConcatCpu>(kBytes, 1),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::QLinearConcat 1 (Y_scale:TF, Y_zero_point:T8, inputs+~:TV) -> (Y:T8) {axis!:i} T8=u8|i8 TF=f32 "
     "TV=u8|i8|f32"},
};

}  // namespace

TRUNNION_OPS(q_linear_concat, kDefs);

}  // namespace trunnion::ops
