// Where the time of a run goes, node by node, against what the machine can do at most.
#pragma once
#include <string>
#include <vector>

#include "bench_peak.h"

namespace trunnion::cli {

// A node of the graph as it is run: medians over the profiled runs, all its calls of a run together.
struct NodeTime {
  std::string name, op, provider, arithmetic, shapes;
  std::vector<std::string> nodes;  // of the user's model, which it stands for
  double ms = 0, calls = 1;
  double flops = 0, bytes = 0, weight_bytes = 0;
  bool known = false;  // flops and bytes could be told
  double limit_ms = 0;
};

struct Profile {
  std::vector<NodeTime> nodes;  // in the order of the run
  int runs = 0;
  std::string precision, cpu;  // as the engine says
  int threads = 1;
};

// From the text of a profile in Chrome's trace form. The first `skipped` runs are not counted.
Profile read_profile(const std::string& text, int skipped);

// Fills limit_ms of all nodes and gives their sum. Nodes without known figures are limited by nothing.
double set_limits(Profile& profile, const peak::Rates& rates);
double flop_rate(const NodeTime& node, const std::string& precision, const peak::Rates& rates);

// The same by operator, slowest first.
struct OperatorTime {
  std::string op;
  int nodes = 0;
  double ms = 0, flops = 0, bytes = 0, limit_ms = 0;
};
std::vector<OperatorTime> by_operator(const Profile& profile);

}  // namespace trunnion::cli
