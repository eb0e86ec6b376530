// Which provider runs which node, and why the others do not.
#pragma once
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
  std::vector<Refusal> refused;
};

struct Placement {
  std::vector<std::string> providers;  // in order of preference
  std::vector<NodePlacement> nodes;    // graph order, bodies after their owner
  int count(int provider) const;
};

// Asks the providers in order; the first that takes a node gets it. A node that none takes is an error with every
// reason.
Result<Placement> place(const ir::Graph& graph, std::span<const std::unique_ptr<ep::Provider>> providers);

}  // namespace trunnion::plan
