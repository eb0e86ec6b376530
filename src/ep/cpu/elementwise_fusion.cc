// Chains and trees of element-wise fp32 operators whose results nobody else reads -> FusedElementwise, which reads and
// writes memory once for all of them.
#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "ep/cpu/fusion.h"

namespace trunnion::ep {
namespace {

using passes::is_op;

constexpr size_t kMostNodes = 400, kMostInputs = 96, kMostSlots = 8;

// One operation of the tape. Operands: the node's inputs 0 and 1.
struct Operation {
  const char* name;
  float a = 0, b = 0;
  int operands = 1;
};

struct Plain {
  const char* op;
  const char* name;
  int operands;
};
constexpr Plain kPlain[] = {
    {"Abs", "abs", 1},
    {"Neg", "neg", 1},
    {"Sign", "sign", 1},
    {"Floor", "floor", 1},
    {"Ceil", "ceil", 1},
    {"Round", "round", 1},
    {"Sqrt", "sqrt", 1},
    {"Reciprocal", "reciprocal", 1},
    {"Exp", "exp", 1},
    {"Log", "log", 1},
    {"Relu", "relu", 1},
    {"Sigmoid", "sigmoid", 1},
    {"Tanh", "tanh", 1},
    {"Erf", "erf", 1},
    {"HardSwish", "hard_swish", 1},
    {"Mish", "mish", 1},
    {"Softplus", "softplus", 1},
    {"Softsign", "softsign", 1},
    {"Sin", "sin", 1},
    {"Cos", "cos", 1},
    {"Add", "add", 2},
    {"Sub", "sub", 2},
    {"Mul", "mul", 2},
    {"Div", "div", 2},
    {"Min", "min", 2},
    {"Max", "max", 2},
    {"PRelu", "prelu", 2},
};

// What the node is on the tape, with the attributes as its kernel has them.
std::optional<Operation> operation_of(const ir::Node& n) {
  if (!n.domain().empty() || n.outputs().size() != 1 || !n.output(0) || n.output(0)->fact.dtype() != DType::f32)
    return std::nullopt;
  const std::string& op = n.op_type();
  for (const ir::Value* v : n.inputs())
    if (v ? v->fact.dtype() != DType::f32 : op != "Clip" || !n.input(0)) return std::nullopt;
  if (op == "Clip") {
    Operation clip{"clip", std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()};
    if (n.since() < 11) {
      clip.a = n.attr("min", clip.a);
      clip.b = n.attr("max", clip.b);
    }
    for (int i : {1, 2}) {
      if (!n.input(i)) continue;
      const auto bound = scalar(n.input(i));
      if (!bound) return std::nullopt;
      (i == 1 ? clip.a : clip.b) = *bound;
    }
    return clip;
  }
  if (op == "Pow") {
    if (n.since() < 7 || scalar(n.input(1)) != 2.0f || !same_rank(n.input(0), n.output(0))) return std::nullopt;
    return Operation{"mul", 0, 0, 2};  // of the base with itself
  }
  const auto plain = std::ranges::find(kPlain, op, &Plain::op);
  if (plain != std::end(kPlain)) {
    if (n.inputs().size() != static_cast<size_t>(plain->operands) || (plain->operands == 2 && n.since() < 7))
      return std::nullopt;
    return Operation{plain->name, 0, 0, plain->operands};
  }
  if (n.inputs().size() != 1) return std::nullopt;
  if (op == "LeakyRelu") return Operation{"leaky_relu", n.attr("alpha", 0.01f)};
  if (op == "Elu") return Operation{"elu", n.attr("alpha", 1.0f)};
  if (op == "Celu") return Operation{"celu", n.attr("alpha", 1.0f)};
  if (op == "Selu" && n.since() >= 6)
    return Operation{"selu", n.attr("alpha", 1.67326319217681884765625f), n.attr("gamma", 1.05070102214813232421875f)};
  if (op == "ThresholdedRelu" && n.since() >= 10) return Operation{"thresholded_relu", n.attr("alpha", 1.0f)};
  if (op == "Shrink") return Operation{"shrink", n.attr("bias", 0.0f), n.attr("lambd", 0.5f)};
  if (op == "HardSigmoid") return Operation{"hard_sigmoid", n.attr("alpha", 0.2f), n.attr("beta", 0.5f)};
  if (op == "Swish") return Operation{"silu", n.attr("alpha", 1.0f)};
  if (op == "Gelu") return Operation{n.attr("approximate", "none") == "tanh" ? "gelu_tanh" : "gelu"};
  return std::nullopt;
}

// The node's result has the shape of this input for sure, so that the input may be computed element by element with it.
bool keeps_shape(const ir::Node& n, const ir::Value* input) {
  if (n.inputs().size() == 1 || is_op(&n, "Clip")) return true;
  if (passes::same_shape(input->fact, n.output(0)->fact)) return true;
  const ir::Value* other = n.input(0) == input ? n.input(1) : n.input(0);
  return other == input || (scalar(other) && (other->constant().rank() == 0 || same_rank(input, n.output(0))));
}

class Region {
 public:
  explicit Region(ir::Node* root) : nodes_{root}, in_{root} {
    for (size_t i = 0; i < nodes_.size() && nodes_.size() < kMostNodes; ++i) grow(nodes_[i]);
  }
  size_t size() const { return nodes_.size(); }

