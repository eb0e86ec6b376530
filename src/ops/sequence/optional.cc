// Optional (ai.onnx 15, 28), OptionalGetElement and OptionalHasElement (ai.onnx 15, 18, 28). At run time an optional is
// its element, or a value of kind none.
#include "ops/sequence/sequence_detail.h"

namespace trunnion::ops {
namespace {

Status infer_optional(const ir::Node& n, ir::Facts& f) {
  const ir::Attr* attr = n.find_attr("type");
  const Type* given = attr ? attr->get<Type>() : nullptr;
  if (!f.has(0) && !given) return invalid_argument("either input 0 or attribute type must be present");
  set_type(f, Type::optional_of(f.has(0) ? f.in(0).type : *given));
  return {};
}

Status infer_element(const ir::Node&, ir::Facts& f) {
  const Type& x = f.in(0).type;
  f.out(0) = f.in(0);
  if (x.kind == Type::Kind::optional) set_type(f, x.inner ? *x.inner : Type{});
  return {};
}

Status infer_has(const ir::Node&, ir::Facts& f) {
  f.set(0, DType::boolean, SymShape{});
  return {};
}

class MakeOptional final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new MakeOptional); }
  Status run(KernelContext& ctx) const override {
    ctx.set_output(0, ctx.has_in(0) ? ctx.input_value(0) : Value());
    return {};
  }
};

class GetElement final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new GetElement); }
  Status run(KernelContext& ctx) const override {
    Value v = ctx.input_value(0);
    if (!v.has_value()) return invalid_argument("input 0 is an empty optional");
    ctx.set_output(0, std::move(v));
    return {};
  }
};

class HasElement final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new HasElement); }
  Status run(KernelContext& ctx) const override {
    // A tensor need not be copied to see that it is there.
    const bool has = ctx.has_in(0) && (ctx.in(0).dtype != DType::undefined || ctx.input_value(0).has_value());
    TRN_ASSIGN(TensorView * y, ctx.allocate_output(0, DType::boolean, {}));
    *y->as<bool>() = has;
    return {};
  }
};

constexpr OpDef kDefs[] = {
    {"Optional", infer_optional, cpu<MakeOptional>(kAllTypes, -1), {.reviewed = 28, .dynamic = true}},
    {"OptionalGetElement", infer_element, cpu<GetElement>(kAllTypes, -1), {.reviewed = 28, .dynamic = true}},
    {"OptionalHasElement", infer_has, cpu<HasElement>(kAllTypes, -1), {.reviewed = 28, .dynamic = true}},
};

}  // namespace

TRUNNION_OPS(optional, kDefs);

}  // namespace trunnion::ops
