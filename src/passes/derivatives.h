// The derivative of each differentiable operator, as nodes.
#pragma once
#include "passes/expand.h"

namespace trunnion::passes {

// One node on the way back: `gradient` is that of its outputs (null: none arrives), `inputs` are to be filled with
// those of its inputs; null stands for zero.
struct BackwardStep {
  const ir::Node* node;
  std::span<ir::Value* const> gradient;
  std::vector<ir::Value*> inputs;
  std::vector<bool> wanted;  // by input: whether anybody asks for it

  ir::Value* x(int i) const { return node->input(i); }
  ir::Value* y(int i = 0) const { return node->output(i); }
  ir::Value* g(int i = 0) const { return gradient[static_cast<size_t>(i)]; }
  bool wants(int i) const { return i < static_cast<int>(wanted.size()) && wanted[static_cast<size_t>(i)]; }
};

// Code::not_implemented for operators (or attributes) that have no rule.
Status differentiate(NodeMaker& m, BackwardStep& step);

using RuleFn = Status (*)(NodeMaker&, BackwardStep&);
// Operators of one input, by a factor of x and y (derivatives_unary.cc); null for others.
using FactorFn = ir::Value* (*)(NodeMaker& m, ir::Value* g, ir::Value* x, ir::Value* y, DType t, const ir::Node& n);
FactorFn unary_derivative(std::string_view op);
// Layers of networks (derivatives_nn.cc); null for others.
RuleFn nn_derivative(std::string_view op);

// For rules: why there is none; the rank of v, or that it must be known.
Status no_rule(const ir::Node& n, std::string_view why);
Result<int> rank_of(const ir::Node& n, const ir::Value* v);

// The sum of g over what broadcasting repeated, when a value like `x` was brought to the shape of `y`.
ir::Value* unbroadcast(NodeMaker& m, ir::Value* g, const ir::Value* x, const ir::Value* y);

// Zeros (or ones) in the shape of v.
ir::Value* filled_like(NodeMaker& m, ir::Value* v, double with);

}  // namespace trunnion::passes
