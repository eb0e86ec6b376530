// Blocked channels (domain com.microsoft.nchwc) of files that another runtime optimized become plain ones: the same
// tensors, their channels in another order in memory, which convolution, pooling and element-wise operators do not see.
// All of a graph or nothing: one operator that looks into the blocks keeps them everywhere.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ep/cpu/fusion.h"
#include "ops/contrib/fused_activation_detail.h"
#include "ops/contrib/nchwc_detail.h"

namespace trunnion::ep {
namespace {

constexpr std::string_view kUnary[] = {"Relu",        "LeakyRelu", "Elu",      "Selu",     "Sigmoid",        "Tanh",
                                       "HardSigmoid", "HardSwish", "Softplus", "Softsign", "Clip",           "Gelu",
                                       "QuickGelu",   "Swish",     "Mish",     "Identity", "ThresholdedRelu"};
constexpr std::string_view kBinary[] = {"Add", "Sum", "Mul", "Sub", "Div", "Max", "Min"};

template <size_t N>
bool among(const ir::Node& n, const std::string_view (&list)[N]) {
  return std::find(std::begin(list), std::end(list), n.op_type()) != std::end(list);
}

class Unblocking {
 public:
  Unblocking(ir::Graph& graph, const Logger* log) : graph_(graph), rw_(graph, "SavedLayout", log) {}

  Status run() {
    if (!look() || convs_.empty()) return {};
    for (ir::Node* n = graph_.first(); n;) {
      ir::Node* next = n->next();
      if (n->domain() == ops::kNchwcDomain) TRN_TRY(rewrite(n));
      n = next;
    }
    return {};
  }
  int changes() const { return rw_.changes(); }

 private:
  bool is_blocked(const ir::Value* v) const { return v && blocked_.contains(v); }

  // Finds all blocked values. False when one of them is seen by an operator that does not belong here, or when
  // something is not known that the rewrite needs.
  bool look() {
    for (const ir::Node* n = graph_.first(); n; n = n->next()) {
      const ir::Value* out = n->output(0);
      if (n->domain() == ops::kNchwcDomain) {
        if (!out || n->outputs().size() != 1 || !out->fact.has_rank() || out->fact.rank() != 4 || !fits(*n))
          return false;
        if (n->op_type() != "ReorderOutput") blocked_.insert(out);
      } else if (std::any_of(n->inputs().begin(), n->inputs().end(),
                             [&](const ir::Value* v) { return is_blocked(v); })) {
        if (!keeps_order(*n)) return false;
        blocked_.insert(out);
      }
      if (is_blocked(out)) {
        if (out->output_uses() != 0) return false;
        for (const ir::Node* user : out->users())
          if (!user->bodies().empty()) return false;
      }
    }
    return true;
  }

  bool fits(const ir::Node& n) {
    const ir::Fact &x = n.input(0)->fact, &y = n.output(0)->fact;
    if (!x.has_rank() || x.rank() != 4) return false;
    const auto known = [&](const ir::Fact& f, int axis) { return f.dim(axis).is_int(); };
    if (n.op_type() == "ReorderInput")
      return !is_blocked(n.input(0)) && known(x, n.attr("channels_last", 0) != 0 ? 3 : 1) && known(y, 1);
    if (n.op_type() != "Conv") return is_blocked(n.input(0)) && known(x, 1);
    if (!n.input(1)->is_constant()) return false;
    auto conv = ops::read_nchwc_weights(n);
    const auto activation = ops::read_listed_activation(n);
    if (!conv.ok() || !activation.ok() || (!activation->none && activation->fast == kernels::Activation::none) ||
        is_blocked(n.input(0)) != conv->blocked_input || (n.input(3) && !is_blocked(n.input(3))))
      return false;
    convs_.emplace(&n, std::move(*conv));
    return true;
  }

  // Element by element, or blocks behind blocks: the result is blocked as the inputs are.
  bool keeps_order(const ir::Node& n) const {
    if (n.outputs().size() != 1 || !n.output(0) || !n.bodies().empty()) return false;
    const bool own = n.domain() == "com.microsoft" && (n.op_type() == "QuickGelu" || n.op_type() == "Gelu");
    if (!n.domain().empty() && !own) return false;
    if (among(n, kUnary)) {
      for (size_t i = 1; i < n.inputs().size(); ++i)
        if (is_blocked(n.inputs()[i])) return false;
      return true;
    }
    const bool concat = n.op_type() == "Concat" && (n.attr("axis", 1) == 1 || n.attr("axis", 1) == -3);
    if (!concat && (!among(n, kBinary) || n.since() < 7)) return false;
    return std::all_of(n.inputs().begin(), n.inputs().end(), [&](const ir::Value* v) {
      return is_blocked(v) || (!concat && v && v->is_constant() && v->constant().count() == 1);
    });
  }

