// The invariants of a graph, checked: after every pass in debug builds and tests.
#pragma once
#include "ir/graph.h"

namespace trunnion::ir {

// Uses and producers agree, order is topological, names are unique, captures point to the enclosing graph; bodies too.
// The first violation is an error that names node and value.
Status verify(const Graph& graph);

}  // namespace trunnion::ir
