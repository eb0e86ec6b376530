// SequenceConstruct, SequenceEmpty, SequenceAt, SequenceInsert, SequenceErase and SequenceLength (ai.onnx 11).
#include "ops/sequence/sequence_detail.h"

namespace trunnion::ops {
namespace {

Result<DType> empty_type(const ir::Node& n) {
  const int64_t code = n.attr("dtype", static_cast<int64_t>(DType::f32));
  const auto type = dtype_from_code(code);
  if (!type) return invalid_argument("attribute dtype is {}: no such element type", code);
  return *type;
}

Status infer_construct(const ir::Node&, ir::Facts& f) {
  for (int i = 1; i < f.inputs(); ++i)
    if (f.dtype(i) != f.dtype(0) && f.dtype(i) != DType::undefined && f.dtype(0) != DType::undefined)
      return invalid_argument("input {} has type {}, input 0 has type {}", i, dtype_name(f.dtype(i)),
                              dtype_name(f.dtype(0)));
  set_type(f, Type::sequence(Type::tensor(f.dtype(0))));
  return {};
}
Status infer_empty(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const DType type, empty_type(n));
  set_type(f, Type::sequence(Type::tensor(type)));
  return {};
}
Status infer_at(const ir::Node&, ir::Facts& f) {
  set_type(f, element_type(f, 0));
  return {};
}
Status infer_edit(const ir::Node& n, ir::Facts& f) {
  const Type element = element_type(f, 0);
  if (n.op_type() == "SequenceInsert" && f.has(1) && !same_kind(element, f.in(1).type))
    return invalid_argument("input 1 has type {}, the sequence holds {}", f.in(1).type.text(), element.text());
  set_type(f, Type::sequence(element));
  return {};
}
Status infer_length(const ir::Node&, ir::Facts& f) {
  f.set(0, DType::i64, SymShape{});
  return {};
}

class Construct final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new Construct); }
  Status run(KernelContext& ctx) const override {
    Sequence s;
    for (int i = 0; i < ctx.inputs(); ++i) {
      s.items.push_back(ctx.input_value(i));
      if (i == 0) s.element = s.items[0].is_tensor() ? Type::tensor(s.items[0].tensor().dtype()) : s.items[0].type();
    }
    ctx.set_output(0, Value(std::move(s)));
    return {};
  }
};

class Empty final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const DType type, empty_type(n));
    return std::unique_ptr<Kernel>(new Empty(type));
  }
  Status run(KernelContext& ctx) const override {
    ctx.set_output(0, Value(Sequence{Type::tensor(type_), {}}));
    return {};
  }

 private:
  explicit Empty(DType type) : type_(type) {}
  DType type_;
};

// The position in input i: a scalar, -n <= position < n + extra. `fallback` when the input is absent.
Result<int64_t> position(const KernelContext& ctx, int i, int64_t n, int64_t extra, int64_t fallback) {
  if (!ctx.has_in(i)) return fallback;
  const TensorView& t = ctx.in(i);
  if (t.count != 1)
    return invalid_argument("input {} (position) has shape {}, it must hold one value", i, shape_text(t.shape()));
  const int64_t p = t.dtype == DType::i32 ? *t.as<const int32_t>() : *t.as<const int64_t>();
  if (p < -n || p >= n + extra)
    return invalid_argument("position {} is out of range for a sequence of {} elements", p, n);
  return p < 0 ? p + n : p;
}

class At final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new At); }
  Status run(KernelContext& ctx) const override {
    TRN_ASSIGN(const Value v, input_sequence(ctx, 0));
    const auto& items = v.sequence().items;
    TRN_ASSIGN(const int64_t at, position(ctx, 1, static_cast<int64_t>(items.size()), 0, 0));
    ctx.set_output(0, items[static_cast<size_t>(at)]);
    return {};
  }
};

class Insert final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new Insert); }
  Status run(KernelContext& ctx) const override {
    TRN_ASSIGN(const Value v, input_sequence(ctx, 0));
    Sequence s = v.sequence();
    const auto n = static_cast<int64_t>(s.items.size());
    TRN_ASSIGN(const int64_t at, position(ctx, 2, n, 1, n));
    Value item = ctx.input_value(1);
    if (!same_kind(s.element, item.type()))
      return invalid_argument("input 1 has type {}, the sequence holds {}", item.type().text(), s.element.text());
    s.items.insert(s.items.begin() + at, std::move(item));
    ctx.set_output(0, Value(std::move(s)));
    return {};
  }
};

class Erase final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new Erase); }
  Status run(KernelContext& ctx) const override {
    TRN_ASSIGN(const Value v, input_sequence(ctx, 0));
    Sequence s = v.sequence();
    const auto n = static_cast<int64_t>(s.items.size());
    if (n == 0) return invalid_argument("the sequence is empty");
    TRN_ASSIGN(const int64_t at, position(ctx, 1, n, 0, n - 1));
    s.items.erase(s.items.begin() + at);
    ctx.set_output(0, Value(std::move(s)));
    return {};
  }
};

class Length final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new Length); }
  Status run(KernelContext& ctx) const override {
    TRN_ASSIGN(const Value v, input_sequence(ctx, 0));
    TRN_ASSIGN(TensorView * y, ctx.allocate_output(0, DType::i64, {}));
    *y->as<int64_t>() = static_cast<int64_t>(v.sequence().items.size());
    return {};
  }
};

constexpr OpDef kDefs[] = {
    {"SequenceConstruct", infer_construct, cpu<Construct>(kAllTypes, -1), {.reviewed = 11, .dynamic = true}},
    {"SequenceEmpty", infer_empty, cpu<Empty>(kAllTypes, -1), {.reviewed = 11, .dynamic = true}},
    {"SequenceAt", infer_at, cpu<At>(kAllTypes, -1), {.reviewed = 11, .dynamic = true}},
    {"SequenceInsert", infer_edit, cpu<Insert>(kAllTypes, -1), {.reviewed = 11, .dynamic = true}},
    {"SequenceErase", infer_edit, cpu<Erase>(kAllTypes, -1), {.reviewed = 11, .dynamic = true}},
    {"SequenceLength", infer_length, cpu<Length>(kAllTypes, -1), {.reviewed = 11, .dynamic = true}},
};

}  // namespace

TRUNNION_OPS(sequence_edit, kDefs);

}  // namespace trunnion::ops
