// BitCast (ai.onnx 26): the same bits under another element type of the same width.
#include "ops/move.h"
#include "ops/op.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  const auto to = dtype_from_code(n.attr("to", 0));
  if (!to || *to == DType::undefined)
    return invalid_argument("attribute to is {}, which is no element type that is known", n.attr("to", 0));
  if (!f.has(0)) return {};
  const DType from = f.dtype(0);
  f.set(0, *to, f.in(0).type.shape);
  if (from == DType::undefined) return {};
  if (from == DType::string || *to == DType::string || bits_of(from) != bits_of(*to))
    return invalid_argument("{} and {} do not have the same width", dtype_name(from), dtype_name(*to));
  return {};
}

constexpr OpDef kDefs[] = {{"BitCast", infer, cpu<ViewCopy>(kAllTypes), {.reviewed = 26, .in_place = {{0, 0}}}}};

}  // namespace

TRUNNION_OPS(bit_cast, kDefs);
}  // namespace trunnion::ops
