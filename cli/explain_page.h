// A placement as one HTML file that needs nothing else: the graph, coloured by provider, and a table beside it.
#pragma once
#include <string>

#include "json_array.h"

namespace trunnion::cli {

// `placement` is what LoadedModel::placement_json gives.
std::string explain_page(const std::string& model, const Json& placement);

}  // namespace trunnion::cli
