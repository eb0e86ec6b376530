// ConstantFolding: nodes whose inputs are all constant are run now, and integers that inference knows (shapes above
// all) become constants. Not folded: random operators, DequantizeLinear (quantized graphs keep their form), and what
// makes the model grow; see FoldBudget for that rule.
#include <algorithm>

#include "base/error.h"
#include "ops/catalog.h"
#include "passes/clean.h"
#include "passes/rules.h"
#include "tensor/alignment.h"

namespace trunnion::passes {
namespace {

// Whether nodes use the value only as weights: then a run would have to make it anyway, every time, and a kernel gains
// from having it (packed once). `stored`: the file holds it in a smaller type; then a table that rows are taken from
// counts too.
bool serves_as_weights(const ir::Value& v, bool stored, int depth = 0) {
  struct Consumer {
    std::string_view op;
    int first_input;  // the weights stand there and after
  };
  constexpr Consumer kConsumers[] = {{"Conv", 1}, {"ConvTranspose", 1}, {"Gemm", 1}, {"MatMul", 1},
                                     {"LSTM", 1}, {"GRU", 1},           {"RNN", 1}};
  constexpr std::string_view kHandOn[] = {"Reshape", "Transpose", "Squeeze", "Unsqueeze",
                                          "Flatten", "Identity",  "Cast"};
  constexpr std::string_view kScale[] = {"Mul", "Add", "Sub",
                                         "Div"};  // weights that the model dequantizes with its own nodes
  if (depth > 6 || v.output_uses() > 0 || v.users().empty()) return false;
  for (const ir::Node* n : v.users()) {
    if (!n || !n->domain().empty()) return false;
    const auto is_one_of = [&](const auto& list) {
      return std::find(std::begin(list), std::end(list), n->op_type()) != std::end(list);
    };
    const auto* consumer = std::find_if(std::begin(kConsumers), std::end(kConsumers),
                                        [&](const Consumer& c) { return c.op == n->op_type(); });
    bool good = stored && n->op_type() == "Gather" && n->input(1) != &v;
    if (consumer != std::end(kConsumers)) {
      good = true;
      for (int i = 0; i < consumer->first_input; ++i) good = good && n->input(i) != &v;
    }
    if (good) continue;
    bool hands_on = is_one_of(kHandOn) && n->input(0) == &v;
    if (is_one_of(kScale)) {
      hands_on = true;
      for (const ir::Value* in : n->inputs()) hands_on = hands_on && (in == &v || (in && in->is_constant()));
    }
    if (!hands_on || !n->output(0) || !serves_as_weights(*n->output(0), stored, depth + 1)) return false;
  }
  return true;
}

int64_t constant_bytes(const ir::Graph& graph) {
  int64_t sum = 0;
  graph.for_each_value([&](const ir::Value* v) { sum += static_cast<int64_t>(v->constant().bytes()); });
  for (const ir::Node* n = graph.first(); n; n = n->next())
    for (const ir::Graph* body : n->bodies()) sum += constant_bytes(*body);
  return sum;
}

// Three limits, so that a small file cannot make a large model: a constant grows to at most twice its inputs or
// fold_limit_bytes; weights may grow beyond, to fold_weights_bytes in all; and the sum of all growth has a limit that
// rises with the size of the model's own constants.
class FoldBudget {
 public:
  FoldBudget(const ir::Graph& graph, PassContext& context) : context_(context) {
    if (context_.model_constants >= 0) return;
    const ir::Graph* top = &graph;
    while (top->owner()) top = top->owner()->graph();
    context_.model_constants = constant_bytes(*top);
  }

  bool allows(const ir::Node& node, int64_t in, int64_t out) const {
    if (out <= in) return true;
    if (out > context_.fold_limit_bytes && out > 2 * in)
      return weights(node, in, out) && context_.folded_weights + out <= context_.fold_weights_bytes;
    return context_.folded_growth + out - in <= context_.fold_growth_bytes + context_.model_constants;
  }

  void spend(const ir::Node& node, int64_t in, int64_t out) {
    if (out <= in) return;
    if (out > context_.fold_limit_bytes && out > 2 * in && weights(node, in, out))
      context_.folded_weights += out;
    else
      context_.folded_growth += out - in;
  }

 private:
  static bool weights(const ir::Node& node, int64_t in, int64_t out) {
    return node.outputs().size() == 1 && serves_as_weights(*node.output(0), out <= 8 * in);
  }

