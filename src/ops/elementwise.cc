#include "ops/elementwise.h"

#include <algorithm>

#include "kernels/broadcast_gathered.h"
#include "ops/dispatch.h"

namespace trunnion::ops {

using kernels::BinaryOp;
using kernels::BroadcastPlan;
using kernels::UnaryOp;

Status infer_elementwise(const ir::Node&, ir::Facts& f) {
  if (!f.has(0)) return {};
  f.out(0) = f.in(0);
  f.out(0).content.reset();
  return {};
}

Status infer_elementwise_bool(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(infer_elementwise(n, f));
  f.out(0).type.dtype = DType::boolean;
  return {};
}

int64_t unary_grain(UnaryOp op, DType type) {
  const bool cheap = op <= UnaryOp::leaky_relu
                         ? op != UnaryOp::exp && op != UnaryOp::log
                         : op == UnaryOp::thresholded_relu || op == UnaryOp::shrink || op == UnaryOp::hard_sigmoid ||
                               op == UnaryOp::hard_swish || op == UnaryOp::affine || op == UnaryOp::clip ||
                               op >= UnaryOp::bit_not;
  if (cheap) return 32768;
  return op >= UnaryOp::sin || type == DType::f64 ? 1024 : 8192;  // plain libm against vectors
}

int64_t binary_grain(BinaryOp op, DType type) {
  switch (op) {
    case BinaryOp::pow:
    case BinaryOp::mod:
    case BinaryOp::fmod:
    case BinaryOp::atan2:
      return 1024;
    default:
      return type == DType::f16 || type == DType::bf16 ? 8192 : 32768;
  }
}

Result<std::unique_ptr<Kernel>> UnaryKernel::make(const ir::Node& node, UnaryOp op, kernels::UnaryParams params) {
  const DType type = node.input(0)->fact.dtype();
  const auto fn = kernels::unary(op, elem(type));
  if (!fn) return not_implemented("element type {} has no kernel", dtype_name(type));
  return std::unique_ptr<Kernel>(new UnaryKernel(fn, params, size_of(type), unary_grain(op, type)));
}

Status UnaryKernel::run(KernelContext& ctx) const {
  const auto* x = ctx.in(0).as<const std::byte>();
  auto* y = ctx.out(0).as<std::byte>();
  ctx.parallel_for(ctx.in(0).count, grain_, [&](int64_t begin, int64_t end) {
    const size_t at = static_cast<size_t>(begin) * size_;
    fn_(x + at, y + at, static_cast<size_t>(end - begin), params_);
  });
  return {};
}

BroadcastRule read_broadcast(const ir::Node& node) {
  BroadcastRule r;
  r.legacy = node.opset() < 7;
  if (!r.legacy) return r;
  r.enabled = node.attr("broadcast", 0) != 0;
  r.has_axis = node.has_attr("axis");
  r.axis = node.attr("axis", 0);
  return r;
}

Result<SymShape> aligned_shape(const BroadcastRule& rule, const SymShape& a, const SymShape& b) {
  if (!rule.legacy) return b;
  if (rule.per_channel) {
    if (b.size() != 1 || a.size() <= 2 || b[0].is_int(1)) return b;
    SymShape out(a.size() - 1, Dim(1));
    out[0] = b[0];
    return out;
  }
  if (!rule.enabled) {
    bool differ = a.size() != b.size();
    for (size_t i = 0; !differ && i < a.size(); ++i) differ = a[i].is_int() && b[i].is_int() && !(a[i] == b[i]);
    if (differ)
      return invalid_argument("shapes {} and {} differ and attribute broadcast is not set", shape_text(a),
                              shape_text(b));
    return b;
  }
  if (!rule.has_axis || std::all_of(b.begin(), b.end(), [](const Dim& d) { return d.is_int(1); })) return b;
  const int64_t rank = static_cast<int64_t>(a.size()), width = static_cast<int64_t>(b.size());
  const int64_t axis = rule.axis < 0 ? rule.axis + rank : rule.axis;
  if (axis < 0 || axis + width > rank)
    return invalid_argument("shape {} does not fit into {} at axis {}", shape_text(b), shape_text(a), rule.axis);
  SymShape out = b;
  out.resize(static_cast<size_t>(rank - axis), Dim(1));
  return out;
}

bool is_not_negative(const Dim& d) { return d.is_int() ? d.value() >= 0 : d.symbol_name().has_value(); }

void set_content(ir::Facts& f, ContentFn content) {
  const ir::Fact& out = f.out(0);
  if (!out.has_rank() || out.rank() > 1 || !f.has(0) || !f.has(1)) return;
  // Other integer types wrap around, which dimensions do not.
  if (f.dtype(0) != DType::i64 && f.dtype(0) != DType::i32 && f.dtype(0) != DType::boolean) return;
  const auto a = f.dims(0), b = f.dims(1);
  if (!a || !b) return;
  const size_t n = a->size() == 1 ? b->size() : a->size();
  if (n > static_cast<size_t>(ir::kMaxContent) || (b->size() != n && b->size() != 1)) return;
  std::vector<Dim> values(n);
  for (size_t i = 0; i < n; ++i) {
    values[i] = content((*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
    if (out.dtype() == DType::i32 && values[i].is_int() && values[i].value() != static_cast<int32_t>(values[i].value()))
      values[i] = Dim();
  }
  f.out(0).content = std::move(values);
}

Status infer_binary(const ir::Node& node, ir::Facts& f, DType out, ContentFn content) {
  if (!f.has_rank(0) || !f.has_rank(1)) {
    f.set(0, out);
    return {};
  }
  BroadcastRule rule = read_broadcast(node);
  if (node.op_type() == "PRelu") rule.per_channel = true;
  TRN_ASSIGN(const SymShape b, aligned_shape(rule, f.in(0).shape(), f.in(1).shape()));
  TRN_ASSIGN(SymShape shape, broadcast_shapes(f.in(0).shape(), b));
  f.set(0, out, std::move(shape));
  if (content) set_content(f, content);
  return {};
}

Result<BroadcastPlan> plan_broadcast(const BroadcastRule& rule, std::span<const int64_t> a,
                                     std::span<const int64_t> b) {
  Shape aligned(b);
  if (rule.legacy) {
    TRN_ASSIGN(const SymShape s, aligned_shape(rule, to_symbolic(a), to_symbolic(b)));
    aligned.clear();
    for (const Dim& d : s) aligned.push_back(d.value());
  }
  BroadcastPlan plan;
  const int64_t* shapes[] = {a.data(), aligned.data()};
  const int ranks[] = {static_cast<int>(a.size()), static_cast<int>(aligned.size())};
  if (!kernels::broadcast_plan(2, shapes, ranks, plan))
    return invalid_argument("shapes {} and {} cannot be broadcast together", shape_text(a), shape_text(b));
  return plan;
}

namespace {
struct BinaryState final : KernelState {
  BroadcastPlan plan;
  kernels::BinaryFn fn = nullptr;
  size_t in_size = 0, out_size = 0;
  int64_t grain = 0;
  bool gathered = false;
};
}  // namespace

Result<std::unique_ptr<Kernel>> BinaryKernel::make(const ir::Node& node, BinaryOp op) {
  BroadcastRule rule = read_broadcast(node);
  rule.per_channel = op == BinaryOp::prelu;
  const DType type = node.input(0)->fact.dtype();
  if (!kernels::binary(op, elem(type), kernels::BinaryShape::vector_vector))
    return not_implemented("element type {} has no kernel", dtype_name(type));
  return std::unique_ptr<Kernel>(new BinaryKernel(op, rule));
}

Result<std::unique_ptr<KernelState>> BinaryKernel::prepare(PrepareContext& ctx) const {
  const TensorView &a = ctx.in(0), &b = ctx.in(1);
  if (a.dtype != b.dtype)
    return invalid_argument("input 0 has type {} and input 1 has type {}", dtype_name(a.dtype), dtype_name(b.dtype));
  auto state = std::make_unique<BinaryState>();
  TRN_ASSIGN(state->plan, plan_broadcast(rule_, a.shape(), b.shape()));
  state->gathered = (a.dtype == DType::f16 || a.dtype == DType::bf16) && kernels::worth_gathering(state->plan);
  state->fn =
      kernels::binary(op_, elem(a.dtype), state->gathered ? kernels::BinaryShape::vector_vector : state->plan.shape());
  if (!state->fn) return not_implemented("element type {} has no kernel", dtype_name(a.dtype));
  state->in_size = size_of(a.dtype);
  state->out_size = kernels::gives_boolean(op_) ? 1 : state->in_size;
  state->grain = binary_grain(op_, a.dtype);
  return std::unique_ptr<KernelState>(std::move(state));
}

Status BinaryKernel::run(KernelContext& ctx) const {
  const auto& s = *ctx.state<BinaryState>();
  const void *a = ctx.in(0).data, *b = ctx.in(1).data;
  void* y = ctx.out(0).data;
  ctx.parallel_for(s.plan.elements, s.grain, [&](int64_t begin, int64_t end) {
    if (s.gathered)
      kernels::broadcast_gathered(s.plan, begin, end, s.fn, static_cast<const uint16_t*>(a),
                                  static_cast<const uint16_t*>(b), y, s.out_size);
    else
      kernels::broadcast_binary(s.plan, begin, end, s.fn, a, b, y, s.in_size, s.out_size);
  });
  return {};
}

}  // namespace trunnion::ops
