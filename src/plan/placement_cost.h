// Placement by cost: whether what a provider gains on its nodes is more than what bringing values there and back costs.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ep/provider.h"

namespace trunnion::plan {

// How fast a provider is taken to be. Rough by nature: good enough to see an island that can only lose.
struct Costs {
  double gflops = 0;     // operations a second, in 1e9
  double gb_s = 0;       // of its own memory
  double node_us = 0;    // for each node, whatever it does
  double start_us = 0;   // for each region, in each run
  double copy_us = 0;    // for each value that comes from or goes to others
  double copy_gb_s = 0;  // of such values
};

// What is assumed of a device: "CPU", "GPU", "NPU"; of the built-in CPU provider with this many threads. A provider
// that works on the memory of the host pays for each value, not for its bytes.
Costs assumed_costs(const ep::Identity& identity, int threads);

// Replaces what `text` names: "NAME:gflops=500,copy_us=20;NAME2:...", with names of providers.
Status read_costs(std::string_view text, std::span<const std::string> providers, std::span<Costs> costs);

// How one region, or one island of nodes that stand together, was judged.
struct Verdict {
  int provider = -1;
  int nodes = 0;
  std::string first;     // label of a node
  double here_us = 0;    // on the provider, starting it included
  double there_us = 0;   // on the CPU
  double copies_us = 0;  // of the values that cross
  int copies = 0;        // how many those are
  double copied_bytes = 0;
  bool free_sizes = false;     // free dimensions were taken as 1
  bool unknown_sizes = false;  // the size of some values is not known: they count as empty
  bool own_memory = true;      // of the provider; else nothing is copied, the values are only handed over
  bool kept = true;
  double saves_us() const { return there_us - here_us; }
  std::string text() const;  // "island of 1 node: saves 3 us, copies cost 40 us (2 values, 1.2 MB)"
};

// Islands of nodes of one graph that a provider wants, with inputs and outputs as find_ports fills them. Takes out of
// `islands` those that lose, and gives the verdict on every one, in the same order.
std::vector<Verdict> judge(std::vector<ep::Region>& islands, const ep::Identity& identity, const Costs& here,
                           const Costs& cpu);

// Nodes that are taken one by one, as islands: those that are joined by a value stand together.
std::vector<ep::Region> islands_of(const ir::Graph& graph, const std::unordered_set<const ir::Node*>& nodes);

// "3 us", "1.2 ms"; "1.2 MB".
std::string time_text(double microseconds);
std::string size_text(double bytes);

}  // namespace trunnion::plan