  // What stands for the nodes; null when they are too much for one tape. `place`: their order in the graph.
  ir::Node* fuse(ir::Rewriter& rw, const std::unordered_map<const ir::Node*, int>& place);

 private:
  // Takes producers all of whose readers are here. One whose last reader comes later is looked at again then.
  void grow(const ir::Node* n) {
    for (ir::Value* v : n->inputs()) {
      ir::Node* p = v ? v->producer() : nullptr;
      if (!p || in_.contains(p) || v->output_uses() > 0 || nodes_.size() >= kMostNodes || !operation_of(*p) ||
          !keeps_shape(*n, v))
        continue;
      if (std::ranges::all_of(v->users(), [&](const ir::Node* user) { return in_.contains(user); })) {
        nodes_.push_back(p);
        in_.insert(p);
      }
    }
  }

  std::vector<ir::Node*> nodes_;
  std::unordered_set<const ir::Node*> in_;
};

ir::Node* Region::fuse(ir::Rewriter& rw, const std::unordered_map<const ir::Node*, int>& place) {
  std::ranges::sort(nodes_, {}, [&](const ir::Node* n) { return place.at(n); });
  std::vector<ir::Value*> inputs;
  std::unordered_map<const ir::Value*, int64_t> at;
  for (const ir::Node* n : nodes_) {
    const int count = is_op(n, "Pow") ? 1 : operation_of(*n)->operands;
    for (int i = 0; i < count; ++i) {
      ir::Value* v = n->input(i);
      if (in_.contains(v->producer()) || at.contains(v)) continue;
      at[v] = static_cast<int64_t>(inputs.size());
      inputs.push_back(v);
    }
  }
  if (inputs.size() > kMostInputs) return nullptr;
  std::vector<std::string> ops;
  std::vector<int64_t> args;
  std::vector<float> numbers;
  std::vector<int> last(nodes_.size(), 0);  // by step: the last one that reads it
  for (size_t k = 0; k < nodes_.size(); ++k) {
    const ir::Node* n = nodes_[k];
    const Operation op = *operation_of(*n);
    ops.emplace_back(op.name);
    const int64_t a = at.at(n->input(0)), b = op.operands == 1 ? 0 : is_op(n, "Pow") ? a : at.at(n->input(1));
    args.insert(args.end(), {a, b});
    numbers.insert(numbers.end(), {op.a, op.b});
    at[n->output(0)] = static_cast<int64_t>(inputs.size() + k);
    for (int64_t v : {a, op.operands == 1 ? a : b})
      if (const int64_t step = v - static_cast<int64_t>(inputs.size()); step >= 0)
        last[static_cast<size_t>(step)] = static_cast<int>(k);
  }
  for (size_t k = 0; k < nodes_.size(); ++k) {  // results alive at the same time
    size_t alive = 1;
    for (size_t i = 0; i < k; ++i) alive += last[i] > static_cast<int>(k);
    if (alive > kMostSlots) return nullptr;
  }
  ir::Node* root = nodes_.back();
  rw.begin("elementwise", std::vector<const ir::Node*>(nodes_.begin(), nodes_.end()));
  const std::string_view name = root->output(0)->name();
  ir::Node* made = rw.insert("FusedElementwise", "trunnion", 1, inputs, std::span(&name, 1),
                             {{"args", args, {}}, {"numbers", numbers, {}}, {"ops", ops, {}}}, root, root->name());
  std::vector<ir::Value*> read;
  for (const ir::Node* n : nodes_)
    for (ir::Value* v : n->inputs())
      if (v && v->is_constant()) read.push_back(v);
  rw.bypass(root, made->output(0));
  for (size_t i = nodes_.size() - 1; i-- > 0;) rw.erase_if_unused(nodes_[i]);
  rw.erase_unused_constants(read);
  return made;
}

}  // namespace

Status elementwise_fusion(ir::Graph& graph, passes::PassContext& context) {
  ir::Rewriter rw(graph, "ElementwiseFusion", context.log);
  std::unordered_map<const ir::Node*, int> place;
  for (ir::Node* n = graph.first(); n; n = n->next()) place.emplace(n, static_cast<int>(place.size()));
  // From the back: the last node of a chain comes first.
  for (ir::Node* n = graph.last(); n;) {
    ir::Node* at = n;
    if (operation_of(*n))
      if (Region region(n); region.size() > 1)
        if (ir::Node* made = region.fuse(rw, place)) at = made;
    n = at->prev();
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::ep
