// Mathematics of one input, element by element: Abs ... Tanh's siblings, IsNaN, IsInf, BitwiseNot, Not.
// The operators differ by the kernel function alone; activations with parameters are in nn/activations.cc.
#include <cmath>

#include "ops/dispatch.h"
#include "ops/elementwise.h"

namespace trunnion::ops {
namespace {

using kernels::UnaryOp;

Dim negate(const Dim& v, const Dim&) { return Dim(0) - v; }
Dim absolute(const Dim& v, const Dim&) { return is_not_negative(v) ? v : v.is_int() ? Dim(0) - v : Dim(); }

// Contents of one input through the two-input form: the input stands on both sides.
Status infer_content(const ir::Node& n, ir::Facts& f, ContentFn fn) {
  TRN_TRY(infer_elementwise(n, f));
  if (!f.has_rank(0) || f.in(0).rank() > 1 || (f.dtype(0) != DType::i64 && f.dtype(0) != DType::i32)) return {};
  auto values = f.dims(0);
  if (!values || values->size() > static_cast<size_t>(ir::kMaxContent)) return {};
  for (Dim& v : *values) {
    v = fn(v, v);
    if (f.dtype(0) == DType::i32 && v.is_int() && v.value() != static_cast<int32_t>(v.value())) v = Dim();
  }
  f.out(0).content = std::move(values);
  return {};
}
Status infer_neg(const ir::Node& n, ir::Facts& f) { return infer_content(n, f, negate); }
Status infer_abs(const ir::Node& n, ir::Facts& f) { return infer_content(n, f, absolute); }

// IsNaN and IsInf: booleans out.
class TestKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    const DType type = node.input(0)->fact.dtype();
    const auto fn = node.op_type() == "IsNaN" ? kernels::is_nan(elem(type))
                                              : kernels::is_inf(elem(type), node.attr("detect_positive", 1) != 0,
                                                                node.attr("detect_negative", 1) != 0);
    if (!fn) return not_implemented("element type {} has no kernel", dtype_name(type));
    return std::unique_ptr<Kernel>(new TestKernel(fn, size_of(type)));
  }
  Status run(KernelContext& ctx) const override {
    const auto* x = ctx.in(0).as<const std::byte>();
    auto* y = ctx.out(0).as<bool>();
    ctx.parallel_for(ctx.in(0).count, 32768, [&](int64_t begin, int64_t end) {
      fn_(x + static_cast<size_t>(begin) * size_, y + begin, static_cast<size_t>(end - begin));
    });
    return {};
  }

 private:
  TestKernel(kernels::TestFn fn, size_t size) : fn_(fn), size_(size) {}
  kernels::TestFn fn_;
  size_t size_;
};

// Erf: integers, which version 9 takes too, give the integer part.
class IntegerErf final : public Kernel {
 public:
  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    return dispatch<kIntegers.bits()>(x.dtype, [&]<class T>() {
      for (int64_t i = 0; i < x.count; ++i)
        y.as<T>()[i] = static_cast<T>(std::trunc(std::erf(static_cast<double>(x.as<const T>()[i]))));
    });
  }
};
Result<std::unique_ptr<Kernel>> make_erf(const ir::Node& node) {
  if (is_integer(node.input(0)->fact.dtype())) return std::unique_ptr<Kernel>(new IntegerErf);
  return make_unary<UnaryOp::erf>(node);
}

template <UnaryOp kOp>
constexpr OpDef row(std::string_view name, DTypes types, int reviewed) {
  return {name, infer_elementwise, {types, make_unary<kOp>, 0}, {.reviewed = reviewed, .in_place_any = true}};
}

constexpr DTypes kSignedNumbers = kFloats | kSignedIntegers;

constexpr OpDef kDefs[] = {
    {"Abs", infer_abs, {kNumeric, make_unary<UnaryOp::abs>, 0}, {.reviewed = 13, .in_place_any = true}},
    {"Neg", infer_neg, {kSignedNumbers, make_unary<UnaryOp::neg>, 0}, {.reviewed = 13, .in_place_any = true}},
    row<UnaryOp::sign>("Sign", kNumeric, 13),
    row<UnaryOp::floor>("Floor", kFloats, 13),
    row<UnaryOp::ceil>("Ceil", kFloats, 13),
    row<UnaryOp::round>("Round", kFloats, 22),
    row<UnaryOp::sqrt>("Sqrt", kFloats, 13),
    row<UnaryOp::reciprocal>("Reciprocal", kFloats, 13),
    row<UnaryOp::exp>("Exp", kFloats, 13),
    row<UnaryOp::log>("Log", kFloats, 13),
    row<UnaryOp::sin>("Sin", kFloats, 22),
    row<UnaryOp::cos>("Cos", kFloats, 22),
    row<UnaryOp::tan>("Tan", kFloats, 22),
    row<UnaryOp::asin>("Asin", kFloats, 22),
    row<UnaryOp::acos>("Acos", kFloats, 22),
    row<UnaryOp::atan>("Atan", kFloats, 22),
    row<UnaryOp::sinh>("Sinh", kFloats, 22),
    row<UnaryOp::cosh>("Cosh", kFloats, 22),
    row<UnaryOp::asinh>("Asinh", kFloats, 22),
    row<UnaryOp::acosh>("Acosh", kFloats, 22),
    row<UnaryOp::atanh>("Atanh", kFloats, 22),
    {"Erf", infer_elementwise, {kFloats | kIntegers, make_erf}, {.reviewed = 13, .in_place_any = true}},
    row<UnaryOp::bit_not>("BitwiseNot", kIntegers, 18),
    row<UnaryOp::logical_not>("Not", DType::boolean, 1),
    {"IsNaN", infer_elementwise_bool, cpu<TestKernel>(kFloats | kFloat8), {.reviewed = 20}},
    {"IsInf", infer_elementwise_bool, cpu<TestKernel>(kFloats | kFloat8), {.reviewed = 20}},
};

}  // namespace

TRUNNION_OPS(unary_math, kDefs);
}  // namespace trunnion::ops
