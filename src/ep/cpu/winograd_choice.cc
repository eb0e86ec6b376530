// Which 3x3 convolutions run as Winograd: F(2x2) cuts the multiplications by 2.25, F(4x4) by 4 at several times the
// rounding error, so it takes level `fast`. Their weights grow by 16/9 and 4, which does not pay where a picture has
// few tiles for many weights. The choice is the attribute `winograd`, and it goes by the shapes that the model
// declares: other batches of the same model do the same arithmetic.
#include "ep/cpu/fusion.h"
#include "ops/nn/conv_detail.h"

namespace trunnion::ep {
namespace {

constexpr int64_t kUnknownSide = 18;  // free dimensions of the picture are taken as this

// Tiles that are too few for these weights: reading them would take longer than multiplying.
bool few_tiles(const kernels::ConvShape& s, int side, int64_t weights_per_tile) {
  int64_t tiles = s.batch;
  for (int i = 0; i < s.rank; ++i) tiles *= (s.out[i] + side - 1) / side;
  return tiles < 8 || tiles * weights_per_tile < s.cin * s.cout;
}

int choose(const ir::Node& n, Precision level) {
  const ir::Value *x = n.input(0), *w = n.input(1);
  if (level == Precision::strict || !x->fact.has_rank() || x->fact.rank() != 4 || !w->is_constant()) return 0;
  const ops::ConvParams params = ops::read_conv(n, n.attr("transposed", 0) != 0);
  const auto channels = ops::conv_channels(params, w->constant().shape());
  if (!channels.ok() || params.transposed) return 0;
  const auto at = [&](int i, int64_t unknown) {
    const auto& d = x->fact.shape()[static_cast<size_t>(i)];
    return d.is_int() && d.value() > 0 ? d.value() : unknown;
  };
  const int first = n.op_type() == "NhwcConv" ? 1 : 2;
  const int64_t dims[] = {at(0, 1), channels->cin, at(first, kUnknownSide), at(first + 1, kUnknownSide)};
  const auto shape = ops::conv_shape(params, dims, *channels);
  if (!shape.ok() || !kernels::conv_winograd_fits(*shape) || shape->cin + shape->cout < 40) return 0;
  if (level >= Precision::fast && !few_tiles(*shape, 4, 4096)) return 4;
  return few_tiles(*shape, 2, 8192) ? 0 : 2;
}

}  // namespace

Status winograd_choice(ir::Graph& graph, passes::PassContext& context) {
  ir::Rewriter rw(graph, "WinogradChoice", context.log);
  for (ir::Node* n = graph.first(); n; n = n->next()) {
    if (n->domain() != "trunnion" || (n->op_type() != "NhwcConv" && n->op_type() != "FusedConv")) continue;
    const int side = choose(*n, context.precision.of(n->name(), n->origins));
    if (side == 0 || n->attr("winograd", 0) == side) continue;
    rw.begin("winograd", {n});
    rw.set_attr(n, "winograd", int64_t{side});
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::ep
