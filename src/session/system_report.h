// What the engine finds around it: the processor, the limits of the container, the libraries that it loads on demand.
#pragma once
#include <string>
#include <string_view>

namespace trunnion::session {

// A JSON object: version, library, cpu {vendor, family, model, features, rung, rung_in_use, forced, l1d_bytes,
// l2_bytes, l3_bytes}, threads {default, why, allowed_cpus, physical_cores, quota}, resident_bytes, extras {found,
// library, missing; error where it is not found}, accelerators, environment (variables of the engine that are set).
std::string system_json(std::string_view version);

}  // namespace trunnion::session
