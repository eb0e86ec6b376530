// The text form of graphs: pass tests are before/after text, bug reports are text. docs/graph_text.md has the grammar.
//
//   <opset: "" 17>
//   g(float[N,4] x) => (float[N,4] y) {
//     float[4] bias = {1, 2, 3, 4}
//     t = Add(x, bias)
//     [last] y = Softmax<axis=-1>(t)
//   }
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ir/graph.h"

namespace trunnion::ir {

struct PrintOptions {
  int64_t max_elements = 32;  // longer constants print as fill(v) when all elements are equal, else as "..."
  bool inner_types = false;   // types of inner values before their names
  bool origins = false;       // a comment after each node: which of the user's nodes it stands for
};

// parse_graph(print(g)) prints the same again. Only elements behind "..." are lost: they read as zeros. Documentation
// strings and origins are not read back.
std::string print(const Graph& graph, const PrintOptions& options = {});

// Errors begin with "line L, column C: ". Nodes get names, domains and opsets; ops::resolve finds their definitions.
Result<std::unique_ptr<Graph>> parse_graph(std::string_view text);

// "float[N,3]", "seq(int64)", "map(string,float)", ...; empty when nothing is known.
std::string print_type(const Type& type);

}  // namespace trunnion::ir
