// BatchNormalization (inference) folded into the convolution before it, in double precision; where that is not
// possible, into one multiply-add per channel.
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

std::optional<Affine> affine_of(const ir::Node& n) {
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
  for (ir::Node* n = graph.first(); n;) {
    ir::Node* next = n->next();
    if (is_op(n, "BatchNormalization") && n->input(0)) {
      if (const auto affine = affine_of(*n)) {
        const std::vector<ir::Value*> old(n->inputs().begin() + 1, n->inputs().end());
        ir::Node* conv = n->input(0)->producer();
        bool done = false;
        if (conv && (is_op(conv, "Conv") || is_op(conv, "ConvTranspose")) && only_user(n->input(0)) == n &&
            ir::Rewriter::can_replace(n->output(0), conv->output(0))) {
          TRN_ASSIGN(auto weights, folded(conv, *affine, blocks));
          if (weights) {
            rw.begin("into the convolution", {conv, n});
            apply(rw, conv, std::move(*weights));
            rw.absorb(conv, n);
            rw.bypass(n, conv->output(0));
            done = true;
          }
        }
        if (!done && n->input(0)->fact.has_rank() && n->input(0)->fact.rank() >= 2) {
          TRN_ASSIGN(Tensor scale, vector_of(affine->scale));
          TRN_ASSIGN(Tensor shift, vector_of(affine->shift));
          rw.begin("into scale and shift", {n});
          ir::Node* made =
              rw.insert("ScaleShift", "trunnion", 1,
                        {n->input(0), rw.constant("scale", std::move(scale)), rw.constant("shift", std::move(shift))},
                        {n->output(0)->name()}, {{"axis", int64_t{1}, {}}}, n, n->name());
          rw.bypass(n, made->output(0));
          done = true;
        }
        if (done) rw.erase_unused_constants(old);
      }
    }
    n = next;
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::ep
