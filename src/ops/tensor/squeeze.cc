// Squeeze (ai.onnx 1 ... 25): takes out dimensions of size 1; the axes are an attribute before 13, then an input.
#include <algorithm>

#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  if (!f.has(0)) return {};
  f.set(0, f.dtype(0));
  const bool old = n.since() < 13;
  const bool given = old ? n.has_attr("axes") : f.has(1);
  std::optional<std::vector<int64_t>> axes;
  if (given) axes = old ? n.ints("axes") : f.ints(1);
  if (!f.has_rank(0)) return {};
  const SymShape& in = f.in(0).shape();
  if (given && !axes) {
    const bool counted = f.has_rank(1) && f.in(1).rank() <= 1 && element_count(f.in(1).shape()).is_int();
    const int64_t rank = counted ? f.in(0).rank() - element_count(f.in(1).shape()).value() : -1;
    if (rank >= 0) f.out(0).type.shape = unknown_shape(static_cast<int>(rank));
    return {};
  }
  SymShape out;
  if (!given) {
    for (const Dim& d : in) {
      if (!d.is_int()) return {};  // it may be 1: the rank is not known
      if (!d.is_int(1)) out.push_back(d);
    }
  } else {
    TRN_ASSIGN(const std::vector<int> drop, normalize_axes(*axes, f.in(0).rank()));
    for (int i = 0; i < f.in(0).rank(); ++i) {
      if (!std::binary_search(drop.begin(), drop.end(), i))
        out.push_back(in[i]);
      else if (in[i].is_int() && !in[i].is_int(1))
        return invalid_argument("axis {} of shape {} has size {}, needs 1", i, shape_text(in), in[i].value());
    }
  }
  f.out(0).type.shape = std::move(out);
  if (f.out(0).rank() <= 1) f.out(0).content = f.in(0).content;
  return {};
}

constexpr OpDef kDefs[] = {{"Squeeze", infer, cpu<ViewCopy>(kAllTypes), {.reviewed = 25, .view = 0}}};

}  // namespace

TRUNNION_OPS(squeeze, kDefs);
}  // namespace trunnion::ops
