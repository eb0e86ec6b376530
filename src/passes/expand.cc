#include "passes/expand.h"

#include <cmath>

#include "base/error.h"
#include "ops/catalog.h"
#include "ops/dispatch.h"
#include "passes/rules.h"

namespace trunnion::passes {

ir::Value* NodeMaker::make(std::string_view op, std::span<ir::Value* const> inputs, std::vector<ir::Attr> attrs) {
  const std::string_view names[] = {op};
  return rw_.insert(op, "", opset_, inputs, names, std::move(attrs), before_)->output(0);
}
ir::Value* NodeMaker::make(std::string_view op, std::initializer_list<ir::Value*> inputs, std::vector<ir::Attr> attrs) {
  return make(op, std::span(inputs.begin(), inputs.size()), std::move(attrs));
}

// Room for a handful of numbers is there, or nothing is.
ir::Value* NodeMaker::ints(std::span<const int64_t> values) {
  auto t = int64_tensor(values);
  return rw_.constant("ints", t.ok() ? std::move(t).value() : Tensor());
}

ir::Value* NodeMaker::number(double value, DType type) {
  auto t = Tensor::allocate(type, {});
  if (!t.ok()) return rw_.constant("number", Tensor());
  (void)ops::dispatch<kFloats.bits()>(
      type, [&]<class T>() { *t->data<T>() = static_cast<T>(static_cast<ops::Compute<T>>(value)); });
  return rw_.constant("number", std::move(t).value());
}

ir::Value* NodeMaker::dims(ir::Value* v, int64_t begin, int64_t end) {
  return make("Shape", {v}, {{"start", begin}, {"end", end}});
}

ir::Value* NodeMaker::cast(ir::Value* v, DType to) { return make("Cast", {v}, {{"to", static_cast<int64_t>(to)}}); }

bool expands(std::string_view domain, std::string_view op) {
  return (domain == "ai.onnx.preview" && op == "FlexAttention") ||
         (domain == "ai.onnx.preview.training" && op == "Gradient");
}

int opset_for(const ir::Graph& graph) {
  constexpr int kOldest = 18;  // from there on, the nodes made here mean what they do
  for (const ir::Node* n = graph.first(); n; n = n->next())
    if (n->domain().empty() && n->opset() > kOldest) return n->opset();
  return kOldest;
}

namespace {

// Puts the body of a modifier in front of the node, its one input being `x`.
Result<ir::Value*> apply(ir::Rewriter& rw, ir::Node* node, std::string_view name, ir::Value* x) {
  ir::Graph* body = node->graph_attr(name);
  if (!body) return x;
  if (body->inputs().size() != 1 || body->outputs().size() != 1)
    return invalid_graph("{}: attribute {} has {} inputs and {} outputs, needs one each", node->label(), name,
                         body->inputs().size(), body->outputs().size());
  std::vector<ir::Value*> arguments{x};
  while (!body->captures().empty()) {  // splice knows inputs only
    const ir::Capture c = body->captures()[0];
    ir::Value* input = body->add_input(c.inner->name(), c.inner->fact);
    body->replace_uses(c.inner, input);
    arguments.push_back(c.outer);
    body->remove_capture(0);
  }
  return rw.graph().splice(body->clone(), arguments, node)[0];
}

bool same(const Dim& a, const Dim& b) { return !a.is_unknown() && a == b; }

Status expand_deep(ir::Graph& graph, const Logger* log, int* changes) {
  for (ir::Node* n = graph.first(); n;) {
    for (ir::Graph* body : n->bodies()) TRN_TRY(expand_deep(*body, log, changes));
    ir::Node* next = n->next();
    if (!expands(n->domain(), n->op_type())) {
      n = next;
      continue;
    }
    ++*changes;
    if (n->op_type() == "FlexAttention") {
      TRN_TRY(expand_flex_attention(n, log));
    } else {
      TRN_TRY(expand_gradient(n, log));
      TRN_TRY(ops::resolve(graph));  // another one may go through the new nodes
      TRN_TRY(ops::infer(graph));
    }
    n = next;
  }
  return {};
}

}  // namespace

Status expand_flex_attention(ir::Node* node, const Logger* log) {
  ir::Graph& graph = *node->graph();
  ir::Value *q = node->input(0), *k = node->input(1), *v = node->input(2);
  const DType type = q->fact.dtype();
  if (!kFloats.has(type)) return error(Code::invalid_graph, "{}: the element type of Q is not known", node->label());
  for (const ir::Value* x : {q, k, v})
    if (x->fact.has_rank() && x->fact.rank() != 4)
      return invalid_argument("{}: '{}' has shape {}, needs 4 dimensions", node->label(), x->name(),
                              shape_text(x->fact.shape()));
  DType precise = type == DType::f64 ? DType::f64 : DType::f32;
  if (const int64_t code = node->attr("softmax_precision", 0)) {
    const auto given = dtype_from_code(code);
    if (!given || !kFloats.has(*given))
      return invalid_argument("{}: attribute softmax_precision is {}: no float type", node->label(), code);
    precise = *given;
  }
  ir::Rewriter rw(graph, "ExpandOperators", log);
  rw.begin("FlexAttention", {node});
  NodeMaker m(rw, node, opset_for(graph));

  // Half of the scale goes to either side, so that products of 16-bit floats stay in range.
  ir::Value* root;
  if (node->has_attr("scale")) {
    root = m.number(std::sqrt(node->attr("scale", 1.0f)), type);
  } else if (q->fact.has_rank() && q->fact.dim(3).is_int()) {
    root = m.number(1 / std::sqrt(std::sqrt(static_cast<double>(q->fact.dim(3).value()))), type);
  } else {
    ir::Value* size = m.cast(m.make("Squeeze", {m.dims(q, 3, 4)}), DType::f32);
    root = m.cast(m.make("Sqrt", {m.make("Reciprocal", {m.make("Sqrt", {size})})}), type);
  }
  ir::Value* queries = m.make("Mul", {q, root});
  ir::Value* keys = m.make("Mul", {k, root});
  ir::Value* values = v;
  ir::Value *head_shape = nullptr, *score_shape = nullptr, *out_shape = nullptr;
  const bool grouped = !(q->fact.has_rank() && k->fact.has_rank() && same(q->fact.dim(1), k->fact.dim(1)));
  std::vector<int64_t> swap = {0, 1, 3, 2};
  if (grouped) {
    // Query heads that share a key head form a dimension of their own, over which the products broadcast.
    ir::Value* kv_heads = m.dims(k, 1, 2);
    ir::Value* group = m.make("Div", {m.dims(q, 1, 2), kv_heads});
    ir::Value* batch = m.dims(q, 0, 1);
    const auto concat = [&](std::initializer_list<ir::Value*> parts) {
      return m.make("Concat", parts, {{"axis", int64_t{0}}});
    };
    ir::Value* length = m.dims(k, 2, 3);
    head_shape = concat({batch, kv_heads, group, m.dims(q, 2, 3), length});
    score_shape = concat({m.dims(q, 0, 3), length});
    out_shape = concat({m.dims(q, 0, 3), m.dims(v, 3, 4)});
    queries = m.make("Reshape", {queries, concat({batch, kv_heads, group, m.dims(q, 2, 4)})});
    keys = m.make("Unsqueeze", {keys, m.ints({2})});
    values = m.make("Unsqueeze", {values, m.ints({2})});
    swap = {0, 1, 2, 4, 3};
  }
  ir::Value* scores = m.make("MatMul", {queries, m.make("Transpose", {keys}, {{"perm", swap}})});
  if (grouped) scores = m.make("Reshape", {scores, score_shape});
  if (precise != type) scores = m.cast(scores, precise);
  TRN_ASSIGN(scores, apply(rw, node, "score_mod", scores));
  ir::Value* weights = m.make("Softmax", {scores}, {{"axis", int64_t{3}}});
  TRN_ASSIGN(weights, apply(rw, node, "prob_mod", weights));
  if (precise != type) values = m.cast(values, precise);
  if (grouped) weights = m.make("Reshape", {weights, head_shape});
  ir::Value* y = m.make("MatMul", {weights, values});
  if (precise != type) y = m.cast(y, type);
  if (grouped) y = m.make("Reshape", {y, out_shape});
  if (node->output(0)) rw.replace_or_copy(node->output(0), y, node, m.opset());
  rw.erase(node);
  return {};
}

Status expand_operators(ir::Graph& graph, const Logger* log) {
  int changes = 0;
  TRN_TRY(expand_deep(graph, log, &changes));
  if (!changes) return {};
  TRN_TRY(ops::resolve(graph));
  return ops::infer(graph);
}

}  // namespace trunnion::passes
