// Levels of numerics: what kernels and fusions may do to the bits. Session configuration: `precision` and
// `precision.nodes`. docs/precision.md has the promises.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace trunnion {

enum class Precision : uint8_t {
  strict,  // sums in the order of the operator, functions rounded correctly to about half an ulp
  fp32,    // + algorithms and functions about as accurate as plain fp32 arithmetic
  fast,    // + up to 1e-5 of a tensor's norm per operator
  bf16,    // + products of numbers rounded to bfloat16, where the CPU gains by it
};

inline constexpr std::string_view kPrecisionNames[] = {"strict", "fp32", "fast", "bf16"};
inline std::string_view precision_name(Precision p) { return kPrecisionNames[static_cast<size_t>(p)]; }
Result<Precision> parse_precision(std::string_view name);

// A level for the model and others for some of its nodes.
class PrecisionChoice {
 public:
  // `nodes`: "name=level;name=level". INVALID_ARGUMENT says which part is wrong.
  static Result<PrecisionChoice> parse(std::string_view level, std::string_view nodes);

  Precision level() const { return level_; }
  std::span<const std::pair<std::string, Precision>> nodes() const { return nodes_; }
  bool any(Precision p) const;
  // Of a node that stands for the model's nodes `origins`: the strictest that is asked for any of them.
  Precision of(std::string_view name, std::span<const std::string> origins) const;

 private:
  Precision level_ = Precision::fp32;
  std::vector<std::pair<std::string, Precision>> nodes_;
};

}  // namespace trunnion
