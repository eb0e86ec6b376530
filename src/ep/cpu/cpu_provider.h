// The CPU provider: every operator file's kernel, behind the interface that every provider has.
#pragma once
#include <memory>

#include "ep/provider.h"

namespace trunnion::ep {

std::unique_ptr<Provider> make_cpu_provider();

// Its ordered list of fusions and layout decisions for an optimization level (ep/cpu/pipeline.cc).
std::vector<passes::Pass> cpu_pipeline(Level level);

}  // namespace trunnion::ep
