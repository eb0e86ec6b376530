// Zero padding in front of a convolution becomes the convolution's own.
#include "ep/cpu/fusion.h"

namespace trunnion::ep {
namespace {

using passes::is_op;

// Pads of the spatial axes (begins, then ends) of a Pad that adds zeros there and nowhere else.
std::optional<std::vector<int64_t>> zero_pads(const ir::Node& pad, int rank) {
  if (pad.attr("mode", "constant") != "constant") return std::nullopt;
  if (pad.since() < 11 ? pad.attr("value", 0.0f) != 0 : pad.input(2) && scalar(pad.input(2)) != 0.0f)
    return std::nullopt;
  if (pad.input(3)) return std::nullopt;
  const auto pads = passes::ints_of(pad, pad.since() == 1 ? "paddings" : "pads", 1);
  if (!pads || static_cast<int>(pads->size()) != 2 * rank) return std::nullopt;
  std::vector<int64_t> out;
  for (int half = 0; half < 2; ++half)
    for (int i = 0; i < rank; ++i) {
      const int64_t p = (*pads)[static_cast<size_t>(half * rank + i)];
      if (p < 0 || (i < 2 && p != 0)) return std::nullopt;
      if (i >= 2) out.push_back(p);
    }
  return out;
}

}  // namespace

Status pad_fusion(ir::Graph& graph, passes::PassContext& context) {
  ir::Rewriter rw(graph, "PadFusion", context.log);
  for (ir::Node* n = graph.first(); n;) {
    ir::Node* next = n->next();
    if (is_op(n, "Pad") && n->input(0) && n->input(0)->fact.has_rank() && n->input(0)->fact.rank() > 2) {
      ir::Node* conv = only_user(n->output(0));
      const int rank = n->input(0)->fact.rank();
      const auto pads = zero_pads(*n, rank);
      if (pads && is_op(conv, "Conv") && conv->input(0) == n->output(0) &&
          conv->attr("auto_pad", "NOTSET") == "NOTSET") {
        auto sum = conv->ints("pads", std::vector<int64_t>(static_cast<size_t>(2 * (rank - 2)), 0));
        if (sum.size() == pads->size()) {
          rw.begin("into the convolution", {n, conv});
          for (size_t i = 0; i < sum.size(); ++i) sum[i] += (*pads)[i];
          rw.set_attr(conv, "pads", std::move(sum));
          rw.absorb(conv, n);
          const std::vector<ir::Value*> old(n->inputs().begin() + 1, n->inputs().end());
          rw.bypass(n, n->input(0));
          rw.erase_unused_constants(old);
        }
      }
    }
    n = next;
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::ep
