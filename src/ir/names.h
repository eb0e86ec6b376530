// Names that hold across bodies, for those who identify values by name: files and plugins.
#pragma once
#include "ir/graph.h"

namespace trunnion::ir {

// Renames values of bodies that have the name of a value around them. Captures are not renamed: they go by the name of
// the outer value. Inputs and outputs of bodies have no meaning by name, those of the top graph stay.
void separate_names(Graph& top);

}  // namespace trunnion::ir
