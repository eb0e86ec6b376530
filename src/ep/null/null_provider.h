// A provider that takes nothing: the skeleton to clone for a new one. docs/adding_a_provider.md says what to fill in.
#pragma once
#include <memory>

#include "ep/provider.h"

namespace trunnion::ep {

std::unique_ptr<Provider> make_null_provider();

}  // namespace trunnion::ep
