// For tests of passes: before and after as text, and a small interpreter that runs both on the same inputs.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "passes/pass.h"
#include "tensor/value.h"

namespace trunnion::passes::test {

// Parsed, resolved and inferred.
std::unique_ptr<ir::Graph> load(std::string_view text);

// Runs the graph node by node; If and Loop too. One value per input.
Result<std::vector<Value>> interpret(const ir::Graph& graph, std::span<const Value> inputs);

// A value for every input: its default when it has one, else seeded elements; symbols are small sizes, one for each
// name.
std::vector<Value> seeded_inputs(const ir::Graph& graph, uint64_t seed);

// Equal types, shapes and elements (0 equals -0, NaN equals NaN).
void expect_equal(const std::vector<Value>& a, const std::vector<Value>& b, const std::string& what);

struct Checked {
  std::string text;  // of the graph afterwards
  int changes = 0;
};
// Runs the passes over the graph with verification. Expects that a second run changes nothing, that the names and types
// of inputs and outputs are as before, and that both graphs give equal outputs.
Checked check(std::span<const Pass> passes, std::string_view before, PassContext context = {}, int rounds = 1);

// check(), and the graph is that of `after`.
void expect_pass(Status (*pass)(ir::Graph&, PassContext&), std::string_view before, std::string_view after,
                 PassContext context = {});
void expect_unchanged(Status (*pass)(ir::Graph&, PassContext&), std::string_view text);

}  // namespace trunnion::passes::test
