// Activations computed in the epilogue of the convolution, product or scale whose result they read.
#include <cmath>
#include <limits>

#include "ep/cpu/fusion.h"

namespace trunnion::ep {
namespace {

using passes::is_op;

struct Activation {
  const char* name;
  float a = 0, b = 0;
};

// The epilogue that stands for an operator, if there is one.
std::optional<Activation> activation_of(const ir::Node& n) {
  if (!n.domain().empty() || n.outputs().size() != 1) return std::nullopt;
  const std::string& op = n.op_type();
  if (op == "Relu") return Activation{"relu"};
  if (op == "Sigmoid") return Activation{"sigmoid"};
  if (op == "Tanh") return Activation{"tanh"};
  if (op == "HardSwish") return Activation{"hard_swish"};
  if (op == "LeakyRelu") return Activation{"leaky_relu", n.attr("alpha", 0.01f)};
  if (op == "HardSigmoid") return Activation{"hard_sigmoid", n.attr("alpha", 0.2f), n.attr("beta", 0.5f)};
  if (op == "Swish" && n.attr("alpha", 1.0f) == 1.0f) return Activation{"silu"};
  if (op == "Gelu") return Activation{n.attr("approximate", "none") == "tanh" ? "gelu_tanh" : "gelu"};
  if (op == "Clip") {
    Activation clip{"clip", std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()};
    if (n.since() < 11) {
      clip.a = n.attr("min", clip.a);
      clip.b = n.attr("max", clip.b);
    } else {
      for (int i : {1, 2}) {
        if (!n.input(i)) continue;
        const auto bound = scalar(n.input(i));
        if (!bound || std::isnan(*bound)) return std::nullopt;
        (i == 1 ? clip.a : clip.b) = *bound;
      }
    }
    if (clip.a > clip.b) return std::nullopt;
    return clip;
  }
  return std::nullopt;
}

}  // namespace

Status activation_fusion(ir::Graph& graph, passes::PassContext& context) {
  ir::Rewriter rw(graph, "ActivationFusion", context.log);
  for (ir::Node* n = graph.first(); n;) {
    ir::Node* next = n->next();
    const auto activation = activation_of(*n);
    ir::Node* producer = activation && n->input(0) ? n->input(0)->producer() : nullptr;
    if (producer && can_fuse(*producer) && only_user(n->input(0)) == n &&
        producer->attr("activation", "none") == "none" &&
        ir::Rewriter::can_replace(n->output(0), producer->output(0))) {
      rw.begin(activation->name, {producer, n});
      ir::Node* fused = as_fused(rw, producer);
      rw.set_attr(fused, "activation", std::string(activation->name));
      rw.set_attr(fused, "activation_a", activation->a);
      rw.set_attr(fused, "activation_b", activation->b);
      rw.absorb(fused, n);
      const std::vector<ir::Value*> old(n->inputs().begin() + 1, n->inputs().end());
      rw.bypass(n, fused->output(0));
      rw.erase_unused_constants(old);
    }
    n = next;
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::ep
