// For tests of the rooms above: a graph from its text form, operators resolved and facts inferred.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "ir/text.h"
#include "ops/catalog.h"

namespace trunnion::ops::test {

// Null, and a failure of the running test, when the text is no good graph.
inline std::unique_ptr<ir::Graph> parsed(std::string_view text) {
  auto graph = ir::parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (!graph.ok()) return nullptr;
  Status s = resolve(**graph);
  if (s.ok()) s = infer(**graph);
  EXPECT_TRUE(s.ok()) << s.message();
  return s.ok() ? std::move(graph).value() : nullptr;
}

}  // namespace trunnion::ops::test
