// Which provider runs which node, and why the others do not.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ep/provider.h"
#include "plan/placement_cost.h"

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
  int owner = -1;                    // the node whose body it is in
  std::vector<int> inputs, outputs;  // in Placement::values; constants and what is left out are not among them
};

// An edge of the graph as it was before any node became part of another. A body sees values around it as they are.
struct PlacedValue {
  std::string name;
  Type type;
  int producer = -1;    // row of a node; -1: an input of the graph or of a body
  bool output = false;  // of the model
};

// A value that leaves the provider that makes it. Index -1 stands for the caller, who has inputs and outputs in the
// memory of the host, as the CPU provider has.
struct Crossing {
  int value = -1;
  int from = -1, to = -1;
  bool copied = false;  // from or to memory of its own; else both look at the same bytes
};

struct Placement {
  std::vector<std::string> providers;  // in order of preference
  std::vector<ep::Identity> identities;
  std::vector<NodePlacement> nodes;  // graph order, bodies after their owner
  int regions = 0;
  std::vector<ep::EngineNote> engines;  // by region
  std::vector<PlacedValue> values;      // empty unless they were asked for
  std::vector<Crossing> crossings;      // likewise
  std::vector<Verdict> verdicts;        // of placement by cost
  // What stands for regions of the main graph in a file, by the name of their node.
  std::map<std::string, std::shared_ptr<const ep::ContextNode>> contexts;
  std::map<std::string, std::string> compatibility;  // what providers say of their nodes in a file, by their name
  int count(int provider) const;
};

struct PlacementOptions {
  bool values = false;         // whether edges and crossings are kept, for reports
  std::vector<Costs> costs;    // by provider; empty: the first that takes a node gets it, whatever that costs
  int cpu = -1;                // the provider that costs are compared with
  bool compatibility = false;  // whether compiled nodes are for a file, which says what they need
};

// Asks the providers in order; the first that takes a node gets it. What a compiling provider takes together becomes
// one node of the graph, once it has compiled it; if it cannot, the next provider is asked. A node that none takes is
// an error with every reason. With costs, islands that lose more by copies than they save go to the next provider, if
// the CPU can run them.
Result<Placement> place(ir::Graph& graph, std::span<const std::unique_ptr<ep::Provider>> providers,
                        const PlacementOptions& options = {});

}  // namespace trunnion::plan
