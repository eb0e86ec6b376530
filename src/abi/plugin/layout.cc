// Channels last for providers that want it: operators that have channels second become those of a domain of their own.
#include <algorithm>
#include <unordered_map>

#include "abi/plugin/subgraph.h"
#include "ep/axis_order.h"
#include "schema/schema.h"

namespace trunnion::abi {
namespace {

using ep::to_first, ep::to_last;

constexpr std::string_view kElementwise[] = {
    "Abs",     "Cast",  "Ceil",     "Celu",        "Clip",      "Elu",      "Erf",
    "Exp",     "Floor", "Gelu",     "HardSigmoid", "HardSwish", "Identity", "LeakyRelu",
    "Log",     "Mish",  "Neg",      "Reciprocal",  "Relu",      "Round",    "Selu",
    "Sigmoid", "Sign",  "Softplus", "Softsign",    "Sqrt",      "Tanh",     "ThresholdedRelu"};
constexpr std::string_view kBinary[] = {"Add", "Div", "Max", "Min", "Mul", "Sub"};

bool among(const auto& list, const ir::Node& n) {
  return n.domain().empty() && std::ranges::find(list, n.op_type()) != std::end(list);
}

ir::Fact permuted(const ir::Fact& fact, const std::vector<int64_t>& perm) {
  ir::Fact to;
  to.type = fact.type;
  for (size_t i = 0; i < perm.size(); ++i) (*to.type.shape)[i] = (*fact.type.shape)[static_cast<size_t>(perm[i])];
  return to;
}

class Converter {
 public:
  Converter(ir::Graph& graph, FunctionRef<bool(const ir::Node&)> wants) : graph_(graph), wants_(wants) {}

  Result<int> run() {
    std::vector<ir::Node*> nodes;
    for (ir::Node* n = graph_.first(); n; n = n->next()) nodes.push_back(n);
    for (ir::Node* n : nodes) {
      const int rank = n->input(0) && n->input(0)->fact.has_rank() ? n->input(0)->fact.rank() : 0;
      if (rank >= 3 && n->output(0) && n->output(0)->fact.has_rank() && n->output(0)->fact.rank() == rank) {
        if (wants_(*n)) {
          TRN_TRY(convert(n));
          continue;
        }
        if (among(kElementwise, *n) && last_.contains(n->input(0))) pull(n, 1);
        if (among(kBinary, *n) && n->inputs().size() == 2 && last_.contains(n->input(0)) &&
            last_.contains(n->input(1)) && n->input(1)->fact.rank() == rank)
          pull(n, 2);
      }
    }
    sweep();
    return converted_;
  }

 private:
  ir::Node* transpose(ir::Value* from, std::vector<int64_t> perm, std::string_view name, ir::Node* before,
                      const ir::Node* of) {
    const int opset = of->domain().empty() ? of->opset() : schema::newest_opset("");
    const std::string_view names[] = {name};
    ir::Value* inputs[] = {from};
    ir::Node* n = graph_.add_node("Transpose", "", opset, inputs, names, {{"perm", perm, {}}}, before,
                                  fmt::format("Transpose_{}", name));
    n->schema = schema::find("", "Transpose", opset);
    n->output(0)->fact = permuted(from->fact, perm);
    transposes_.push_back(n);
    return n;
  }

  // The channels-last form of the value.
  ir::Value* last(ir::Value* v, ir::Node* before, const ir::Node* of) {
    if (const auto it = last_.find(v); it != last_.end()) return it->second;
    ir::Value* made = transpose(v, to_last(v->fact.rank()), v->name() + "_nhwc", before, of)->output(0);
    last_[v] = made;
    return made;
  }

  // The node with other inputs and output 0, whose old form is a transpose of it.
  void replace(ir::Node* n, std::string_view domain, std::vector<ir::Value*> inputs) {
    std::vector<std::string> names;
    for (const ir::Value* v : n->outputs()) names.push_back(v ? v->name() : "");
    std::vector<std::string_view> views(names.begin(), names.end());
    const std::string first = names[0] + "_nhwc";
    views[0] = first;
    ir::Node* made = graph_.add_node(n->op_type(), domain, n->opset(), inputs, views,
                                     {n->attrs().begin(), n->attrs().end()}, n, n->name());
    made->schema = n->schema;
    made->def = domain.empty() ? n->def : nullptr;
    made->origins = n->origins;
    ir::Value* old = n->output(0);
    const int rank = old->fact.rank();
    made->output(0)->fact = permuted(old->fact, to_last(rank));
    ir::Value* back = transpose(made->output(0), to_first(rank), names[0], n, n)->output(0);
    last_[back] = made->output(0);
    graph_.replace_uses(old, back);
    for (size_t k = 1; k < n->outputs().size(); ++k) {
      if (!n->outputs()[k]) continue;
      made->outputs()[k]->fact = n->outputs()[k]->fact;
      graph_.replace_uses(n->outputs()[k], made->outputs()[k]);
    }
    const std::string node_name = n->name();
    graph_.erase(n);
    graph_.set_node_identity(made, node_name, "");
    graph_.rename(back, names[0]);
    for (size_t k = 1; k < names.size(); ++k)
      if (made->outputs()[k]) graph_.rename(made->outputs()[k], names[k]);
  }

  Status convert(ir::Node* n) {
    std::vector<ir::Value*> inputs(n->inputs().begin(), n->inputs().end());
    const int rank = inputs[0]->fact.rank();
    if (n->op_type() == "Resize" || n->op_type() == "Upsample") {
      for (size_t i = 1; i < inputs.size(); ++i) {
        ir::Value*& v = inputs[i];
        if (!v || (v->is_constant() && v->constant().count() == 0)) continue;
        const bool is_roi = n->op_type() == "Resize" && n->since() > 10 && i == 1;
        if (is_roi && n->attr("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize") continue;
        if (!v->is_constant() || is_roi || n->has_attr("axes") || v->constant().count() != rank)
          return not_implemented("{}: input {} does not follow the order of axes", n->label(), i);
        const Tensor& from = v->constant();
        TRN_ASSIGN(const Tensor to, Tensor::allocate(from.dtype(), from.shape()));
        const auto perm = to_last(rank);
        const size_t size = size_of(from.dtype());
        for (size_t k = 0; k < perm.size(); ++k)
          std::copy_n(from.data<char>() + static_cast<size_t>(perm[k]) * size, size, to.data<char>() + k * size);
        ir::Value* moved = graph_.add_constant(v->name() + "_nhwc", to);
        moved->fact = v->fact;
        v = moved;
      }
    }
    inputs[0] = last(inputs[0], n, n);
    replace(n, kChannelsLast, std::move(inputs));
    ++converted_;
    return {};
  }

  void pull(ir::Node* n, size_t count) {
    std::vector<ir::Value*> inputs(n->inputs().begin(), n->inputs().end());
    for (size_t i = 0; i < count; ++i) inputs[i] = last_.at(inputs[i]);
    replace(n, "", std::move(inputs));
  }

  void sweep() {
    for (size_t i = transposes_.size(); i-- > 0;)
      if (transposes_[i]->output(0)->unused()) graph_.erase(transposes_[i]);
  }

  ir::Graph& graph_;
  FunctionRef<bool(const ir::Node&)> wants_;
  std::unordered_map<const ir::Value*, ir::Value*> last_;
  std::vector<ir::Node*> transposes_;
  int converted_ = 0;
};

}  // namespace

Result<int> convert_layout(ir::Graph& graph, FunctionRef<bool(const ir::Node&)> wants) {
  return Converter(graph, wants).run();
}

}  // namespace trunnion::abi