  Status rewrite(ir::Node* n) {
    rw_.begin(n->op_type(), {n});
    if (n->op_type() == "Conv") {
      take_conv(n);
    } else if (n->op_type() == "ReorderInput" || n->op_type() == "ReorderOutput") {
      return reorder(n);
    } else if (n->op_type() == "Upsample") {
      return resize(n);
    } else {
      rw_.change_op(n, n->op_type(), "", 22);
    }
    return {};
  }

  void take_conv(ir::Node* n) {
    ops::NchwcConv& conv = convs_.at(n);
    const auto activation = ops::read_listed_activation(*n);
    ir::Value* old = n->input(1);
    rw_.set_input(n, 1, rw_.constant(old->name() + "_plain", std::move(conv.weights)));
    rw_.erase_unused_constants(std::span(&old, 1));
    for (const char* name : {"activation", "activation_params"}) rw_.remove_attr(n, name);
    rw_.set_attr(n, "group", conv.params.groups);
    if (!activation->none) {
      rw_.set_attr(n, "activation", std::string(ops::activation_name(activation->fast)));
      rw_.set_attr(n, "activation_a", static_cast<float>(activation->params.a));
      rw_.set_attr(n, "activation_b", static_cast<float>(activation->params.b));
    }
    rw_.change_op(n, "FusedConv", "trunnion", 1);
  }

  Result<ir::Value*> ints(std::string_view name, const std::vector<int64_t>& values) {
    TRN_ASSIGN(Tensor t, passes::int64_tensor(values));
    return rw_.constant(name, std::move(t));
  }

  ir::Value* transposed(ir::Value* x, std::vector<int64_t> perm, ir::Node* before) {
    ir::Value* y = rw_.insert("Transpose", "", 13, {x}, {x->name() + "_t"}, {{"perm", perm, {}}}, before)->output(0);
    SymShape dims;
    for (const int64_t p : perm) dims.push_back(x->fact.dim(static_cast<int>(p)));
    y->fact = ir::Fact::tensor(DType::f32, std::move(dims));
    return y;
  }

  // Without blocks only the padding is left, and the layout outside.
  Status reorder(ir::Node* n) {
    const bool input = n->op_type() == "ReorderInput", last = n->attr("channels_last", 0) != 0;
    ir::Value *x = n->input(0), *out = n->output(0);
    if (input && last) x = transposed(x, {0, 3, 1, 2}, n);
    const int64_t from = x->fact.dim(1).value(), to = input ? out->fact.dim(1).value() : n->attr("channels", 0);
    if (from != to) {
      std::vector<ir::Value*> inputs{x};
      const auto add = [&](std::string_view name, const std::vector<int64_t>& values) -> Status {
        TRN_ASSIGN(ir::Value * v, ints(name, values));
        inputs.push_back(v);
        return {};
      };
      if (input) {
        TRN_TRY(add("pads", {0, 0, 0, 0, 0, to - from, 0, 0}));
      } else {
        TRN_TRY(add("starts", {0}));
        TRN_TRY(add("ends", {to}));
        TRN_TRY(add("axes", {1}));
      }
      const std::string name = out->name() + (input ? "_padded" : "_cut");
      const std::string_view names[] = {name};
      SymShape dims = x->fact.shape();
      dims[1] = to;
      x = rw_.insert(input ? "Pad" : "Slice", "", 13, inputs, names, {}, n)->output(0);
      x->fact = ir::Fact::tensor(DType::f32, std::move(dims));
    }
    if (!input && last) x = transposed(x, {0, 2, 3, 1}, n);
    rw_.replace_or_copy(out, x, n, 13);
    rw_.erase(n);
    return {};
  }

  Status resize(ir::Node* n) {
    auto scales = n->ints("scales");
    if (scales.empty()) scales.assign(4, 1);
    const int64_t dims[] = {4};
    TRN_ASSIGN(Tensor t, Tensor::allocate(DType::f32, dims));
    std::transform(scales.begin(), scales.end(), t.data<float>(), [](int64_t v) { return static_cast<float>(v); });
    rw_.resize_inputs(n, 3);
    rw_.set_input(n, 2, rw_.constant("scales", std::move(t)));
    rw_.remove_attr(n, "scales");
    if (!n->has_attr("coordinate_transformation_mode"))
      rw_.set_attr(n, "coordinate_transformation_mode", std::string("asymmetric"));
    rw_.set_attr(n, "nearest_mode", std::string("floor"));
    rw_.change_op(n, "Resize", "", 13);
    return {};
  }

  ir::Graph& graph_;
  ir::Rewriter rw_;
  std::unordered_set<const ir::Value*> blocked_;
  std::unordered_map<const ir::Node*, ops::NchwcConv> convs_;
};

}  // namespace

Status saved_layout(ir::Graph& graph, passes::PassContext& context) {
  bool any = false;
  for (const ir::Node* n = graph.first(); n && !any; n = n->next()) any = n->domain() == ops::kNchwcDomain;
  if (!any) return {};
  Unblocking unblocking(graph, context.log);
  TRN_TRY(unblocking.run());
  context.changes += unblocking.changes();
  return {};
}

}  // namespace trunnion::ep
