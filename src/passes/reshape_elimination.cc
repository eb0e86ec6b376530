// ReshapeElimination: of chains of Reshape, Squeeze, Unsqueeze and Flatten the last one that is needed stays, and none
// where the shape comes back to what it was.
#include "passes/clean.h"
#include "passes/rules.h"

namespace trunnion::passes {
namespace {

// Gives the elements of input 0 in the same order under another shape.
bool reshapes(const ir::Node* n) {
  return n && n->domain().empty() && n->input(0) &&
         (n->op_type() == "Reshape" || n->op_type() == "Squeeze" || n->op_type() == "Unsqueeze" ||
          n->op_type() == "Flatten");
}

// A value up the chain that has the shape which the node gives.
ir::Value* same_value(const ir::Node& node) {
  if (!reshapes(&node)) return nullptr;
  for (const ir::Node* n = &node; reshapes(n); n = n->input(0)->producer())
    if (same_type(n->input(0)->fact, node.output(0)->fact)) return n->input(0);
  return nullptr;
}

// Whether the Reshape gives the same from x as from what it reads now: its target copies no dimension, or the same
// ones.
bool target_holds_for(const ir::Node& n, const ir::Value& x) {
  if (n.inputs().size() != 2 || !n.input(1)) return false;
  if (n.attr("allowzero", 0)) return true;
  const auto& target = n.input(1)->fact.content;
  if (!target) return false;
  const ir::Fact &now = n.input(0)->fact, &then = x.fact;
  for (size_t i = 0; i < target->size(); ++i) {
    const Dim& d = (*target)[i];
    if (d.is_int() && d.value() != 0) continue;
    if (!d.is_int(0)) return false;  // may turn out to be zero
    const int axis = static_cast<int>(i);
    if (!now.has_rank() || !then.has_rank() || axis >= now.rank() || axis >= then.rank() ||
        !(now.dim(axis) == then.dim(axis)))
      return false;
  }
  return true;
}

std::optional<int64_t> flatten_axis(const ir::Fact& x, const ir::Fact& result) {
  if (!x.has_rank() || !result.has_rank() || result.rank() != 2) return std::nullopt;
  const SymShape& s = x.shape();
  for (int axis = 0; axis <= x.rank(); ++axis)
    if (element_count(SymShape(s.begin(), s.begin() + axis)) == result.dim(0) &&
        element_count(SymShape(s.begin() + axis, s.end())) == result.dim(1))
      return axis;
  return std::nullopt;
}

// The axes of two Unsqueezes (or Squeezes) in a row as axes of one.
std::optional<std::vector<int64_t>> merged_axes(const ir::Node& first, const ir::Node& second) {
  const bool squeeze = second.op_type() == "Squeeze";
  const ir::Fact& wide = squeeze ? first.input(0)->fact : second.output(0)->fact;
  const ir::Fact& middle = first.output(0)->fact;
  auto a = ints_of(first, "axes", 1), b = ints_of(second, "axes", 1);
  if (!a || !b || !wide.has_rank() || !middle.has_rank()) return std::nullopt;
  const auto outer = normal_axes(*(squeeze ? a : b), wide.rank()),
             inner = normal_axes(*(squeeze ? b : a), middle.rank());
  if (!outer || !inner) return std::nullopt;
  std::vector<int64_t> axes;  // inner axes count the axes of `wide` that are not in `outer`
  int64_t position = 0;
  size_t next_outer = 0, next_inner = 0;
  for (int64_t axis = 0; axis < wide.rank(); ++axis) {
    if (next_outer < outer->size() && (*outer)[next_outer] == axis) {
      axes.push_back(axis);
      ++next_outer;
      continue;
    }
    if (next_inner < inner->size() && (*inner)[next_inner] == position) {
      axes.push_back(axis);
      ++next_inner;
    }
    ++position;
  }
  return axes;
}

Status skip_first(ir::Node* n, ir::Rewriter& rw) {
  ir::Node* first = n->input(0)->producer();
  ir::Value* x = first->input(0);
  if (n->op_type() == "Reshape") {
    if (!target_holds_for(*n, *x)) return {};
    rw.begin("reshape of a reshape", {first, n});
  } else if (n->op_type() == "Flatten") {
    const auto axis = flatten_axis(x->fact, n->output(0)->fact);
    if (!axis) return {};
    rw.begin("flatten of a reshape", {first, n});
    rw.set_attr(n, "axis", *axis);
  } else if (first->op_type() == n->op_type()) {
    const auto axes = merged_axes(*first, *n);
    if (!axes) return {};
    rw.begin("one set of axes", {first, n});
    if (n->since() < 13) {
      rw.set_attr(n, "axes", *axes);
    } else {
      TRN_ASSIGN(Tensor t, int64_tensor(*axes));
      rw.set_input(n, 1, rw.constant(n->output(0)->name() + "_axes", std::move(t)));
    }
  } else {
    return {};
  }
  rw.set_input(n, 0, x);
  rw.absorb(n, first);
  return {};
}

}  // namespace

Status reshape_elimination(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "ReshapeElimination", context.log);
  TRN_TRY(bypass_all(graph, rw, "back to an earlier shape", [](ir::Node& n) { return same_value(n); }));
  for (ir::Node* n = graph.first(); n; n = n->next())
    if (reshapes(n) && reshapes(n->input(0)->producer())) TRN_TRY(skip_first(n, rw));
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::passes
