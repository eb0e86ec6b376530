// Figures about measured times.
#pragma once
#include <cstdint>
#include <vector>

namespace trunnion::cli {

// Between the two nearest of the sorted values.
double percentile(const std::vector<double>& sorted, double share);
double median(std::vector<double> values);  // 0 for none

// The 95 % interval of the median, by drawing the values anew 2000 times, the same draws every time.
struct Interval {
  double low = 0, high = 0;
};
Interval median_interval(const std::vector<double>& values);

// How many values fall into each of `bins` equal parts from the least to `most`; what is above counts in the last.
struct Histogram {
  double low = 0, high = 0;
  std::vector<int64_t> counts;
};
Histogram histogram(const std::vector<double>& sorted, int bins, double most);

}  // namespace trunnion::cli
