// Regions of a graph that a compiling provider runs as one: what goes in and out, and one node in their place.
#pragma once
#include "ep/provider.h"

namespace trunnion::plan {

// Puts the region's nodes in graph order and fills its inputs and outputs.
void find_ports(ir::Graph& graph, ep::Region& region);

// Whether one node can stand for the region: no path from one of its nodes to another leads through a node outside.
Status check_convex(const ir::Graph& graph, const ep::Region& region);

// Replaces the nodes by one that has the region's inputs and outputs, under the old names. Nodes outside that lie
// between them and need them move behind it.
void fuse(ir::Graph& graph, const ep::Region& region, const ep::Fused& fused, const std::string& provider);

}  // namespace trunnion::plan
