// Unsqueeze (ai.onnx 1 ... 25): puts in dimensions of size 1; the axes are an attribute before 13, then an input.
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
  std::optional<std::vector<int64_t>> axes;
  if (old)
    axes = n.ints("axes");
  else
    axes = f.ints(1);
  if (!f.has_rank(0)) return {};
  const SymShape& in = f.in(0).shape();
  if (!axes) {
    if (f.has_rank(1) && f.in(1).rank() <= 1) {
      const Dim count = element_count(f.in(1).shape());
      if (count.is_int() && count.value() >= 0 && count.value() <= 1024)
        f.out(0).type.shape = unknown_shape(f.in(0).rank() + static_cast<int>(count.value()));
    }
    return {};
  }
  const int64_t rank = f.in(0).rank() + static_cast<int64_t>(axes->size());
  TRN_ASSIGN(const std::vector<int> put, normalize_axes(*axes, rank));
  SymShape out;
  auto next = in.begin();
  for (int i = 0; i < rank; ++i) out.push_back(std::binary_search(put.begin(), put.end(), i) ? Dim(1) : *next++);
  f.out(0).type.shape = std::move(out);
  if (rank <= 1) f.out(0).content = f.in(0).content;
  return {};
}

constexpr OpDef kDefs[] = {{"Unsqueeze", infer, cpu<ViewCopy>(kAllTypes), {.reviewed = 25, .view = 0}}};

}  // namespace

TRUNNION_OPS(unsqueeze, kDefs);
}  // namespace trunnion::ops
