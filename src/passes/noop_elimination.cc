// NoopElimination: arithmetic with a neutral constant (x + 0, x - 0, x * 1, x / 1, x ^ 1) and operators that hand their
// input on (Concat, Sum, Max, Min, Mean or Split of one, Tile by ones, Pad by zeros), where type and shape stay the
// same.
#include "passes/clean.h"
#include "passes/rules.h"

namespace trunnion::passes {
namespace {

struct Neutral {
  std::string_view op;
  double number;
  bool either_side;
};
constexpr Neutral kNeutral[] = {
    {"Add", 0, true}, {"Sub", 0, false}, {"Mul", 1, true}, {"Div", 1, false}, {"Pow", 1, false}};

// The result has the type and shape of x: because the facts say so, or because a constant of one element and no more
// dimensions cannot widen x, whatever x's dimensions are.
bool keeps_type(const ir::Fact& x, const Tensor& constant, const ir::Fact& result) {
  if (x.dtype() == DType::undefined || x.dtype() != result.dtype()) return false;
  if (constant.count() == 1 && (constant.rank() == 0 || (x.has_rank() && constant.rank() <= x.rank()))) return true;
  return same_shape(x, result);
}

ir::Value* neutral_arithmetic(const ir::Node& n) {
  for (const Neutral& rule : kNeutral) {
    if (!is_op(&n, rule.op) || n.inputs().size() != 2 || !n.input(0) || !n.input(1)) continue;
    for (int side = 1; side >= (rule.either_side ? 0 : 1); --side) {
      const Tensor* c = constant_input(n, side);
      ir::Value* x = n.input(1 - side);
      if (c && keeps_type(x->fact, *c, n.output(0)->fact) && all_elements_are(*c, rule.number)) return x;
    }
  }
  return nullptr;
}

ir::Value* handed_on(const ir::Node& n) {
  if (!n.domain().empty() || n.inputs().empty() || !n.input(0)) return nullptr;
  ir::Value* x = n.input(0);
  const std::string& op = n.op_type();
  if (op == "Concat" || op == "Sum" || op == "Max" || op == "Min" || op == "Mean")
    return n.inputs().size() == 1 ? x : nullptr;
  if (op == "Split") return n.outputs().size() == 1 && same_type(x->fact, n.output(0)->fact) ? x : nullptr;
  if (op == "Tile") {
    const Tensor* repeats = n.since() >= 6 ? constant_input(n, 1) : nullptr;
    return repeats && all_elements_are(*repeats, 1) ? x : nullptr;
  }
  if (op == "Pad") {
    const auto pads = ints_of(n, n.since() == 1 ? "paddings" : "pads", 1);
    if (!pads) return nullptr;
    for (const int64_t p : *pads)
      if (p != 0) return nullptr;
    return x;
  }
  return nullptr;
}

}  // namespace

Status noop_elimination(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "NoopElimination", context.log);
  TRN_TRY(bypass_all(graph, rw, "no-op", [](ir::Node& n) -> ir::Value* {
    if (ir::Value* x = neutral_arithmetic(n)) return x;
    return handed_on(n);
  }));
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::passes
