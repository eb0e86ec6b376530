// Model-local functions put in place of the nodes that call them.
#pragma once
#include "ir/graph.h"

namespace trunnion::ir {

struct InlineLimits {
  int64_t nodes = 500'000;  // of the expanded model; beyond, an error (functions can double at every level)
};

// Replaces every call of a function of model.functions, in the main graph and in bodies. A function that calls itself,
// directly or not, is an error that names the cycle.
Status inline_functions(Model& model, const InlineLimits& limits = {});

}  // namespace trunnion::ir
