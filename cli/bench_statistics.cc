#include "bench_statistics.h"

#include <algorithm>
#include <random>

namespace trunnion::cli {

double percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at), above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return percentile(values, 0.5);
}

Interval median_interval(const std::vector<double>& values) {
  if (values.empty()) return {};
  constexpr int kDraws = 2000;
  std::mt19937 random(0);
  std::vector<double> medians, drawn(values.size());
  for (int i = 0; i < kDraws; ++i) {
    for (double& d : drawn) d = values[random() % values.size()];
    medians.push_back(median(drawn));
  }
  std::ranges::sort(medians);
  return {percentile(medians, 0.025), percentile(medians, 0.975)};
}

Histogram histogram(const std::vector<double>& sorted, int bins, double most) {
  Histogram h;
  h.counts.assign(static_cast<size_t>(bins), 0);
  if (sorted.empty()) return h;
  h.low = sorted.front();
  h.high = std::max(most, h.low);
  const double width = (h.high - h.low) / bins;
  for (const double v : sorted) {
    const int at = width > 0 ? static_cast<int>(std::min((v - h.low) / width, static_cast<double>(bins - 1))) : 0;
    ++h.counts[static_cast<size_t>(at)];
  }
  return h;
}

}  // namespace trunnion::cli
