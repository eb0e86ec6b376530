// Arithmetic of two inputs with broadcasting: Add, Sub, Mul, Div, Mod, BitShift, PRelu. Pow has its own file.
// Before opset 7 attributes `broadcast` and `axis` place the second shape (see ops/elementwise.h).
#include <limits>

#include "ops/elementwise.h"

namespace trunnion::ops {
namespace {

using kernels::BinaryOp;

Dim add(const Dim& a, const Dim& b) { return a + b; }
Dim sub(const Dim& a, const Dim& b) { return a - b; }
Dim mul(const Dim& a, const Dim& b) { return a * b; }
Dim div(const Dim& a, const Dim& b) {  // integers truncate, which is the floor when nothing is negative
  if (b.is_int(0)) return a.is_int() ? Dim(0) : Dim();
  if (a.is_int() && b.is_int()) {
    if (a.value() == std::numeric_limits<int64_t>::min() && b.value() == -1) return Dim();
    return a.value() / b.value();
  }
  const bool positive_divisor = b.is_int() ? b.value() > 0 : is_not_negative(b);
  return positive_divisor && (!a.is_int() || a.value() >= 0) ? floor_div(a, b) : Dim();
}
Dim mod(const Dim& a, const Dim& b) {
  if (!b.is_int() || b.value() <= 0 || a.is_unknown()) return Dim();
  return a - floor_div(a, b) * b;
}

Status infer_add(const ir::Node& n, ir::Facts& f) { return infer_binary(n, f, f.dtype(0), add); }
Status infer_sub(const ir::Node& n, ir::Facts& f) { return infer_binary(n, f, f.dtype(0), sub); }
Status infer_mul(const ir::Node& n, ir::Facts& f) { return infer_binary(n, f, f.dtype(0), mul); }
Status infer_div(const ir::Node& n, ir::Facts& f) { return infer_binary(n, f, f.dtype(0), div); }
Status infer_mod(const ir::Node& n, ir::Facts& f) {
  return infer_binary(n, f, f.dtype(0), n.attr("fmod", 0) ? nullptr : mod);
}
Status infer_shift(const ir::Node& n, ir::Facts& f) { return infer_binary(n, f, f.dtype(0)); }

Status infer_prelu(const ir::Node& n, ir::Facts& f) {  // the slope never widens the output
  TRN_TRY(infer_binary(n, f, f.dtype(0)));
  if (!f.has_rank(0)) return {};
  const ir::Fact &x = f.in(0), &y = f.out(0);
  bool wider = y.has_rank() && y.rank() != x.rank();
  for (int i = 0; y.has_rank() && !wider && i < x.rank(); ++i)
    wider = x.dim(i).is_int() && y.dim(i).is_int() && !(x.dim(i) == y.dim(i));
  if (wider)
    return invalid_argument("slope of shape {} does not broadcast to the input's shape {}", shape_text(f.in(1).shape()),
                            shape_text(x.shape()));
  f.out(0).type.shape = x.type.shape;
  return {};
}

Result<std::unique_ptr<Kernel>> make_mod(const ir::Node& n) {
  return BinaryKernel::make(n, n.attr("fmod", 0) ? BinaryOp::fmod : BinaryOp::mod);
}
Result<std::unique_ptr<Kernel>> make_shift(const ir::Node& n) {
  const std::string direction = n.attr("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return invalid_argument("attribute direction is '{}', needs 'LEFT' or 'RIGHT'", direction);
  return BinaryKernel::make(n, direction == "LEFT" ? BinaryOp::shift_left : BinaryOp::shift_right);
}

constexpr OpDef row(std::string_view name, InferFn infer, DTypes types, MakeFn make, int reviewed) {
  return {name, infer, {types, make, 0}, {.reviewed = reviewed, .in_place_any = true}};
}

constexpr OpDef kDefs[] = {
    row("Add", infer_add, kNumeric, make_binary<BinaryOp::add>, 14),
    row("Sub", infer_sub, kNumeric, make_binary<BinaryOp::sub>, 14),
    row("Mul", infer_mul, kNumeric, make_binary<BinaryOp::mul>, 14),
    row("Div", infer_div, kNumeric, make_binary<BinaryOp::div>, 14),
    row("Mod", infer_mod, kNumeric, make_mod, 28),
    row("BitShift", infer_shift, kIntegers, make_shift, 28),
    row("PRelu", infer_prelu, kFloats | DType::i32 | DType::i64 | DType::u32 | DType::u64, make_binary<BinaryOp::prelu>,
        16),
};

}  // namespace

TRUNNION_OPS(binary_math, kDefs);
}  // namespace trunnion::ops
