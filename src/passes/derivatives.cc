#include "passes/derivatives.h"

#include <algorithm>

#include "base/error.h"
#include "ops/shape.h"
#include "passes/rules.h"

namespace trunnion::passes {
namespace {

using ir::Value;

Value* mutable_value(const Value* v) { return const_cast<Value*>(v); }

bool same(const Dim& a, const Dim& b) { return !a.is_unknown() && a == b; }

Value* transposed(NodeMaker& m, Value* v, int rank) {
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) perm[static_cast<size_t>(i)] = i;
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return m.make("Transpose", {v}, {{"perm", perm}});
}

// Operators whose gradient has the elements of g under the shape of x.
constexpr std::string_view kReshapes[] = {"Reshape", "Squeeze", "Unsqueeze", "Flatten"};
// Operators that are constant almost everywhere.
constexpr std::string_view kSteps[] = {"Floor", "Ceil", "Round", "Sign"};

template <size_t N>
bool among(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Legacy broadcasting (before opset 7) has rules of its own.
Status expect_numpy(const ir::Node& n) {
  if (n.opset() >= 7 || !n.attr("broadcast", 0)) return {};
  return no_rule(n, "there is no derivative of a broadcast before opset 7");
}

void give(NodeMaker& m, BackwardStep& s, int i, Value* g) {
  s.inputs[static_cast<size_t>(i)] = unbroadcast(m, g, s.x(i), s.y());
}

Status binary(NodeMaker& m, BackwardStep& s) {
  TRN_TRY(expect_numpy(*s.node));
  Value *a = s.x(0), *b = s.x(1), *g = s.g();
  const std::string_view op = s.node->op_type();
  const DType t = a->fact.dtype();
  if (op == "Add" || op == "Sub") {
    if (s.wants(0)) give(m, s, 0, g);
    if (s.wants(1)) give(m, s, 1, op == "Sub" ? m.make("Neg", {g}) : g);
  } else if (op == "Mul") {
    if (s.wants(0)) give(m, s, 0, m.make("Mul", {g, b}));
    if (s.wants(1)) give(m, s, 1, m.make("Mul", {g, a}));
  } else if (op == "Div") {
    if (s.wants(0)) give(m, s, 0, m.make("Div", {g, b}));
    if (s.wants(1)) give(m, s, 1, m.make("Neg", {m.make("Div", {m.make("Mul", {g, s.y()}), b})}));
  } else {  // Pow; the exponent may have another type
    const bool floating = is_float(b->fact.dtype());
    Value* exponent = b->fact.dtype() == t ? b : m.cast(b, t);
    if (s.wants(0)) {
      Value* slope = m.make("Mul", {exponent, m.make("Pow", {a, m.make("Sub", {exponent, m.number(1, t)})})});
      give(m, s, 0, m.make("Mul", {g, slope}));
    }
    if (s.wants(1) && floating) {
      Value* slope = m.make("Mul", {m.make("Mul", {g, s.y()}), m.make("Log", {a})});
      give(m, s, 1, b->fact.dtype() == t ? slope : m.cast(slope, b->fact.dtype()));
    }
  }
  return {};
}

Status variadic(NodeMaker& m, BackwardStep& s) {
  TRN_TRY(expect_numpy(*s.node));
  const std::string_view op = s.node->op_type();
  const DType t = s.y()->fact.dtype();
  const auto n = static_cast<int>(s.node->inputs().size());
  Value* g = s.g();
  if (op == "Mean") g = m.make("Mul", {g, m.number(1.0 / n, t)});
  std::vector<Value*> hits;
  if (op == "Max" || op == "Min") {  // shared by those that are equal
    for (int i = 0; i < n; ++i) hits.push_back(m.cast(m.make("Equal", {s.x(i), s.y()}), t));
    g = m.make("Div", {g, m.make("Sum", hits)});
  }
  for (int i = 0; i < n; ++i)
    if (s.wants(i)) give(m, s, i, hits.empty() ? g : m.make("Mul", {g, hits[static_cast<size_t>(i)]}));
  return {};
}

Status mat_mul(NodeMaker& m, BackwardStep& s) {
  TRN_ASSIGN(const int ra, rank_of(*s.node, s.x(0)));
  TRN_ASSIGN(const int rb, rank_of(*s.node, s.x(1)));
  if (ra == 0 || rb == 0) return no_rule(*s.node, "an operand is a scalar");
  // Vectors become matrices of one row or column.
  Value *a = s.x(0), *b = s.x(1), *g = s.g();
  if (ra == 1) a = m.make("Unsqueeze", {a, m.ints({0})});
  if (rb == 1) b = m.make("Unsqueeze", {b, m.ints({1})});
  if (rb == 1) g = m.make("Unsqueeze", {g, m.ints({-1})});
  if (ra == 1) g = m.make("Unsqueeze", {g, m.ints({-2})});
  const auto back = [&](int i, Value* d) {
    Value* x = s.x(i);
    if (ra <= 2 && rb <= 2) return ra == 2 && rb == 2 ? d : m.make("Reshape", {d, m.shape(x)});
    // Batches that were repeated are summed: what is left of the shape of x is all behind them.
    const int full = std::max(std::max(ra, rb), 2), own = std::max(i == 0 ? ra : rb, 2);
    std::vector<int64_t> axes;
    bool provable = true;
    for (int k = 0; k < full - 2; ++k) {
      const int at = k - (full - own);
      const Value* other = s.x(1 - i);
      const int other_at = k - (full - std::max(i == 0 ? rb : ra, 2));
      if (at < 0) {
        axes.push_back(k);
      } else if (x->fact.dim(at).is_int(1)) {
        axes.push_back(k);
      } else if (!x->fact.dim(at).is_int() && other_at >= 0 && !other->fact.dim(other_at).is_int(1) &&
                 !same(x->fact.dim(at), other->fact.dim(other_at))) {
        provable = false;
      }
    }
    if (!provable) return unbroadcast(m, d, x, nullptr);
    if (axes.empty()) return d;
    d = m.make("ReduceSum", {d, m.ints(axes)}, {{"keepdims", int64_t{1}}});
    return m.make("Reshape", {d, m.shape(x)});
  };
  if (s.wants(0)) s.inputs[0] = back(0, m.make("MatMul", {g, transposed(m, b, std::max(rb, 2))}));
  if (s.wants(1)) s.inputs[1] = back(1, m.make("MatMul", {transposed(m, a, std::max(ra, 2)), g}));
  return {};
}

Status gemm(NodeMaker& m, BackwardStep& s) {
  const ir::Node& n = *s.node;
  const int64_t ta = n.attr("transA", 0), tb = n.attr("transB", 0);
  const float alpha = n.attr("alpha", 1.0f), beta = n.attr("beta", 1.0f);
  const auto product = [&](Value* a, Value* b, int64_t trans_a, int64_t trans_b) {
    return m.make("Gemm", {a, b}, {{"alpha", alpha}, {"transA", trans_a}, {"transB", trans_b}});
  };
  Value *a = s.x(0), *b = s.x(1), *g = s.g();
  if (s.wants(0)) s.inputs[0] = ta ? product(b, g, tb, 1) : product(g, b, 0, 1 - tb);
  if (s.wants(1)) s.inputs[1] = tb ? product(g, a, 1, ta) : product(a, g, 1 - ta, 0);
  if (s.wants(2)) give(m, s, 2, beta == 1 ? g : m.make("Mul", {g, m.number(beta, s.y()->fact.dtype())}));
  return {};
}

// A value of the reduced shape, repeated along what was reduced.
Status reduce(NodeMaker& m, BackwardStep& s) {
  const ir::Node& n = *s.node;
  const std::string_view op = n.op_type();
  const DType t = s.y()->fact.dtype();
  Value *x = s.x(0), *y = s.y(), *g = s.g();
  const auto axes = n.ints("axes");
  Value* axes_value = n.input(1);
  const bool all = axes.empty() && !axes_value;
  const auto axes_fact = axes_value && axes_value->is_constant() ? to_ints(axes_value->constant()) : std::nullopt;
  const bool none_given = all || (axes_fact && axes_fact->empty());
  if (none_given && n.attr("noop_with_empty_axes", 0)) {
    if (op != "ReduceSum" && op != "ReduceMean")
      return no_rule(n, "there is no derivative of a reduction over no axes");
    s.inputs[0] = g;
    return {};
  }
  if (axes_value && !axes_fact && !n.attr("keepdims", 1))
    if (!axes_value->fact.has_rank()) return no_rule(n, "its derivative needs the number of axes");
  const auto open = [&](Value* v) {  // so that it broadcasts against x
    if (none_given) return m.make("Reshape", {v, m.ints(std::span<const int64_t>())});
    if (n.attr("keepdims", 1)) return v;
    return m.make("Unsqueeze", {v, axes_value ? axes_value : m.ints(axes)});
  };
  g = open(g);
  if (op == "ReduceMean") {
    Value* count = m.make("Div", {m.make("Size", {x}), m.make("Size", {y})});
    g = m.make("Div", {g, m.cast(count, t)});
  } else if (op == "ReduceSumSquare") {
    g = m.make("Mul", {g, m.make("Mul", {x, m.number(2, t)})});
  } else if (op == "ReduceL2") {
    g = m.make("Mul", {g, m.make("Div", {x, open(y)})});
  } else if (op == "ReduceL1") {
    g = m.make("Mul", {g, m.make("Sign", {x})});
  } else if (op == "ReduceLogSumExp") {
    g = m.make("Mul", {g, m.make("Exp", {m.make("Sub", {x, open(y)})})});
  } else if (op == "ReduceMax" || op == "ReduceMin") {  // shared by those that are equal
    Value* hits = m.cast(m.make("Equal", {x, open(y)}), t);
    Value* count =
        none_given ? m.make("ReduceSum", {hits}, {{"keepdims", int64_t{0}}})
                   : m.make("ReduceSum", {hits, axes_value ? axes_value : m.ints(axes)}, {{"keepdims", int64_t{1}}});
    g = m.make("Mul", {hits, m.make("Div", {g, count})});
  }
  s.inputs[0] = m.make("Expand", {g, m.shape(x)});
  return {};
}

Status concat(NodeMaker& m, BackwardStep& s) {
  const int64_t axis = s.node->attr("axis", 1);
  std::vector<Value*> sizes;
  for (Value* x : s.node->inputs()) sizes.push_back(m.make("Gather", {m.shape(x), m.ints({axis})}));
  const std::vector<std::string_view> names(sizes.size(), "part");
  Value* inputs[] = {s.g(), m.make("Concat", sizes, {{"axis", int64_t{0}}})};
  const ir::Node* split = m.rewriter().insert("Split", "", m.opset(), inputs, names, {{"axis", axis}}, m.before());
  for (size_t i = 0; i < sizes.size(); ++i)
    if (s.wanted[i]) s.inputs[i] = split->output(static_cast<int>(i));
  return {};
}

Status split(NodeMaker& m, BackwardStep& s) {
  std::vector<Value*> parts;
  for (int i = 0; i < static_cast<int>(s.node->outputs().size()); ++i) {
    if (!s.y(i)) return no_rule(*s.node, "an output is left out");
    parts.push_back(s.g(i) ? s.g(i) : filled_like(m, s.y(i), 0));
  }
  s.inputs[0] = m.make("Concat", parts, {{"axis", s.node->attr("axis", 0)}});
  return {};
}

Status where(NodeMaker& m, BackwardStep& s) {
  Value* zero = m.number(0, s.y()->fact.dtype());
  if (s.wants(1)) give(m, s, 1, m.make("Where", {s.x(0), s.g(), zero}));
  if (s.wants(2)) give(m, s, 2, m.make("Where", {s.x(0), zero, s.g()}));
  return {};
}

Status clip(NodeMaker& m, BackwardStep& s) {
  const ir::Node& n = *s.node;
  const DType t = s.y()->fact.dtype();
  Value *g = s.g(), *x = s.x(0), *zero = m.number(0, t);
  Value* low = n.input(1) ? n.input(1) : n.has_attr("min") ? m.number(n.attr("min", 0.0f), t) : nullptr;
  Value* high = n.input(2) ? n.input(2) : n.has_attr("max") ? m.number(n.attr("max", 0.0f), t) : nullptr;
  if (low) g = m.make("Where", {m.make("Less", {x, low}), zero, g});
  if (high) g = m.make("Where", {m.make("Greater", {x, high}), zero, g});
  s.inputs[0] = g;
  if (s.wants(1) || s.wants(2)) return no_rule(n, "there is no derivative by the bounds");
  return {};
}

Status gather(NodeMaker& m, BackwardStep& s) {
  TRN_ASSIGN(const int rank, rank_of(*s.node, s.x(0)));
  const int64_t axis = s.node->attr("axis", 0);
  if (axis != 0 && axis != -rank) return no_rule(*s.node, "there is a derivative for axis 0 only");
  Value* places = m.make("Unsqueeze", {s.x(1), m.ints({-1})});
  if (s.x(1)->fact.dtype() != DType::i64) places = m.cast(places, DType::i64);
  s.inputs[0] = m.make("ScatterND", {filled_like(m, s.x(0), 0), places, s.g()}, {{"reduction", std::string("add")}});
  return {};
}

Status transpose(NodeMaker& m, BackwardStep& s) {
  const auto perm = s.node->ints("perm");
  std::vector<ir::Attr> attrs;
  if (!perm.empty()) {
    std::vector<int64_t> inverse(perm.size());
    for (size_t i = 0; i < perm.size(); ++i) {
      if (perm[i] < 0 || perm[i] >= static_cast<int64_t>(perm.size()))
        return no_rule(*s.node, "perm is no permutation");
      inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
    }
    attrs.push_back({"perm", inverse});
  }
  s.inputs[0] = m.make("Transpose", {s.g()}, std::move(attrs));
  return {};
}

// Steps of 1 with everything known: zeros around g.
Status slice(NodeMaker& m, BackwardStep& s) {
  const ir::Node& n = *s.node;
  const auto starts = ints_of(n, "starts", 1), ends = ints_of(n, "ends", 2), steps = ints_of(n, "steps", 4);
  const auto x = s.x(0)->fact.concrete();
  if (!starts || !ends || !x || (n.input(4) && !steps))
    return no_rule(n, "its derivative needs bounds and dimensions as numbers");
  for (const int64_t step : steps.value_or(std::vector<int64_t>()))
    if (step != 1) return no_rule(n, "there is a derivative for steps of 1 only");
  const auto rank = static_cast<int64_t>(x->size());
  std::vector<int64_t> all;
  for (int64_t i = 0; i < static_cast<int64_t>(starts->size()); ++i) all.push_back(i);
  const auto given = n.input(3) || n.has_attr("axes") ? ints_of(n, "axes", 3) : all;
  if (!given || given->size() != starts->size() || ends->size() != starts->size())
    return no_rule(n, "its derivative needs the axes as numbers");
  std::vector<int64_t> pads(2 * x->size(), 0);
  for (size_t i = 0; i < given->size(); ++i) {
    TRN_ASSIGN(const int axis_at, ops::normalize_axis((*given)[i], rank));
    const auto axis = static_cast<size_t>(axis_at);
    const int64_t size = (*x)[axis];
    const auto place = [size](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
    const int64_t begin = place((*starts)[i]), end = std::max(begin, place((*ends)[i]));
    pads[axis] = begin;
    pads[x->size() + axis] = size - end;
  }
  s.inputs[0] = m.make("Pad", {s.g(), m.ints(pads)});
  return {};
}

Status pad(NodeMaker& m, BackwardStep& s) {
  const ir::Node& n = *s.node;
  const auto pads = ints_of(n, "pads", 1);
  if (n.attr("mode", "constant") != "constant") return no_rule(n, "there is a derivative for constant padding only");
  TRN_ASSIGN(const int rank, rank_of(n, s.x(0)));
  if (!pads || n.input(3) || static_cast<int>(pads->size()) != 2 * rank)
    return no_rule(n, "its derivative needs pads of all axes as numbers");
  for (const int64_t p : *pads)
    if (p < 0) return no_rule(n, "there is no derivative of negative pads");
  Value* starts = m.ints(std::span(pads->data(), static_cast<size_t>(rank)));
  s.inputs[0] = m.make("Slice", {s.g(), starts, m.make("Add", {starts, m.shape(s.x(0))})});
  if (s.wants(2)) return no_rule(n, "there is no derivative by the value that is padded with");
  return {};
}

Status expand(NodeMaker& m, BackwardStep& s) {
  give(m, s, 0, s.g());
  return {};
}

struct Rule {
  std::string_view op;
  RuleFn fn;
};
constexpr Rule kRules[] = {
    {"Add", binary},
    {"Sub", binary},
    {"Mul", binary},
    {"Div", binary},
    {"Pow", binary},
    {"Sum", variadic},
    {"Mean", variadic},
    {"Max", variadic},
    {"Min", variadic},
    {"MatMul", mat_mul},
    {"Gemm", gemm},
    {"ReduceSum", reduce},
    {"ReduceMean", reduce},
    {"ReduceL1", reduce},
    {"ReduceL2", reduce},
    {"ReduceSumSquare", reduce},
    {"ReduceMax", reduce},
    {"ReduceMin", reduce},
    {"ReduceLogSumExp", reduce},
    {"Concat", concat},
    {"Split", split},
    {"Where", where},
    {"Clip", clip},
    {"Gather", gather},
    {"Transpose", transpose},
    {"Expand", expand},
    {"Slice", slice},
    {"Pad", pad},
};

}  // namespace

Status no_rule(const ir::Node& n, std::string_view why) { return not_implemented("{}: {}", n.label(), why); }

Result<int> rank_of(const ir::Node& n, const Value* v) {
  if (v->fact.has_rank()) return v->fact.rank();
  return no_rule(n, "its derivative needs to know the rank of '" + v->name() + "'");
}

ir::Value* filled_like(NodeMaker& m, ir::Value* v, double with) {
  const int64_t one[] = {1};
  auto t = Tensor::allocate(v->fact.dtype(), one);
  const Value* number = m.number(with, v->fact.dtype());
  if (t.ok() && number->constant().valid()) t = number->constant().reshaped(one);
  return m.make("ConstantOfShape", {m.shape(v)}, {{"value", t.ok() ? *t : Tensor()}});
}

// The axes are known where dimensions are; else they are looked for when the graph runs.
ir::Value* unbroadcast(NodeMaker& m, ir::Value* g, const ir::Value* x, const ir::Value* y) {
  Value* to = mutable_value(x);
  if (y && x->fact.has_rank() && y->fact.has_rank()) {
    const int lead = y->fact.rank() - x->fact.rank();
    std::vector<int64_t> axes;
    bool provable = lead >= 0;
    for (int i = 0; provable && i < y->fact.rank(); ++i) {
      if (i < lead) {
        axes.push_back(i);
        continue;
      }
      const Dim &own = x->fact.dim(i - lead), &full = y->fact.dim(i);
      if (own.is_int(1) && !full.is_int(1))
        axes.push_back(i);
      else
        provable = own.is_int() || same(own, full);
    }
    if (provable) {
      if (axes.empty()) return g;
      Value* sum = m.make("ReduceSum", {g, m.ints(axes)}, {{"keepdims", int64_t{lead == 0}}});
      return lead == 0 || static_cast<int>(axes.size()) == lead ? sum : m.make("Reshape", {sum, m.shape(to)});
    }
  }
  Value *own = m.shape(to), *full = m.shape(g);
  // Missing dimensions in front are ones.
  const int64_t one[] = {1};
  Value* ones =
      m.make("ConstantOfShape", {m.make("Sub", {m.shape(full), m.shape(own)})}, {{"value", *int64_tensor(one)}});
  Value* padded = m.make("Concat", {ones, own}, {{"axis", int64_t{0}}});
  Value* axes = m.make("NonZero", {m.make("Not", {m.make("Equal", {padded, full})})});
  axes = m.make("Reshape", {axes, m.ints({-1})});
  Value* sum = m.make("ReduceSum", {g, axes}, {{"keepdims", int64_t{1}}, {"noop_with_empty_axes", int64_t{1}}});
  return m.make("Reshape", {sum, m.shape(to)});
}

Status differentiate(NodeMaker& m, BackwardStep& s) {
  const std::string_view op = s.node->op_type();
  s.inputs.assign(s.node->inputs().size(), nullptr);
  if (!s.node->domain().empty()) return no_rule(*s.node, "there is no derivative of this operator");
  if (among(kSteps, op)) return {};
  const bool any_output = op == "Split";
  if (!any_output && !s.g()) return no_rule(*s.node, "there is a derivative of its first output only");
  if (const FactorFn factor = unary_derivative(op)) {
    s.inputs[0] = factor(m, s.g(), s.x(0), s.y(), s.x(0)->fact.dtype(), *s.node);
    return {};
  }
  if (among(kReshapes, op)) {
    s.inputs[0] = m.make("Reshape", {s.g(), m.shape(s.x(0))});
    return {};
  }
  for (const Rule& r : kRules)
    if (r.op == op) return r.fn(m, s);
  if (const RuleFn rule = nn_derivative(op)) return rule(m, s);
  return no_rule(*s.node, "there is no derivative of this operator");
}

}  // namespace trunnion::passes
