// Flatten (ai.onnx 1 ... 25): a matrix of the dimensions before an axis by those from it on.
#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  const int64_t axis = n.attr("axis", 1);
  if (!f.has(0)) return {};
  f.set(0, f.dtype(0), unknown_shape(2));
  if (!f.has_rank(0)) return {};
  const SymShape& in = f.in(0).shape();
  const int64_t rank = f.in(0).rank(), lowest = n.since() >= 11 ? -rank : 0;
  if (axis < lowest || axis > rank)
    return invalid_argument("axis {} is out of range for rank {}: expected a value in [{}, {}]", axis, rank, lowest,
                            rank);
  const auto split = in.begin() + (axis < 0 ? axis + rank : axis);
  f.out(0).type.shape = SymShape{element_count(SymShape(in.begin(), split)), element_count(SymShape(split, in.end()))};
  return {};
}

constexpr OpDef kDefs[] = {{"Flatten", infer, cpu<ViewCopy>(kAllTypes), {.reviewed = 25, .view = 0}}};

}  // namespace

TRUNNION_OPS(flatten, kDefs);
}  // namespace trunnion::ops
