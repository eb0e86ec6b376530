#include "ops/math/einsum_detail.h"

#include <algorithm>
#include <map>

namespace trunnion::ops {
namespace {

Result<EinsumEquation::Term> parse_term(std::string_view text) {
  EinsumEquation::Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ' || c == '\t') continue;
    if (c == '.') {
      if (text.substr(i, 3) != "..." || term.ellipsis >= 0)
        return invalid_argument("the term '{}' of the equation has a misplaced '.'", text);
      term.ellipsis = static_cast<int>(term.letters.size());
      i += 2;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      term.letters.push_back(c);
    } else {
      return invalid_argument("the term '{}' of the equation has the character '{}', which is no letter", text, c);
    }
  }
  return term;
}

}  // namespace

Result<EinsumEquation> parse_equation(std::string_view text) {
  EinsumEquation e;
  const size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  while (true) {
    const size_t comma = left.find(',');
    TRN_ASSIGN(auto term, parse_term(left.substr(0, comma)));
    e.inputs.push_back(std::move(term));
    if (comma == std::string_view::npos) break;
    left = left.substr(comma + 1);
  }
  if (arrow == std::string_view::npos) return e;
  e.has_output = true;
  TRN_ASSIGN(e.output, parse_term(text.substr(arrow + 2)));
  return e;
}

Result<std::vector<EinsumTerm>> expand_equation(const EinsumEquation& equation, std::span<const int> ranks) {
  if (ranks.size() != equation.inputs.size())
    return invalid_argument("the equation has {} terms, but there are {} inputs", equation.inputs.size(), ranks.size());
  std::vector<EinsumTerm> terms;
  int widest = 0, first = -1;  // dimensions of an ellipsis; the input that has the first one
  const auto expand = [](const EinsumEquation::Term& t, int dims) {
    EinsumTerm out = t.letters;
    for (int i = 0; i < dims; ++i) out.insert(out.begin() + t.ellipsis, kEllipsis + i);
    return out;
  };
  std::map<int, int> uses;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const auto& t = equation.inputs[i];
    const int dims = ranks[i] - static_cast<int>(t.letters.size());
    if (dims < 0 || (dims > 0 && t.ellipsis < 0))
      return invalid_argument("input {} has rank {}, but its term of the equation has {} labels", i, ranks[i],
                              t.letters.size());
    if (t.ellipsis >= 0 && first >= 0 && dims != widest)
      return invalid_argument(
          "the ellipsis stands for {} dimensions of input {} and for {} of input {}: it must stand "
          "for the same number in all terms",
          widest, first, dims, i);
    if (t.ellipsis >= 0) widest = dims, first = static_cast<int>(i);
    terms.push_back(expand(t, dims));
    for (int l : t.letters) ++uses[l];
  }
  EinsumEquation::Term output = equation.output;
  if (!equation.has_output) {
    output.ellipsis = 0;
    for (const auto& [letter, count] : uses)
      if (count == 1) output.letters.push_back(letter);
  } else {
    for (int l : output.letters) {
      if (!uses.count(l))
        return invalid_argument("the output label '{}' of the equation is in no input", static_cast<char>(l));
      if (std::count(output.letters.begin(), output.letters.end(), l) > 1)
        return invalid_argument("the output label '{}' of the equation stands there twice", static_cast<char>(l));
    }
  }
  terms.push_back(expand(output, output.ellipsis < 0 ? 0 : widest));
  return terms;
}

}  // namespace trunnion::ops
