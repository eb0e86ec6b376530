// What nodes have to do in all, as numbers even where dimensions are free: for placement by cost and its reports.
#pragma once
#include <optional>

#include "ir/graph.h"

namespace trunnion::plan {

struct Work {
  double flops = 0;
  double bytes = 0;            // that are read and written
  int64_t nodes = 0;           // bodies included
  bool free_sizes = false;     // some dimension is free, and counted as 1
  bool unknown_sizes = false;  // of some node the shapes are not known: it is not counted
};
void add_work(const ir::Node& node, Work& work);

// Bytes of a tensor, free dimensions as 1 (`free_sizes` is set then); nothing where the rank is not known, and for
// what is no tensor of numbers.
std::optional<double> bytes_of(const Type& type, bool& free_sizes);

}  // namespace trunnion::plan
