// One fp32 convolution as a benchmark.
#pragma once
#include <cstdint>

namespace trunnion::bench {

struct ConvCase {
  const char* name;
  int rank;
  int64_t cin, cout, height, width, kernel, stride, pad, groups;
  bool transposed = false;
};
void add_convolution(const ConvCase& c);

}  // namespace trunnion::bench
