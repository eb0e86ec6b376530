// ExpandDims (com.microsoft 1): a dimension of size 1 put in at an axis that comes as a scalar.
#include "ops/dispatch.h"
#include "ops/move.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node&, ir::Facts& f) {
  f.set(0, f.dtype(0));
  if (f.has_rank(1) && f.in(1).rank() > 1)
    return invalid_argument("input 1 has shape {}, needs a scalar", shape_text(f.in(1).shape()));
  if (!f.has_rank(0)) return {};
  SymShape y = f.in(0).shape();
  const auto axis = f.ints(1);
  if (!axis || axis->size() != 1) {
    f.set(0, f.dtype(0), unknown_shape(f.in(0).rank() + 1));
    return {};
  }
  TRN_ASSIGN(const int at, normalize_axis((*axis)[0], f.in(0).rank() + 1));
  y.insert(y.begin() + at, Dim(1));
  f.set(0, f.dtype(0), std::move(y));
  return {};
}

constexpr DTypes kTypes = kPlainTypes | DType::string;
constexpr OpDef kDefs[] = {{"ExpandDims",
                            infer,
                            cpu<ViewCopy>(kTypes),
                            {.reviewed = 1, .view = 0},
                            "com.microsoft",
                            "com.microsoft::ExpandDims 1 (X:T, axis:i32) -> (Y:T) T=basic|bf16"}};

}  // namespace

TRUNNION_OPS(expand_dims, kDefs);

}  // namespace trunnion::ops
