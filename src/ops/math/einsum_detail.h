// The equation of Einsum: parsing, and the sizes of its labels.
#pragma once
#include <string_view>

#include "ops/op.h"

namespace trunnion::ops {

// Labels of one term. A letter stands for itself; kEllipsis + i is the i-th dimension of the ellipsis from the right.
using EinsumTerm = std::vector<int>;
inline constexpr int kEllipsis = 256;

struct EinsumEquation {
  struct Term {
    std::vector<int> letters;
    int ellipsis = -1;  // in front of which letter it stands; -1: none
  };
  std::vector<Term> inputs;
  bool has_output = false;
  Term output;
};
Result<EinsumEquation> parse_equation(std::string_view text);

// The terms with ellipses written out for inputs of these ranks; the last one is the output's.
Result<std::vector<EinsumTerm>> expand_equation(const EinsumEquation& equation, std::span<const int> ranks);

}  // namespace trunnion::ops
