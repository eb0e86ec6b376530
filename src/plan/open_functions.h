// Functions that no provider ahead of the CPU takes whole are written out where one of them takes their parts.
#pragma once
#include <memory>
#include <span>

#include "ep/provider.h"

namespace trunnion::plan {

// `cpu`: the provider that takes everything; those before it in the list are asked. Bodies too.
Status open_functions(ir::Graph& graph, std::span<const std::unique_ptr<ep::Provider>> providers, int cpu);

}  // namespace trunnion::plan
