// And, Or, Xor of booleans and BitwiseAnd, BitwiseOr, BitwiseXor of integers, with broadcasting.
#include "ops/elementwise.h"

namespace trunnion::ops {
namespace {

using kernels::BinaryOp;

Dim both(const Dim& a, const Dim& b) {
  if (a.is_int(0) || b.is_int(0)) return 0;
  return a.is_int() && b.is_int() ? Dim(1) : Dim();
}
Dim either(const Dim& a, const Dim& b) {
  if ((a.is_int() && a.value()) || (b.is_int() && b.value())) return 1;
  return a.is_int() && b.is_int() ? Dim(0) : Dim();
}
Dim differ(const Dim& a, const Dim& b) {
  return a.is_int() && b.is_int() ? Dim((a.value() != 0) != (b.value() != 0)) : Dim();
}

template <auto kContent>
Status infer(const ir::Node& n, ir::Facts& f) {
  return infer_binary(n, f, f.dtype(0), kContent);
}
Status infer_bits(const ir::Node& n, ir::Facts& f) { return infer_binary(n, f, f.dtype(0)); }

constexpr OpDef row(std::string_view name, InferFn infer_fn, DTypes types, MakeFn make, int reviewed) {
  return {name, infer_fn, {types, make, 0}, {.reviewed = reviewed, .in_place_any = true}};
}

constexpr OpDef kDefs[] = {
    row("And", infer<both>, DType::boolean, make_binary<BinaryOp::logical_and>, 7),
    row("Or", infer<either>, DType::boolean, make_binary<BinaryOp::logical_or>, 7),
    row("Xor", infer<differ>, DType::boolean, make_binary<BinaryOp::logical_xor>, 7),
    row("BitwiseAnd", infer_bits, kIntegers, make_binary<BinaryOp::bit_and>, 18),
    row("BitwiseOr", infer_bits, kIntegers, make_binary<BinaryOp::bit_or>, 18),
    row("BitwiseXor", infer_bits, kIntegers, make_binary<BinaryOp::bit_xor>, 18),
};

}  // namespace

TRUNNION_OPS(logical, kDefs);
}  // namespace trunnion::ops
