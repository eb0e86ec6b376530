// Which operators the engine knows: for `trunnion operators` and docs/operators.md.
#pragma once
#include <string>

namespace trunnion::session {

// A JSON array, sorted by domain and name, of every operator of ONNX and of the other domains that models use:
//   domain, operator   "ai.onnx", "Abs"
//   versions           since_versions of its signature, ascending; only the newest has not been withdrawn where
//   deprecated         is not null: the opset from which the operator is deprecated
//   provider           who runs it, or null: nobody does
//   newest             the newest version that is implemented (0: none)
//   types              element types that are computed; null where they do not matter
//   missing_types      element types that the newest signature allows and no kernel takes
std::string operators_json();

}  // namespace trunnion::session
