// Constants that stay where they lie in a model's file, whatever byte that is.
#pragma once
#include "ir/graph.h"

namespace trunnion::session {

// Puts an aligned copy in the place of every constant that begins anywhere, unless all its users only pack it or move
// whole rows of it. Files align nothing, and a copy of all weights takes longer than packing them.
Status align_constants(ir::Graph& graph);

}  // namespace trunnion::session
