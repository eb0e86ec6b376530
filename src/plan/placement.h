// Which provider runs which node, and why the others do not.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ep/provider.h"

namespace trunnion::plan {

struct Refusal {
  std::string provider;
  std::string reason;
};

struct NodePlacement {
  std::string node;  // label
  std::string op_type;
  std::string domain;
  std::string name;
  int provider = -1;  // index into Placement::providers
  int region = -1;    // which one executable of a compiling provider runs it; -1: it is run on its own
  std::vector<Refusal> refused;
};

struct Placement {
  std::vector<std::string> providers;  // in order of preference
  std::vector<NodePlacement> nodes;    // graph order, bodies after their owner
  int regions = 0;
  // What stands for regions of the main graph in a file, by the name of their node.
  std::map<std::string, std::shared_ptr<const ep::ContextNode>> contexts;
  int count(int provider) const;
};

// Asks the providers in order; the first that takes a node gets it. What a compiling provider takes together becomes
// one node of the graph, once it has compiled it; if it cannot, the next provider is asked. A node that none takes is
// an error with every reason.
Result<Placement> place(ir::Graph& graph, std::span<const std::unique_ptr<ep::Provider>> providers);

}  // namespace trunnion::plan
