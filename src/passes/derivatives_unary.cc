// Derivatives of operators of one input: the gradient times a factor of input and output.
#include <numbers>

#include "passes/derivatives.h"

namespace trunnion::passes {
namespace {

using ir::Value;

Value* below(NodeMaker& m, Value* x, double limit, DType t) { return m.make("Less", {x, m.number(limit, t)}); }
Value* above(NodeMaker& m, Value* x, double limit, DType t) { return m.make("Greater", {x, m.number(limit, t)}); }

Value* gelu(NodeMaker& m, Value* g, Value* x, Value*, DType t, const ir::Node& n) {
  Value *half = m.number(0.5, t), *one = m.number(1, t), *square = m.make("Mul", {x, x});
  Value *weight, *slope;  // of x in the output, and what it changes by
  if (n.attr("approximate", "none") == "tanh") {
    constexpr double kCube = 0.044715, kRoot = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    Value* inner = m.make("Mul", {m.make("Mul", {x, m.number(kRoot, t)}),
                                  m.make("Add", {one, m.make("Mul", {square, m.number(kCube, t)})})});
    Value* h = m.make("Tanh", {inner});
    weight = m.make("Mul", {half, m.make("Add", {one, h})});
    Value* turn =
        m.make("Mul", {m.number(kRoot / 2, t), m.make("Add", {one, m.make("Mul", {square, m.number(3 * kCube, t)})})});
    slope = m.make("Mul", {turn, m.make("Sub", {one, m.make("Mul", {h, h})})});
  } else {
    Value* e = m.make("Erf", {m.make("Mul", {x, m.number(1 / std::numbers::sqrt2, t)})});
    weight = m.make("Mul", {half, m.make("Add", {one, e})});
    slope = m.make("Mul", {m.number(std::numbers::inv_sqrtpi / std::numbers::sqrt2, t),
                           m.make("Exp", {m.make("Neg", {m.make("Mul", {half, square})})})});
  }
  return m.make("Mul", {g, m.make("Add", {weight, m.make("Mul", {x, slope})})});
}

struct Factor {
  std::string_view op;
  FactorFn fn;
};
constexpr Factor kFactors[] = {
    {"Identity", [](NodeMaker&, Value* g, Value*, Value*, DType, const ir::Node&) { return g; }},
    {"Neg", [](NodeMaker& m, Value* g, Value*, Value*, DType, const ir::Node&) { return m.make("Neg", {g}); }},
    {"Abs",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType, const ir::Node&) {
       return m.make("Mul", {g, m.make("Sign", {x})});
     }},
    {"Relu",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType t, const ir::Node&) {
       return m.make("Where", {m.make("Greater", {x, m.number(0, t)}), g, m.number(0, t)});
     }},
    {"LeakyRelu",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType t, const ir::Node& n) {
       Value* scaled = m.make("Mul", {g, m.number(n.attr("alpha", 0.01f), t)});
       return m.make("Where", {m.make("Less", {x, m.number(0, t)}), scaled, g});
     }},
    {"Elu",
     [](NodeMaker& m, Value* g, Value* x, Value* y, DType t, const ir::Node& n) {  // alpha e^x = y + alpha
       Value* slope = m.make("Add", {y, m.number(n.attr("alpha", 1.0f), t)});
       return m.make("Where", {m.make("Less", {x, m.number(0, t)}), m.make("Mul", {g, slope}), g});
     }},
    {"Sigmoid",
     [](NodeMaker& m, Value* g, Value*, Value* y, DType t, const ir::Node&) {
       return m.make("Mul", {g, m.make("Mul", {y, m.make("Sub", {m.number(1, t), y})})});
     }},
    {"Tanh",
     [](NodeMaker& m, Value* g, Value*, Value* y, DType t, const ir::Node&) {
       return m.make("Mul", {g, m.make("Sub", {m.number(1, t), m.make("Mul", {y, y})})});
     }},
    {"Softplus",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType, const ir::Node&) {
       return m.make("Mul", {g, m.make("Sigmoid", {x})});
     }},
    {"Softsign",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType t, const ir::Node&) {
       Value* d = m.make("Add", {m.number(1, t), m.make("Abs", {x})});
       return m.make("Div", {g, m.make("Mul", {d, d})});
     }},
    {"Exp", [](NodeMaker& m, Value* g, Value*, Value* y, DType, const ir::Node&) { return m.make("Mul", {g, y}); }},
    {"Log", [](NodeMaker& m, Value* g, Value* x, Value*, DType, const ir::Node&) { return m.make("Div", {g, x}); }},
    {"Sqrt",
     [](NodeMaker& m, Value* g, Value*, Value* y, DType t, const ir::Node&) {
       return m.make("Div", {g, m.make("Mul", {m.number(2, t), y})});
     }},
    {"Reciprocal",
     [](NodeMaker& m, Value* g, Value*, Value* y, DType, const ir::Node&) {
       return m.make("Neg", {m.make("Mul", {g, m.make("Mul", {y, y})})});
     }},
    {"Sin",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType, const ir::Node&) {
       return m.make("Mul", {g, m.make("Cos", {x})});
     }},
    {"Cos",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType, const ir::Node&) {
       return m.make("Neg", {m.make("Mul", {g, m.make("Sin", {x})})});
     }},
    {"Erf",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType t, const ir::Node&) {
       Value* bell = m.make("Exp", {m.make("Neg", {m.make("Mul", {x, x})})});
       return m.make("Mul", {g, m.make("Mul", {m.number(2 * std::numbers::inv_sqrtpi, t), bell})});
     }},
    {"Cast",
     [](NodeMaker& m, Value* g, Value*, Value*, DType t, const ir::Node&) { return m.cast(g, t); }},
    {"Selu",
     [](NodeMaker& m, Value* g, Value* x, Value* y, DType t, const ir::Node& n) {  // alpha gamma e^x = y + alpha gamma
       const double gamma = n.attr("gamma", 1.05070102214813232421875f), alpha = n.attr("alpha", 1.67326319217681884765625f);
       Value* slope = m.make("Add", {y, m.number(alpha * gamma, t)});
       return m.make("Mul", {g, m.make("Where", {below(m, x, 0, t), slope, m.number(gamma, t)})});
     }},
    {"Celu",
     [](NodeMaker& m, Value* g, Value* x, Value* y, DType t, const ir::Node& n) {  // e^(x / alpha) = y / alpha + 1
       Value* slope = m.make("Add", {m.make("Div", {y, m.number(n.attr("alpha", 1.0f), t)}), m.number(1, t)});
       return m.make("Where", {below(m, x, 0, t), m.make("Mul", {g, slope}), g});
     }},
    {"ThresholdedRelu",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType t, const ir::Node& n) {
       return m.make("Where", {above(m, x, n.attr("alpha", 1.0f), t), g, m.number(0, t)});
     }},
    {"HardSigmoid",
     [](NodeMaker& m, Value* g, Value*, Value* y, DType t, const ir::Node& n) {
       Value* inside = m.make("And", {above(m, y, 0, t), below(m, y, 1, t)});
       return m.make("Where", {inside, m.make("Mul", {g, m.number(n.attr("alpha", 0.2f), t)}), m.number(0, t)});
     }},
    {"HardSwish",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType t, const ir::Node&) {
       Value* inside = m.make("Add", {m.make("Div", {x, m.number(3, t)}), m.number(0.5, t)});
       Value* slope = m.make("Where", {below(m, x, -3, t), m.number(0, t),
                                       m.make("Where", {above(m, x, 3, t), m.number(1, t), inside})});
       return m.make("Mul", {g, slope});
     }},
    {"Swish",
     [](NodeMaker& m, Value* g, Value* x, Value* y, DType t, const ir::Node& n) {
       Value* alpha = m.number(n.attr("alpha", 1.0f), t);
       Value* s = m.make("Sigmoid", {m.make("Mul", {alpha, x})});
       Value* rest = m.make("Mul", {m.make("Mul", {alpha, y}), m.make("Sub", {m.number(1, t), s})});
       return m.make("Mul", {g, m.make("Add", {s, rest})});
     }},
    {"Mish",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType t, const ir::Node&) {
       Value* h = m.make("Tanh", {m.make("Softplus", {x})});
       Value* rest = m.make("Mul", {m.make("Mul", {x, m.make("Sigmoid", {x})}),
                                    m.make("Sub", {m.number(1, t), m.make("Mul", {h, h})})});
       return m.make("Mul", {g, m.make("Add", {h, rest})});
     }},
    {"Gelu", gelu},
    {"Tan",
     [](NodeMaker& m, Value* g, Value*, Value* y, DType t, const ir::Node&) {
       return m.make("Mul", {g, m.make("Add", {m.number(1, t), m.make("Mul", {y, y})})});
     }},
    {"Asin",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType t, const ir::Node&) {
       return m.make("Div", {g, m.make("Sqrt", {m.make("Sub", {m.number(1, t), m.make("Mul", {x, x})})})});
     }},
    {"Acos",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType t, const ir::Node&) {
       return m.make("Neg", {m.make("Div", {g, m.make("Sqrt", {m.make("Sub", {m.number(1, t), m.make("Mul", {x, x})})})})});
     }},
    {"Atan",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType t, const ir::Node&) {
       return m.make("Div", {g, m.make("Add", {m.number(1, t), m.make("Mul", {x, x})})});
     }},
    {"Sinh",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType, const ir::Node&) {
       return m.make("Mul", {g, m.make("Cosh", {x})});
     }},
    {"Cosh",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType, const ir::Node&) {
       return m.make("Mul", {g, m.make("Sinh", {x})});
     }},
    {"Asinh",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType t, const ir::Node&) {
       return m.make("Div", {g, m.make("Sqrt", {m.make("Add", {m.make("Mul", {x, x}), m.number(1, t)})})});
     }},
    {"Acosh",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType t, const ir::Node&) {
       return m.make("Div", {g, m.make("Sqrt", {m.make("Sub", {m.make("Mul", {x, x}), m.number(1, t)})})});
     }},
    {"Atanh",
     [](NodeMaker& m, Value* g, Value* x, Value*, DType t, const ir::Node&) {
       return m.make("Div", {g, m.make("Sub", {m.number(1, t), m.make("Mul", {x, x})})});
     }},
};

}  // namespace

FactorFn unary_derivative(std::string_view op) {
  for (const Factor& f : kFactors)
    if (f.op == op) return f.fn;
  return nullptr;
}

}  // namespace trunnion::passes
