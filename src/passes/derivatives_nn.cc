// Derivatives of layers: convolution, normalization, softmax, pooling over all positions.
#include "base/error.h"
#include "passes/derivatives.h"

namespace trunnion::passes {
namespace {

using ir::Value;

Status softmax(NodeMaker& m, BackwardStep& s) {
  const ir::Node& n = *s.node;
  const int64_t axis = n.attr("axis", n.opset() < 13 ? 1 : -1);
  if (n.opset() < 13) {  // it worked on a matrix then
    TRN_ASSIGN(const int rank, rank_of(n, s.x(0)));
    if (axis != rank - 1 && axis != -1) return no_rule(n, "there is no derivative along several axes");
  }
  Value* axes = m.ints({axis});
  Value *g = s.g(), *y = s.y();
  const auto sum = [&](Value* v) { return m.make("ReduceSum", {v, axes}, {{"keepdims", int64_t{1}}}); };
  s.inputs[0] = n.op_type() == "Softmax" ? m.make("Mul", {y, m.make("Sub", {g, sum(m.make("Mul", {g, y}))})})
                                         : m.make("Sub", {g, m.make("Mul", {m.make("Exp", {y}), sum(g)})});
  return {};
}

// A convolution without groups. By x it is the transposed convolution; by w the convolution of the input by the
// gradient, batch and channels having changed places, and strides and dilations too.
Status conv(NodeMaker& m, BackwardStep& s) {
  const ir::Node& n = *s.node;
  const auto x = s.x(0)->fact.concrete(), w = s.x(1)->fact.concrete();
  const std::string pad = n.attr("auto_pad", "NOTSET");
  if (!x || !w) return no_rule(n, "its derivative needs all dimensions as numbers");
  if (pad != "NOTSET" && pad != "VALID") return no_rule(n, "there is no derivative with auto_pad");
  const size_t spatial = x->size() - 2;
  const auto list = [&](const char* name, size_t count, int64_t otherwise) {
    auto v = n.ints(name);
    if (v.size() != count) v.assign(count, otherwise);
    return v;
  };
  auto strides = list("strides", spatial, 1), dilations = list("dilations", spatial, 1),
       pads = list("pads", 2 * spatial, 0);
  if (pad == "VALID") pads.assign(2 * spatial, 0);
  const int64_t group = n.attr("group", 1);
  Value* g = s.g();
  if (s.wants(0)) {
    const auto y = s.y()->fact.concrete();
    if (!y) return no_rule(n, "its derivative needs all dimensions as numbers");
    std::vector<int64_t> rest(spatial);  // positions at the end that no window reached
    for (size_t d = 0; d < spatial; ++d)
      rest[d] = (*x)[d + 2] -
                (((*y)[d + 2] - 1) * strides[d] + dilations[d] * ((*w)[d + 2] - 1) + 1 - pads[d] - pads[spatial + d]);
    s.inputs[0] = m.make(
        "ConvTranspose", {g, s.x(1)},
        {{"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"group", group}, {"output_padding", rest}});
  }
  if (s.wants(1)) {
    if (group != 1) return no_rule(n, "there is no derivative by the weights of several groups");
    std::vector<int64_t> perm = {1, 0}, ends, axes;
    for (size_t d = 0; d < spatial; ++d) {
      perm.push_back(static_cast<int64_t>(d) + 2);
      axes.push_back(static_cast<int64_t>(d) + 2);
      ends.push_back((*w)[d + 2]);
    }
    const auto swapped = [&](Value* v) { return m.make("Transpose", {v}, {{"perm", perm}}); };
    Value* full =
        m.make("Conv", {swapped(s.x(0)), swapped(g)}, {{"strides", dilations}, {"dilations", strides}, {"pads", pads}});
    Value* cut = m.make("Slice", {full, m.ints(std::vector<int64_t>(spatial, 0)), m.ints(ends), m.ints(axes)});
    s.inputs[1] = swapped(cut);
  }
  if (s.wants(2)) {
    std::vector<int64_t> axes = {0};
    for (size_t d = 0; d < spatial; ++d) axes.push_back(static_cast<int64_t>(d) + 2);
    s.inputs[2] = m.make("ReduceSum", {g, m.ints(axes)}, {{"keepdims", int64_t{0}}});
  }
  return {};
}

Status global_average(NodeMaker& m, BackwardStep& s) {
  Value* count = m.cast(m.make("Div", {m.make("Size", {s.x(0)}), m.make("Size", {s.y()})}), s.y()->fact.dtype());
  s.inputs[0] = m.make("Expand", {m.make("Div", {s.g(), count}), m.shape(s.x(0))});
  return {};
}

Status layer_normalization(NodeMaker& m, BackwardStep& s) {
  const ir::Node& n = *s.node;
  const DType t = s.y()->fact.dtype();
  for (size_t i = 1; i < s.gradient.size(); ++i)
    if (s.gradient[i]) return no_rule(n, "there is a derivative of its first output only");
  TRN_ASSIGN(const int rank, rank_of(n, s.x(0)));
  int64_t axis = n.attr("axis", -1);
  if (axis < 0) axis += rank;
  std::vector<int64_t> list;
  for (; axis < rank; ++axis) list.push_back(axis);
  Value *x = s.x(0), *g = s.g(), *axes = m.ints(list);
  const auto mean = [&](Value* v) { return m.make("ReduceMean", {v, axes}, {{"keepdims", int64_t{1}}}); };
  Value* centred = m.make("Sub", {x, mean(x)});
  Value* variance = m.make("Add", {mean(m.make("Mul", {centred, centred})), m.number(n.attr("epsilon", 1e-5f), t)});
  Value* root = m.make("Sqrt", {variance});
  Value* normal = m.make("Div", {centred, root});
  if (s.wants(0)) {
    Value* scaled = m.make("Mul", {g, s.x(1)});
    Value* along = m.make("Mul", {normal, mean(m.make("Mul", {scaled, normal}))});
    s.inputs[0] = m.make("Div", {m.make("Sub", {m.make("Sub", {scaled, mean(scaled)}), along}), root});
  }
  if (s.wants(1)) s.inputs[1] = unbroadcast(m, m.make("Mul", {g, normal}), s.x(1), s.y());
  if (s.wants(2)) s.inputs[2] = unbroadcast(m, g, s.x(2), s.y());
  return {};
}

// With the given mean and variance, not those of the batch.
Status batch_normalization(NodeMaker& m, BackwardStep& s) {
  const ir::Node& n = *s.node;
  const DType t = s.y()->fact.dtype();
  if (n.attr("training_mode", 0) || n.opset() < 9) return no_rule(n, "there is a derivative for inference only");
  if (s.wants(3) || s.wants(4)) return no_rule(n, "there is no derivative by mean and variance");
  TRN_ASSIGN(const int rank, rank_of(n, s.x(0)));
  std::vector<int64_t> behind, others = {0};
  for (int i = 1; i < rank - 1; ++i) behind.push_back(i);
  for (int i = 2; i < rank; ++i) others.push_back(i);
  const auto by_channel = [&](Value* v) { return behind.empty() ? v : m.make("Unsqueeze", {v, m.ints(behind)}); };
  const auto sum = [&](Value* v) { return m.make("ReduceSum", {v, m.ints(others)}, {{"keepdims", int64_t{0}}}); };
  Value* root = m.make("Sqrt", {m.make("Add", {s.x(4), m.number(n.attr("epsilon", 1e-5f), t)})});
  if (s.wants(0)) s.inputs[0] = m.make("Mul", {s.g(), by_channel(m.make("Div", {s.x(1), root}))});
  if (s.wants(1)) {
    Value* normal = m.make("Div", {m.make("Sub", {s.x(0), by_channel(s.x(3))}), by_channel(root)});
    s.inputs[1] = sum(m.make("Mul", {s.g(), normal}));
  }
  if (s.wants(2)) s.inputs[2] = sum(s.g());
  return {};
}

Status dropout(NodeMaker&, BackwardStep& s) {
  const Value* training = s.node->input(2);
  const bool off = !training || (training->is_constant() && training->constant().dtype() == DType::boolean &&
                                 training->constant().count() == 1 && !*training->constant().data<bool>());
  if (!off || s.node->opset() < 7) return no_rule(*s.node, "there is a derivative for inference only");
  s.inputs[0] = s.g();
  return {};
}

}  // namespace

RuleFn nn_derivative(std::string_view op) {
  struct Rule {
    std::string_view op;
    RuleFn fn;
  };
  constexpr Rule kRules[] = {{"Softmax", softmax},
                             {"LogSoftmax", softmax},
                             {"Conv", conv},
                             {"GlobalAveragePool", global_average},
                             {"LayerNormalization", layer_normalization},
                             {"BatchNormalization", batch_normalization},
                             {"Dropout", dropout}};
  for (const Rule& r : kRules)
    if (r.op == op) return r.fn;
  return nullptr;
}

}  // namespace trunnion::passes
