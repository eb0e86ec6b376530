// The portable passes, in order. None of them introduces an operator, so that any provider still sees the user's ONNX.
#include "passes/clean.h"

namespace trunnion::passes {

std::span<const Pass> clean() {
  static constexpr Pass kList[] = {
      {"ConstantNodes", constant_nodes},          // first: all others look for constants, not for Constant nodes
      {"CapturedConstants", captured_constants},  // then bodies can fold on their own
      {"EliminateDropout", eliminate_dropout},    // cheap removals, so that folding sees through them
      {"EliminateIdentity", eliminate_identity},  // likewise
      {"ConstantFolding", constant_folding},      // needs constants and nothing between them
      {"ConstantIf", constant_if},                // conditions are constants after folding
      {"PreShapeNodeElimination", pre_shape_node_elimination},  // frees casts that only a Shape reads
      {"CastElimination", cast_elimination},        // before the eliminations that look at neighbours of one type
      {"NoopElimination", noop_elimination},        // scales and offsets that folding turned into 1 and 0
      {"EliminateSlice", eliminate_slice},          // after folding: starts and ends are constants
      {"ExpandElimination", expand_elimination},    // likewise
      {"ReshapeFusion", reshape_fusion},            // computed shapes become constants, which frees what computed them
      {"ReshapeElimination", reshape_elimination},  // after ReshapeFusion: it merges what has constant shapes
      {"TransposeOptimizer", transpose_optimizer},  // no-ops between transposes are gone by now
      {"TransposeElimination", transpose_elimination},  // takes what the optimizer brought together
      {"ConstantSharing", constant_sharing},  // equal constants become one, so that equal nodes have equal inputs
      {"CommonSubexpressionElimination", common_subexpression_elimination},  // on the smallest graph
      {"DeadCodeElimination", dead_code_elimination},  // last: removes what the others left without users
  };
  return kList;
}

}  // namespace trunnion::passes
