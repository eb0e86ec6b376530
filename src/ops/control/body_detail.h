// What If, Loop, Scan and SequenceMap share when the types and shapes of their bodies are inferred.
#pragma once
#include <span>

#include "ops/op.h"

namespace trunnion::ops {

// What holds for a value that is one or the other: dimensions that differ become unknown. Different kinds or element
// types are an error that calls the value `what`.
Result<ir::Fact> join_facts(const ir::Fact& a, const ir::Fact& b, std::string_view what);

// Infers a body whose formal inputs have these facts (captures are set already). `state`: the first `count` of
// state_in.. and state_out.. are the same values an iteration later; their shapes are relaxed until they hold for both.
struct BodyState {
  int first_input = 0;
  int first_output = 0;
  int count = 0;
};
Status infer_body(ir::Graph& body, std::span<const ir::Fact> inputs, const BodyState& state);

// The fact of one iteration's slice, and of the stack of all iterations' results.
ir::Fact without_axis(const ir::Fact& fact, int axis);
ir::Fact with_axis(const ir::Fact& fact, int axis, const Dim& dim);

}  // namespace trunnion::ops