  PassContext& context_;
};

int64_t input_bytes(const ir::Node& n) {
  std::vector<const ir::Value*> seen;
  int64_t sum = 0;
  for (const ir::Value* v : n.inputs()) {
    if (!v || std::find(seen.begin(), seen.end(), v) != seen.end()) continue;
    seen.push_back(v);
    sum += static_cast<int64_t>(v->constant().bytes());
  }
  return sum;
}

// Bytes of all outputs when inference knows their shapes; -1 when not, or too many to count.
int64_t expected_bytes(const ir::Node& n) {
  int64_t sum = 0;
  for (const ir::Value* v : n.outputs()) {
    if (!v) continue;
    const auto shape = v->fact.type.is_tensor() ? v->fact.concrete() : std::nullopt;
    const int64_t count = shape ? element_count(std::span<const int64_t>(shape->data(), shape->size())) : -1;
    const auto bytes = count >= 0 ? storage_bytes(v->fact.dtype(), count) : std::nullopt;
    if (!bytes || *bytes > size_t{1} << 40) return shape ? int64_t{1} << 41 : -1;
    sum += static_cast<int64_t>(*bytes);
  }
  return sum;
}

template <class T>
Result<Tensor> from_content(std::span<const int64_t> dims, const std::vector<Dim>& content) {
  std::vector<T> values;
  for (const Dim& d : content) values.push_back(static_cast<T>(d.value()));
  TRN_ASSIGN(Tensor t, Tensor::allocate(DTypeOf<T>::value, dims));
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}

// The tensor that inference has worked out already; invalid when it has not.
Result<Tensor> known(const ir::Value& v) {
  const auto& content = v.fact.content;
  const auto shape = v.fact.type.is_tensor() && content ? v.fact.concrete() : std::nullopt;
  if (!shape ||
      element_count(std::span<const int64_t>(shape->data(), shape->size())) != static_cast<int64_t>(content->size()))
    return Tensor();
  for (const Dim& d : *content)
    if (!d.is_int()) return Tensor();
  const std::span<const int64_t> dims(shape->data(), shape->size());
  switch (v.fact.dtype()) {
    case DType::i64:
      return from_content<int64_t>(dims, *content);
    case DType::i32:
      return from_content<int32_t>(dims, *content);
    case DType::boolean:
      return from_content<bool>(dims, *content);
    default:
      return Tensor();
  }
}

bool all_inputs_constant(const ir::Node& n) {
  for (const ir::Value* v : n.inputs())
    if (v && !v->is_constant()) return false;
  return true;
}

// The node's values, or nothing when it is not to be folded.
Result<std::vector<Tensor>> values_of(const ir::Node& n, FoldBudget& budget, const PassContext& context) {
  std::vector<Tensor> out;
  for (const ir::Value* v : n.outputs()) {
    if (!v) {
      out.emplace_back();
      continue;
    }
    TRN_ASSIGN(Tensor t, known(*v));
    if (!t.valid()) break;
    out.push_back(std::move(t));
  }
  if (out.size() == n.outputs().size()) return out;
  out.clear();
  if (!all_inputs_constant(n)) return out;

  const int64_t in = input_bytes(n);
  int64_t bytes = expected_bytes(n);
  if (bytes < 0)
    bytes = in <= context.fold_limit_bytes ? in : INT64_MAX / 4;  // only running it tells: not for large inputs
  if (!budget.allows(n, in, bytes)) return out;

  const Tensor* viewed = n.def->flags.view >= 0 ? constant_input(n, n.def->flags.view) : nullptr;
  const auto shape = n.output(0) ? n.output(0)->fact.concrete() : std::nullopt;
  if (viewed && shape && n.outputs().size() == 1 && viewed->dtype() == n.output(0)->fact.dtype() &&
      element_count(std::span<const int64_t>(shape->data(), shape->size())) == viewed->count()) {
    out.push_back(Tensor::borrow(viewed->dtype(), *shape, viewed->raw(), std::make_shared<const Tensor>(*viewed)));
    return out;
  }
  std::vector<Value> inputs;
  std::vector<const Value*> pointers;
  inputs.reserve(n.inputs().size());
  for (const ir::Value* v : n.inputs()) {
    if (v) {
      TRN_ASSIGN(Tensor t, aligned(v->constant()));
      inputs.emplace_back(std::move(t));
    }
    pointers.push_back(v ? &inputs.back() : nullptr);
  }
  auto values = ops::evaluate(n, pointers);
  if (!values.ok()) {  // the error belongs to the run that meets the node, if one does
    if (context.log) TRN_LOG(*context.log, verbose, "ConstantFolding: left as it is: {}", values.status().message());
    return out;
  }
  int64_t made = 0;
  for (size_t i = 0; i < values->size(); ++i) {
    const bool wanted = n.output(static_cast<int>(i)) != nullptr;
    if (wanted && !(*values)[i].is_tensor()) return std::vector<Tensor>();
    out.push_back(wanted ? (*values)[i].tensor() : Tensor());
    made += static_cast<int64_t>(out.back().bytes());
  }
  if (!budget.allows(n, in, made)) return std::vector<Tensor>();
  budget.spend(n, in, made);
  return out;
}

bool foldable(const ir::Node& n) {
  if (!n.def || n.def->flags.random || n.def->flags.control_flow || n.outputs().empty() ||
      n.op_type() == "DequantizeLinear")
    return false;
  if (!n.bodies().empty()) return false;
  for (const ir::Value* v :
       n.outputs())  // an Identity that makes a graph output of a constant has no other user and stays
    if (v && (!v->users().empty() || (v->output_uses() > 0 && !is_op(&n, "Identity") && n.domain().empty())))
      return true;
  return false;
}

}  // namespace

Status constant_folding(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "ConstantFolding", context.log);
  FoldBudget budget(graph, context);
  for (ir::Node* n = graph.first(); n;) {
    ir::Node* next = n->next();
    if (foldable(*n)) {
      TRN_ASSIGN(std::vector<Tensor> values, values_of(*n, budget, context));
      if (!values.empty()) {
        rw.begin("fold", {n});
        const std::vector<ir::Value*> inputs(n->inputs().begin(), n->inputs().end());
        for (size_t i = 0; i < values.size(); ++i) {
          ir::Value* old = n->output(static_cast<int>(i));
          if (!old || old->unused()) continue;
          ir::Value* made = rw.replace_by_constant(old, std::move(values[i]));
          if (old->output_uses() > 0 && n->domain().empty()) rw.replace_or_copy(old, made, n, n->opset());
        }
        rw.erase_if_unused(n);
        rw.erase_unused_constants(inputs);
      }
    }
    n = next;
  }
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::passes
