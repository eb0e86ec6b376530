#include "ops/catalog.h"

#include <string>
#include <unordered_map>

#include "ops/shape.h"
#include "schema/schema.h"

namespace trunnion::ops {

extern const std::span<const OpDef>* const kAllOps[];  // written by the build
extern const size_t kAllOpsCount;

namespace {

std::string key(std::string_view domain, std::string_view name) {
  std::string k(domain == "ai.onnx" ? std::string_view() : domain);
  k += ':';
  k += name;
  return k;
}

const std::unordered_map<std::string, const OpDef*>& index() {
  static const auto* map = [] {
    auto* m = new std::unordered_map<std::string, const OpDef*>();
    for (size_t i = 0; i < kAllOpsCount; ++i)
      for (const OpDef& def : *kAllOps[i]) m->emplace(key(def.domain, def.name), &def);
    return m;
  }();
  return *map;
}

// What the schema says of output types, and its complaint when input types do not fit.
Status apply_schema(const ir::Node& node, std::span<ir::Fact> outputs) {
  if (!node.schema) return {};
  std::vector<const Type*> types;
  for (const ir::Value* v : node.inputs())
    types.push_back(v && v->fact.type.kind != Type::Kind::unknown ? &v->fact.type : nullptr);
  TRN_ASSIGN(auto solved, node.schema->solve_types(types, outputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].type = solved[i];
  return {};
}

// Elements of a constant, also of one that still is a node of its own.
const Tensor* known_elements(const ir::Value* v) {
  if (!v) return nullptr;
  if (v->is_constant()) return v->constant().raw() || v->constant().count() == 0 ? &v->constant() : nullptr;
  const ir::Node* n = v->producer();
  return n && n->op_type() == "Constant" && n->domain().empty() ? n->tensor_attr("value") : nullptr;
}

Status infer_in_graph(ir::Node& node) {
  std::vector<ir::Facts::Input> inputs;
  for (const ir::Value* v : node.inputs()) inputs.push_back({v ? &v->fact : nullptr, known_elements(v)});
  std::vector<ir::Fact> outputs(node.outputs().size());
  TRN_TRY(apply_schema(node, outputs));
  for (ir::Graph* body : node.bodies())
    for (const auto& c : body->captures()) c.inner->fact = c.outer->fact;
  if (node.def && node.def->infer) {
    ir::Facts facts(inputs, outputs);
    TRN_TRY(node.def->infer(node, facts));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    ir::Value* v = node.output(static_cast<int>(i));
    if (!v) continue;
    auto merged = merge_facts(v->fact, outputs[i]);
    if (!merged.ok()) return merged.status().with_context("output '" + v->name() + "'");
    v->fact = std::move(merged).value();
  }
  return {};
}

// Runs a kernel with heap memory on the calling thread.
class EvaluateHost final : public KernelHost {
 public:
  EvaluateHost(std::span<const Value* const> inputs, size_t outputs)
      : inputs_(inputs), outputs(outputs), views(outputs) {}
  void parallel_for(int64_t count, int64_t, FunctionRef<void(int64_t, int64_t)> fn) override { fn(0, count); }
  int threads() const override { return 1; }
  Result<TensorView*> allocate_output(int i, DType dtype, std::span<const int64_t> dims) override {
    TRN_ASSIGN(Tensor t, Tensor::allocate(dtype, dims));
    outputs[i] = Value(std::move(t));
    views[i] = outputs[i].tensor().view();
    return &views[i];
  }
  void set_output(int i, Value value) override { outputs[i] = std::move(value); }
  Value input_value(int i) override { return *inputs_[i]; }
  bool cancelled() const override { return false; }

 private:
  std::span<const Value* const> inputs_;

 public:
  std::vector<Value> outputs;
  std::vector<TensorView> views;
};

}  // namespace

const OpDef* find_op(std::string_view domain, std::string_view name) {
  const auto it = index().find(key(domain, name));
  return it == index().end() ? nullptr : it->second;
}

void for_each_op(FunctionRef<void(const OpDef&)> fn) {
  for (size_t i = 0; i < kAllOpsCount; ++i)
    for (const OpDef& def : *kAllOps[i]) fn(def);
}

Status infer(ir::Graph& graph) {
  for (ir::Node* n = graph.first(); n; n = n->next())
    if (auto s = infer_in_graph(*n); !s.ok()) return s.with_context(n->label() + " (stage: infer)");
  return {};
}

Status infer_node(const ir::Node& node, ir::Facts& facts) {
  if (!node.def || !node.def->infer) return not_implemented("{}: no operator file defines it", node.label());
  auto s = node.def->infer(node, facts);
  return s.ok() ? s : s.with_context(node.label());
}

Result<ir::Fact> merge_facts(const ir::Fact& declared, const ir::Fact& inferred) {
  if (declared.type.kind == Type::Kind::unknown) return inferred;
  if (inferred.type.kind == Type::Kind::unknown) return declared;
  if (!same_kind(declared.type, inferred.type))
    return error(Code::invalid_graph, "Type Error: the model declares type ({}), but the operator gives type ({})",
                 declared.type.text(), inferred.type.text());
  ir::Fact out = inferred;
  if (out.type.dtype == DType::undefined) out.type.dtype = declared.type.dtype;
  if (!out.type.inner) out.type.inner = declared.type.inner;
  if (out.type.denotation.empty()) out.type.denotation = declared.type.denotation;
  // Shapes written into files go stale, and passes take facts for proofs: a declared shape counts for callers only
  // (Session::list_ports).
  return out;
}

Status can_run(const ir::Node& node) {
  const auto missing = [&](std::string_view why) {
    return not_implemented("Could not find an implementation for {}({}) node with name '{}': {}", node.op_type(),
                           node.since(), node.name(), why);
  };
  if (!node.def)
    return missing(
        fmt::format("operator {} of domain '{}' has no kernel", node.op_type(), schema::domain_text(node.domain())));
  if (!node.def->kernel.make) return missing("the operator has no kernel of its own");
  if (node.since() > node.def->flags.reviewed && node.schema)
    return missing(fmt::format("this version of the operator is newer than {}, the newest that the engine implements",
                               node.def->flags.reviewed));
  const int t = node.def->kernel.typed_by;
  if (t >= 0 && t < static_cast<int>(node.inputs().size()) && node.input(t)) {
    const Type& type = node.input(t)->fact.type;
    if (type.is_tensor() && type.dtype != DType::undefined && !node.def->kernel.types.has(type.dtype))
      return missing(fmt::format("input {} has type {}, for which there is no kernel", t, type.text()));
  }
  return {};
}

Result<std::unique_ptr<Kernel>> make_kernel(const ir::Node& node) {
  TRN_TRY(can_run(node));
  auto kernel = node.def->kernel.make(node);
  if (!kernel.ok()) return kernel.status().with_context(node.label());
  return kernel;
}

Result<std::vector<Value>> evaluate(const ir::Node& node, std::span<const Value* const> inputs) {
  std::vector<ir::Fact> in_facts(inputs.size());
  std::vector<ir::Facts::Input> in(inputs.size());
  std::vector<TensorView> in_views(inputs.size());
  std::vector<const TensorView*> in_ptrs(inputs.size(), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    if (inputs[i]->is_tensor()) {
      in_facts[i] = ir::Fact::of(inputs[i]->tensor());
      in[i] = {&in_facts[i], &inputs[i]->tensor()};
      in_views[i] = inputs[i]->tensor().view();
    } else {
      in_facts[i].type = inputs[i]->type();
      in[i] = {&in_facts[i], nullptr};
    }
    in_ptrs[i] = &in_views[i];
  }
  const size_t n_out = node.outputs().size();
  std::vector<ir::Fact> out_facts(n_out);
  ir::Facts facts(in, out_facts);
  TRN_TRY(infer_node(node, facts));
  TRN_ASSIGN(auto kernel, make_kernel(node));

  EvaluateHost host(inputs, n_out);
  std::vector<TensorView*> out_ptrs(n_out, nullptr);
  for (size_t i = 0; i < n_out; ++i) {
    if (!node.output(static_cast<int>(i))) continue;
    out_ptrs[i] = &host.views[i];
    if (node.def->flags.dynamic) continue;
    const auto shape = out_facts[i].concrete();
    if (!shape) return error(Code::fail, "{}: the shape of output {} does not follow from the inputs", node.label(), i);
    TRN_TRY(host.allocate_output(static_cast<int>(i), out_facts[i].dtype(), *shape));
  }
  std::unique_ptr<KernelState> state;
  Tensor scratch_memory;
  if (!node.def->flags.dynamic) {
    PrepareContext prepare(in_ptrs, std::span<const TensorView* const>(out_ptrs.data(), n_out), 1);
    auto prepared = kernel->prepare(prepare);
    if (!prepared.ok()) return prepared.status().with_context(node.label());
    state = std::move(prepared).value();
    if (prepare.scratch_bytes()) {
      const int64_t bytes[] = {static_cast<int64_t>(prepare.scratch_bytes())};
      TRN_ASSIGN(scratch_memory, Tensor::allocate(DType::u8, bytes));
    }
  }
  KernelContext ctx;
  ctx.in_ = in_ptrs.data();
  ctx.out_ = out_ptrs.data();
  ctx.n_in_ = static_cast<int>(in_ptrs.size());
  ctx.n_out_ = static_cast<int>(n_out);
  ctx.state_ = state.get();
  ctx.scratch_ = scratch_memory.data<std::byte>();
  ctx.host_ = &host;
  if (auto s = kernel->run(ctx); !s.ok()) return s.with_context(node.label());
  return std::move(host.outputs);
}

}  // namespace trunnion::ops
