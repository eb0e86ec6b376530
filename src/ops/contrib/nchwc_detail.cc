#include "ops/contrib/nchwc_detail.h"

#include "base/cpu_info.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

bool is_op(const ir::Node* n, std::string_view op) { return n && n->op_type() == op && n->domain() == kNchwcDomain; }

// Facts, not constants: these are given back once a kernel has packed them.
std::optional<Shape> weight_shape(const ir::Node& conv) {
  const ir::Value* w = conv.input(1);
  auto shape = w && w->fact.has_rank() ? w->fact.concrete() : std::nullopt;
  return shape && shape->size() == 4 ? shape : std::nullopt;
}

// The channels of a value, if they are known: what inference says, or what the convolution before it makes.
int64_t channels(const ir::Value* v) {
  const auto keeps = [](const ir::Node* n) {
    return is_op(n, "MaxPool") || is_op(n, "AveragePool") || is_op(n, "GlobalMaxPool") ||
           is_op(n, "GlobalAveragePool") || is_op(n, "Upsample");
  };
  const ir::Node* n = v ? v->producer() : nullptr;
  while (keeps(n)) n = n->input(0) ? n->input(0)->producer() : nullptr;
  const auto w = is_op(n, "Conv") ? weight_shape(*n) : std::nullopt;
  return w ? (*w)[0] : 0;
}

// Whether a value has blocked channels: other operators keep what they are given.
bool is_blocked(const ir::Value* v) {
  const ir::Node* n = v ? v->producer() : nullptr;
  while (n && n->domain() != kNchwcDomain) n = n->input(0) ? n->input(0)->producer() : nullptr;
  return n && n->op_type() != "ReorderOutput";
}

bool is_depthwise(const ir::Node& conv, const Shape& w) { return conv.attr("group", 1) > 1 && w[1] == 1; }

// 8 or 16 when the node allows no other size; 0 when it does not tell.
int64_t told_by(const ir::Node& n) {
  if (n.op_type() == "Reshape" && n.domain().empty()) {  // the block as a dimension of its own
    const ir::Value *x = n.input(0), *to = n.input(1);
    if (!x || !x->producer() || x->producer()->domain() != kNchwcDomain || !is_blocked(x) || !to || !to->fact.content ||
        to->fact.content->size() != 5)
      return 0;
    const Dim& last = to->fact.content->back();
    return last.is_int(8) ? 8 : last.is_int(16) ? 16 : 0;
  }
  if (is_op(&n, "ReorderOutput")) {
    const int64_t padded = channels(n.input(0)), used = n.attr("channels", 0);
    if (padded == 0 || used == 0) return 0;
    return padded % 16 != 0 ? 8 : padded - used >= 8 ? 16 : 0;
  }
  const auto shape = is_op(&n, "Conv") ? weight_shape(n) : std::nullopt;
  if (!shape) return 0;
  const Shape& w = *shape;
  if (w[0] % 16 != 0) return 8;
  if (n.attr("group", 1) != 1) return 0;
  // Fewer channels than a block are read as they are; more are padded to whole blocks.
  if (w[1] >= 8 && w[1] < 16) return is_blocked(n.input(0)) ? 8 : 16;
  return w[1] % 16 != 0 && w[1] > 16 ? 8 : 0;
}

}  // namespace

int64_t nchwc_block(const ir::Node& node) {
  const ir::Graph* root = node.graph();
  while (root && root->owner() && root->owner()->graph()) root = root->owner()->graph();
  int64_t block = 0;
  if (root)
    root->for_each_node_deep([&](const ir::Node* n) {
      if (block == 0) block = told_by(*n);
    });
  if (block != 0) return block;
  return cpu_info().rung >= Rung::avx512 ? 16 : 8;
}

Result<ConvParams> read_nchwc_conv(const ir::Node& node) {
  ConvParams p = read_conv(node, false);
  if (const auto w = weight_shape(node); w && is_depthwise(node, *w)) p.groups = (*w)[0];
  return p;
}

Result<NchwcConv> read_nchwc_weights(const ir::Node& node) {
  NchwcConv c;
  TRN_ASSIGN(c.params, read_nchwc_conv(node));
  const ir::Value* weights = node.input(1);
  if (!weights->is_constant()) return not_implemented("weights that are no constant");
  const Tensor& from = weights->constant();
  const Shape& w = from.shape();
  if (w.size() != 4 || from.dtype() != DType::f32)
    return invalid_argument("the weights have shape {}, need rank 4", shape_text(w));
  const int64_t block = c.block = nchwc_block(node), taps = w[2] * w[3];
  if (w[0] % block != 0) return invalid_argument("{} output channels are no multiple of the block of {}", w[0], block);
  // The inputs of a weight are in blocks too, but for depthwise and for few channels, which come in plain order.
  const bool depthwise = is_depthwise(node, w), input_blocks = !depthwise && w[1] >= block;
  c.blocked_input = depthwise || input_blocks;
  if (input_blocks && w[1] % block != 0)
    return invalid_argument("{} input channels are no multiple of the block of {}", w[1], block);
  const int64_t inner = input_blocks ? block : 1;
  TRN_ASSIGN(c.weights, Tensor::allocate(DType::f32, w));
  const float* s = from.data<float>();
  for (int64_t o = 0; o < w[0]; o += block)
    for (int64_t i = 0; i < w[1]; i += inner)
      for (int64_t t = 0; t < taps; ++t)
        for (int64_t bi = 0; bi < inner; ++bi)
          for (int64_t bo = 0; bo < block; ++bo) c.weights.data<float>()[((o + bo) * w[1] + i + bi) * taps + t] = *s++;
  return c;
}

}  // namespace trunnion::ops
