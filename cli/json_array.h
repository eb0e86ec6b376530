// Arrays as JSON: nested lists of numbers, booleans or texts. NaN and infinities are the texts "nan", "inf" and "-inf".
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "array.h"

namespace trunnion::cli {

using Json = nlohmann::ordered_json;

Json parse_json(std::string_view text, const std::string& what);

// The shape follows from the nesting, which must be regular; every value must be one of the type. A complex number is
// not read from JSON.
Array read_json_array(const Json& json, DataType type, const std::string& what);

// One element; complex ones as [real, imaginary].
Json element_json(const Array& array, size_t i);
Json number_json(double value);

// The dimensions of a shape in a report: "1,3,N"; "?" for what has no name.
std::string dimensions_text(const Json& shape);

// Text for output. Bytes that are not UTF-8 become replacement characters.
std::string json_text(const Json& json);

}  // namespace trunnion::cli
