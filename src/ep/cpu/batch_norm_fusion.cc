// BatchNormalization (inference), and what multiplies by and adds constants per channel beside it, folded into the
// convolution before them, in double precision; where that is not possible, into one multiply-add per channel.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ep/cpu/fusion.h"
#include "tensor/tensor_blocks.h"

namespace trunnion::ep {
namespace {

using passes::is_op;

struct Affine {
  std::vector<double> scale, shift;
};

std::optional<Affine> normalization(const ir::Node& n) {
  if (n.attr("training_mode", 0) != 0 || n.attr("spatial", 1) == 0 || !n.output(0) ||
      n.output(0)->fact.dtype() != DType::f32)
    return std::nullopt;
  if (n.since() < 7 && n.attr("is_test", 0) == 0) return std::nullopt;
  for (size_t k = 1; k < n.outputs().size(); ++k)
    if (n.outputs()[k] && !n.outputs()[k]->unused()) return std::nullopt;
  const Tensor* t[4];
  for (int i = 0; i < 4; ++i) {
    t[i] = passes::constant_input(n, i + 1);
    if (!t[i] || t[i]->dtype() != DType::f32 || t[i]->count() != t[0]->count()) return std::nullopt;
  }
  const double eps = n.attr("epsilon", 1e-5f);
  Affine a;
  for (int64_t c = 0; c < t[0]->count(); ++c) {
    const double s = t[0]->data<float>()[c] / std::sqrt(static_cast<double>(t[3]->data<float>()[c]) + eps);
    a.scale.push_back(s);
    a.shift.push_back(t[1]->data<float>()[c] - t[2]->data<float>()[c] * s);
  }
  return a;
}

// The number of every channel of x (axis 1) when the constant broadcasts along all other axes.
std::optional<std::vector<double>> by_channel(const Tensor& t, const ir::Fact& x) {
  if (t.dtype() != DType::f32 || !x.has_rank() || x.rank() < 2 || t.rank() > x.rank() || !x.dim(1).is_int())
    return std::nullopt;
  const int64_t channels = x.dim(1).value();
  for (int i = 0; i < t.rank(); ++i) {
    const int64_t size = t.shape()[static_cast<size_t>(i)];
    if (size != 1 && (i + x.rank() - t.rank() != 1 || size != channels)) return std::nullopt;
  }
  std::vector<double> v(static_cast<size_t>(channels));
  for (size_t c = 0; c < v.size(); ++c) {
    v[c] = t.data<float>()[t.count() == 1 ? 0 : c];
    if (!std::isfinite(v[c])) return std::nullopt;
  }
  return v;
}

// x * c, x + c, x - c or x / c, the constant on either side where that makes no difference.
std::optional<Affine> constant_operation(const ir::Node& n, const ir::Value* x) {
  const bool multiplies = is_op(&n, "Mul") || is_op(&n, "Div"), commutes = is_op(&n, "Mul") || is_op(&n, "Add");
  if ((!multiplies && !is_op(&n, "Add") && !is_op(&n, "Sub")) || n.since() < 7 || n.inputs().size() != 2 ||
      n.output(0)->fact.dtype() != DType::f32 || (n.input(0) != x && !(commutes && n.input(1) == x)))
    return std::nullopt;
  const Tensor* c = passes::constant_input(n, n.input(0) == x ? 1 : 0);
  auto v = c ? by_channel(*c, x->fact) : std::nullopt;
  if (!v) return std::nullopt;
  Affine a{std::vector<double>(v->size(), 1.0), std::vector<double>(v->size(), 0.0)};
  for (size_t i = 0; i < v->size(); ++i) {
    if (is_op(&n, "Div") && (*v)[i] == 0) return std::nullopt;
    if (multiplies) a.scale[i] = is_op(&n, "Mul") ? (*v)[i] : 1.0 / (*v)[i];
    if (!multiplies) a.shift[i] = is_op(&n, "Add") ? (*v)[i] : -(*v)[i];
  }
  return a;
}

// What the node makes of x, when that is an affine map per channel.
std::optional<Affine> affine_of(const ir::Node& n, const ir::Value* x) {
  if (!is_op(&n, "BatchNormalization")) return n.output(0) ? constant_operation(n, x) : std::nullopt;
  return n.input(0) == x ? normalization(n) : std::nullopt;
}

// Nodes behind a value x that each have no other reader, up to the last whose result can stand for all of them. Those
// of level `strict` keep their own rounding.
struct Chain {
  std::vector<ir::Node*> nodes;
  Affine affine;
};
Chain chain_behind(ir::Value* x, ir::Node* first, const PrecisionChoice& precision) {
  Chain chain;
  for (ir::Node* n = first; n; n = only_user(x)) {
    if (precision.of(n->name(), n->origins) == Precision::strict) break;
    const auto a = affine_of(*n, x);
    if (!a || (!chain.nodes.empty() && a->scale.size() != chain.affine.scale.size())) break;
    if (chain.nodes.empty())
      chain.affine = {std::vector<double>(a->scale.size(), 1.0), std::vector<double>(a->scale.size())};
    for (size_t c = 0; c < a->scale.size(); ++c) {
      chain.affine.scale[c] *= a->scale[c];
      chain.affine.shift[c] = chain.affine.shift[c] * a->scale[c] + a->shift[c];
    }
    chain.nodes.push_back(n);
    x = n->output(0);
  }
  return chain;
}

Result<Tensor> vector_of(const std::vector<double>& v) {
  const int64_t dims[] = {static_cast<int64_t>(v.size())};
  TRN_ASSIGN(Tensor t, Tensor::allocate(DType::f32, dims));
  for (size_t i = 0; i < v.size(); ++i) t.data<float>()[i] = static_cast<float>(v[i]);
  return t;
}

struct Weights {
  Tensor weights, bias;
};

// to[at + i] = from[at + i] * factor; `from` may begin at any byte of a file.
void scale(const std::byte* from, int64_t at, int64_t count, double factor, float* to) {
  for (int64_t i = at; i < at + count; ++i) {
    float x;
    std::memcpy(&x, from + i * static_cast<int64_t>(sizeof(float)), sizeof x);
    to[i] = static_cast<float>(x * factor);
  }
}

// The convolution's weights and bias with the affine map applied to its output; nullopt when it cannot be.
Result<std::optional<Weights>> folded(const ir::Node* conv, const Affine& a, TensorBlocks& blocks) {
  const std::optional<Weights> no;
  const Tensor* w = passes::constant_input(*conv, 1);
  const Tensor* b = conv->input(2) ? passes::constant_input(*conv, 2) : nullptr;
  if (!w || w->dtype() != DType::f32 || w->rank() < 3 || w->count() == 0 ||
      (conv->input(2) && (!b || b->dtype() != DType::f32)))
    return no;
  const bool transposed = conv->op_type() == "ConvTranspose";
  const int64_t groups = conv->attr("group", 1), channels = static_cast<int64_t>(a.scale.size());
  if (groups < 1 || (transposed && w->shape()[0] % groups != 0)) return no;
  const int64_t per_group = transposed ? w->shape()[1] : w->shape()[0] / groups;
  if (per_group * groups != channels || (b && b->count() != channels)) return no;
  Weights out;
  TRN_ASSIGN(out.weights, blocks.allocate(DType::f32, w->shape()));
  const int64_t taps = w->count() / (w->shape()[0] * w->shape()[1]);
  // The weights of one channel lie beside each other: all of them, or the taps of one input channel.
  const int64_t columns = transposed ? w->shape()[1] : 1, run = transposed ? taps : taps * w->shape()[1];
  for (int64_t i = 0; i < w->shape()[0]; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t channel = transposed ? i / (w->shape()[0] / groups) * per_group + j : i;
      scale(w->data<std::byte>(), (i * columns + j) * run, run, a.scale[static_cast<size_t>(channel)],
            out.weights.data<float>());
    }
  std::vector<double> bias = a.shift;
  for (int64_t c = 0; b && c < channels; ++c)
    bias[static_cast<size_t>(c)] += b->data<float>()[c] * a.scale[static_cast<size_t>(c)];
  TRN_ASSIGN(out.bias, vector_of(bias));
  return std::optional<Weights>(std::move(out));
}

void apply(ir::Rewriter& rw, ir::Node* conv, Weights made) {
  ir::Value* old[] = {conv->input(1), conv->input(2)};
  rw.set_input(conv, 1, rw.constant(old[0]->name(), std::move(made.weights)));
  if (conv->inputs().size() < 3) rw.resize_inputs(conv, 3);
  rw.set_input(conv, 2, rw.constant(conv->output(0)->name() + "_bias", std::move(made.bias)));
  rw.erase_unused_constants(old);
}

}  // namespace

Status batch_norm_fusion(ir::Graph& graph, passes::PassContext& context) {
  ir::Rewriter rw(graph, "BatchNormFusion", context.log);
  size_t weights = 0;
  for (const ir::Node* n = graph.first(); n; n = n->next())
    if (const Tensor* w = is_op(n, "Conv") ? passes::constant_input(*n, 1) : nullptr) weights += w->bytes();
  TensorBlocks blocks(weights);
  const auto erase = [&](const std::vector<ir::Node*>& nodes) {
    for (size_t i = nodes.size(); i-- > 0;) {
      const std::vector<ir::Value*> read(nodes[i]->inputs().begin(), nodes[i]->inputs().end());
      rw.erase_if_unused(nodes[i]);
      std::vector<ir::Value*> constants;
      for (ir::Value* v : read)
        if (v && v->is_constant()) constants.push_back(v);
      rw.erase_unused_constants(constants);
    }
  };
  for (ir::Node *n = graph.first(), *next; n; n = next) {
    next = n->next();
    if (is_op(n, "Conv") || is_op(n, "ConvTranspose")) {
      if (context.precision.of(n->name(), n->origins) == Precision::strict) continue;
      const Chain chain = chain_behind(n->output(0), only_user(n->output(0)), context.precision);
      if (!chain.nodes.empty() && ir::Rewriter::can_replace(chain.nodes.back()->output(0), n->output(0))) {
        TRN_ASSIGN(auto made, folded(n, chain.affine, blocks));
        if (made) {
          std::vector<const ir::Node*> all{n};
          all.insert(all.end(), chain.nodes.begin(), chain.nodes.end());
          rw.begin("into the convolution", all);
          apply(rw, n, std::move(*made));
          for (const ir::Node* one : chain.nodes) rw.absorb(n, one);
          rw.replace(chain.nodes.back()->output(0), n->output(0));
          erase(chain.nodes);
          next = n->next();
        }
      }
    } else if (is_op(n, "BatchNormalization") && n->input(0) && n->input(0)->fact.has_rank() &&
               n->input(0)->fact.rank() >= 2) {
      const Chain chain = chain_behind(n->input(0), n, context.precision);
      if (!chain.nodes.empty()) {
        ir::Node* last = chain.nodes.back();
        while (std::ranges::find(chain.nodes, next) != chain.nodes.end()) next = next->next();
        TRN_ASSIGN(Tensor scale, vector_of(chain.affine.scale));
        TRN_ASSIGN(Tensor shift, vector_of(chain.affine.shift));
        rw.begin("into scale and shift", std::vector<const ir::Node*>(chain.nodes.begin(), chain.nodes.end()));
        ir::Node* made =
            rw.insert("ScaleShift", "trunnion", 1,
                      {n->input(0), rw.constant("scale", std::move(scale)), rw.constant("shift", std::move(shift))},
                      {last->output(0)->name()}, {{"axis", int64_t{1}, {}}}, last, n->name());
        rw.replace(last->output(0), made->output(0));
        erase(chain.nodes);
      }
    }
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::ep
