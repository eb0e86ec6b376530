#include "passes/open_function.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "passes/expand.h"
#include "passes/rules.h"

namespace trunnion::passes {
namespace {

bool is_f32(const ir::Value* v) { return v && v->fact.dtype() == DType::f32; }

std::vector<int64_t> dims_of(const ir::Value* v) {
  const auto shape = v && v->fact.has_rank() ? v->fact.concrete() : std::nullopt;
  return shape ? std::vector<int64_t>(shape->begin(), shape->end()) : std::vector<int64_t>();
}

// One integer of the given type, as a scalar.
ir::Value* integer(NodeMaker& m, int64_t value, DType type) {
  return m.cast(m.make("Squeeze", {m.ints({value})}), type);
}

// ---- NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss

bool opens_loss(const ir::Node& n) {
  return is_f32(n.input(0)) && n.input(0)->fact.has_rank() && n.input(1) &&
         (n.input(1)->fact.dtype() == DType::i64 || n.input(1)->fact.dtype() == DType::i32);
}

ir::Value* loss(NodeMaker& m, const ir::Node& n, ir::Value* scores) {
  ir::Value *target = n.input(1), *weight = n.input(2), *valid = nullptr;
  const DType index = target->fact.dtype();
  if (n.has_attr("ignore_index")) {
    ir::Value* ignored = integer(m, n.attr("ignore_index", int64_t{0}), index);
    valid = m.make("Not", {m.make("Equal", {target, ignored})});
    target = m.make("Where", {valid, target, integer(m, 0, index)});
  }
  ir::Value* axis = m.ints({1});
  ir::Value* picked = m.make("GatherElements", {scores, m.make("Unsqueeze", {target, axis})}, {{"axis", int64_t{1}}});
  ir::Value* each = m.make("Neg", {m.make("Squeeze", {picked, axis})});
  ir::Value* zero = m.number(0, DType::f32);
  ir::Value* share = weight ? m.make("Gather", {weight, target}) : nullptr;
  if (valid && share) share = m.make("Where", {valid, share, zero});
  if (share) each = m.make("Mul", {each, share});
  if (valid) each = m.make("Where", {valid, each, zero});
  const std::string reduction = n.attr("reduction", "mean");
  if (reduction == "none") return each;
  const auto sum = [&](ir::Value* v) { return m.make("ReduceSum", {v}, {{"keepdims", int64_t{0}}}); };
  if (reduction == "sum") return sum(each);
  if (!share && valid) share = m.cast(valid, DType::f32);
  if (!share) return m.make("ReduceMean", {each}, {{"keepdims", int64_t{0}}});
  return m.make("Div", {sum(each), sum(share)});
}

// ---- CausalConvWithState

bool opens_causal_conv(const ir::Node& n) {
  const auto weight = dims_of(n.input(1));
  const std::string activation = n.attr("activation", "none");
  return is_f32(n.input(0)) && weight.size() == 3 && weight[2] > 1 &&
         (activation == "none" || activation == "silu" || activation == "swish");
}

void causal_conv(ir::Rewriter& rw, NodeMaker& m, ir::Node* n) {
  const auto weight = dims_of(n->input(1));
  const int64_t before = weight[2] - 1;
  ir::Value* x = n->input(3) ? m.make("Concat", {n->input(3), n->input(0)}, {{"axis", int64_t{2}}})
                             : m.make("Pad", {n->input(0), m.ints({0, 0, before, 0, 0, 0})});
  std::vector<ir::Value*> inputs{x, n->input(1)};
  if (n->input(2)) inputs.push_back(n->input(2));
  ir::Value* y = m.make("Conv", inputs, {{"group", weight[0]}, {"kernel_shape", std::vector<int64_t>{weight[2]}}});
  if (n->attr("activation", "none") != "none") y = m.make("Mul", {y, m.make("Sigmoid", {y})});
  if (n->output(1))
    rw.replace_or_copy(
        n->output(1),
        m.make("Slice", {x, m.ints({-before}), m.ints({std::numeric_limits<int64_t>::max()}), m.ints({2})}), n,
        m.opset());
  if (n->output(0)) rw.replace_or_copy(n->output(0), y, n, m.opset());
}

// ---- Attention

struct Heads {
  int64_t batch, q_heads, kv_heads, queries, keys, past, head, v_head;
  bool flat;  // 3 dimensions
};

std::optional<Heads> heads_of(const ir::Node& n) {
  const auto q = dims_of(n.input(0)), k = dims_of(n.input(1)), v = dims_of(n.input(2));
  if (q.size() != k.size() || q.size() != v.size() || (q.size() != 3 && q.size() != 4)) return std::nullopt;
  Heads h{};
  h.flat = q.size() == 3;
  h.batch = q[0];
  h.q_heads = h.flat ? n.attr("q_num_heads", int64_t{0}) : q[1];
  h.kv_heads = h.flat ? n.attr("kv_num_heads", int64_t{0}) : k[1];
  if (h.q_heads <= 0 || h.kv_heads <= 0 || h.q_heads % h.kv_heads) return std::nullopt;
  h.queries = h.flat ? q[1] : q[2];
  h.keys = h.flat ? k[1] : k[2];
  h.head = h.flat ? q[2] / h.q_heads : q[3];
  h.v_head = h.flat ? v[2] / h.kv_heads : v[3];
  if (n.input(4)) {
    const auto past = dims_of(n.input(4));
    if (past.size() != 4 || !n.input(5)) return std::nullopt;
    h.past = past[2];
  }
  return h;
}

bool opens_attention(const ir::Node& n) {
  if (!is_f32(n.input(0)) || !is_f32(n.input(1)) || !is_f32(n.input(2)) || n.input(6)) return false;
  const auto h = heads_of(n);
  if (!h || h->queries == 0 || h->head == 0) return false;
  if (!n.input(3)) return true;
  const auto mask = dims_of(n.input(3));
  const DType type = n.input(3)->fact.dtype();
  return !mask.empty() && mask.back() == h->keys + h->past && (type == DType::f32 || type == DType::boolean);
}

// Which keys a query sees by its place; null: all of them.
ir::Value* seen_by_place(NodeMaker& m, const ir::Node& n, const Heads& h) {
  const bool causal = n.attr("is_causal", 0) != 0;
  const int64_t left = n.attr("left_window_size", -1), right = n.attr("right_window_size", -1);
  if (!causal && left < 0 && right < 0) return nullptr;
  const int64_t keys = h.keys + h.past, dims[] = {h.queries, keys};
  auto mask = Tensor::allocate(DType::boolean, dims);
  if (!mask.ok()) return nullptr;
  for (int64_t i = 0; i < h.queries; ++i)
    for (int64_t j = 0; j < keys; ++j) {
      const int64_t at = i + h.past;
      mask->data<bool>()[i * keys + j] =
          (!causal || j <= at) && (left < 0 || at - left <= j) && (right < 0 || j <= at + right);
    }
  return m.rewriter().constant("seen", std::move(mask).value());
}

void attention(ir::Rewriter& rw, NodeMaker& m, ir::Node* n) {
  const Heads h = *heads_of(*n);
  const auto split = [&](ir::Value* x, int64_t heads, int64_t size) {
    if (!h.flat) return x;
    return m.make("Transpose", {m.make("Reshape", {x, m.ints({0, 0, heads, size})})},
                  {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  };
  ir::Value *q = split(n->input(0), h.q_heads, h.head), *k = split(n->input(1), h.kv_heads, h.head),
            *v = split(n->input(2), h.kv_heads, h.v_head);
  if (n->input(4)) {
    k = m.make("Concat", {n->input(4), k}, {{"axis", int64_t{2}}});
    v = m.make("Concat", {n->input(5), v}, {{"axis", int64_t{2}}});
  }
  const auto give = [&](int i, ir::Value* x) {
    if (n->output(i)) rw.replace_or_copy(n->output(i), x, n, m.opset());
  };
  const int64_t keys = h.keys + h.past;
  ir::Value *all_k = k, *all_v = v;
  if (h.q_heads != h.kv_heads) {
    const int64_t group = h.q_heads / h.kv_heads;
    const auto repeat = [&](ir::Value* x, int64_t size) {
      ir::Value* wide =
          m.make("Expand", {m.make("Unsqueeze", {x, m.ints({2})}), m.ints({h.batch, h.kv_heads, group, keys, size})});
      return m.make("Reshape", {wide, m.ints({h.batch, h.q_heads, keys, size})});
    };
    all_k = repeat(k, h.head);
    all_v = repeat(v, h.v_head);
  }
  const double given = n->attr("scale", 0.0f);
  const double scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(h.head));
  ir::Value* turned = m.make("Transpose", {all_k}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  ir::Value* scores = m.make("MatMul", {m.make("Mul", {q, m.number(scale, DType::f32)}), turned});
  ir::Value* stages[4] = {scores, scores, scores, scores};
  if (const float cap = n->attr("softcap", 0.0f); cap != 0) {
    ir::Value* limit = m.number(cap, DType::f32);
    scores = m.make("Mul", {m.make("Tanh", {m.make("Div", {scores, limit})}), limit});
  }
  stages[1] = scores;
  ir::Value* seen = seen_by_place(m, *n, h);
  ir::Value* mask = n->input(3);
  if (mask && mask->fact.dtype() == DType::boolean)
    seen = seen ? m.make("And", {mask, seen}) : mask;
  else if (mask)
    scores = m.make("Add", {scores, mask});
  // A query that sees nothing gets zeros, not the mean of everything.
  const bool holes = seen || mask;
  stages[2] = scores;
  if (mask && mask->fact.dtype() == DType::f32) {
    ir::Value* open = m.make("Greater", {scores, m.number(-std::numeric_limits<float>::max(), DType::f32)});
    seen = seen ? m.make("And", {open, seen}) : open;
  }
  ir::Value* weights = scores;
  if (holes) {
    stages[2] = m.make("Where", {seen, scores, m.number(-std::numeric_limits<double>::infinity(), DType::f32)});
    weights = m.make("Where", {seen, scores, m.number(-std::numeric_limits<float>::max(), DType::f32)});
  }
  weights = m.make("Softmax", {weights}, {{"axis", int64_t{3}}});
  if (holes) weights = m.make("Where", {seen, weights, m.number(0, DType::f32)});
  stages[3] = weights;
  ir::Value* y = m.make("MatMul", {weights, all_v});
  if (h.flat)
    y = m.make("Reshape", {m.make("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}}),
                           m.ints({h.batch, h.queries, h.q_heads * h.v_head})});
  give(1, k);
  give(2, v);
  give(3, stages[n->attr("qk_matmul_output_mode", int64_t{0})]);
  give(0, y);
}

bool is_in(const ir::Node& n, std::string_view op) { return n.domain().empty() && n.op_type() == op; }

}  // namespace

bool can_open(const ir::Node& n) {
  if (is_in(n, "NegativeLogLikelihoodLoss") || is_in(n, "SoftmaxCrossEntropyLoss")) return opens_loss(n);
  if (is_in(n, "CausalConvWithState")) return opens_causal_conv(n);
  return is_in(n, "Attention") && opens_attention(n);
}

Status open_function(ir::Node* n, const Logger* log) {
  if (!can_open(*n)) return not_implemented("{} cannot be written as other operators", n->label());
  ir::Rewriter rw(*n->graph(), "OpenFunctions", log);
  rw.begin(n->op_type(), {n});
  NodeMaker m(rw, n, opset_for(*n->graph()));
  if (n->op_type() == "Attention") {
    attention(rw, m, n);
  } else if (n->op_type() == "CausalConvWithState") {
    causal_conv(rw, m, n);
  } else {
    ir::Value* scores = n->input(0);
    if (n->op_type() == "SoftmaxCrossEntropyLoss") {
      scores = m.make("LogSoftmax", {scores}, {{"axis", int64_t{1}}});
      if (n->output(1)) rw.replace_or_copy(n->output(1), scores, n, m.opset());
    }
    ir::Value* y = loss(m, *n, scores);
    if (n->output(0)) rw.replace_or_copy(n->output(0), y, n, m.opset());
  }
  rw.erase(n);
  return {};
}

}  // namespace trunnion::passes
