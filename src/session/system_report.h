// What the engine finds around it: the processor, the limits of the container, the libraries that it loads on demand.
#pragma once
#include <string>
#include <string_view>

namespace trunnion::session {

// A JSON object: version, cpu {vendor, family, model, features, rung, rung_in_use, forced_by, caches}, threads
// {default, why, allowed_cpus, physical_cores, quota}, memory {...}, extras {found, error, library}, accelerators,
// environment (variables of the engine that are set).
std::string system_json(std::string_view version);

}  // namespace trunnion::session
