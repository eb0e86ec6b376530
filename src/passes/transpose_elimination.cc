// TransposeElimination: a Transpose of a Transpose becomes one, and one that moves nothing goes.
#include "passes/clean.h"
#include "passes/rules.h"

namespace trunnion::passes {
namespace {

// The permutation, also where it is left out (then it reverses); nullopt when the rank is not known.
std::optional<std::vector<int64_t>> permutation(const ir::Node& n) {
  if (n.has_attr("perm")) return n.ints("perm");
  if (!n.input(0)->fact.has_rank()) return std::nullopt;
  std::vector<int64_t> perm;
  for (int64_t i = n.input(0)->fact.rank(); i-- > 0;) perm.push_back(i);
  return perm;
}

bool moves_nothing(const ir::Node& n) {
  if (!is_op(&n, "Transpose")) return false;
  const auto perm = permutation(n);
  if (!perm) return false;
  for (size_t i = 0; i < perm->size(); ++i)
    if ((*perm)[i] != static_cast<int64_t>(i)) return false;
  return true;
}

}  // namespace

Status transpose_elimination(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "TransposeElimination", context.log);
  for (ir::Node* n = graph.first(); n; n = n->next()) {
    ir::Node* first = is_op(n, "Transpose") ? n->input(0)->producer() : nullptr;
    if (!is_op(first, "Transpose")) continue;
    const auto p = permutation(*first), q = permutation(*n);
    if (!p || !q || p->size() != q->size()) continue;
    std::vector<int64_t> both;
    for (const int64_t axis : *q)
      if (axis >= 0 && axis < static_cast<int64_t>(p->size())) both.push_back((*p)[static_cast<size_t>(axis)]);
    if (both.size() != q->size()) continue;
    rw.begin("transpose of a transpose", {first, n});
    rw.set_input(n, 0, first->input(0));
    rw.set_attr(n, "perm", std::move(both));
    rw.absorb(n, first);
  }
  TRN_TRY(bypass_all(graph, rw, "transpose that moves nothing",
                     [](ir::Node& n) { return moves_nothing(n) ? n.input(0) : nullptr; }));
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::passes
