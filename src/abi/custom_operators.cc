#include "abi/custom_operators.h"

#include <algorithm>

#include "abi/slots.h"
#include "ir/graph.h"

namespace trunnion::abi {
namespace {

// The versions of OrtCustomOp that brought its newer functions.
constexpr uint32_t kOptional = 8, kVariadic = 14, kVersions = 17, kAliases = 18;

template <class F>
void read_ports(std::vector<CustomOp::Port>& ports, size_t count, F&& read) {
  ports.resize(count);
  for (size_t i = 0; i < count; ++i) read(i, ports[i]);
}

int min_count(const std::vector<CustomOp::Port>& ports) {
  int n = 0;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].kind == INPUT_OUTPUT_REQUIRED) n = static_cast<int>(i) + 1;
    if (ports[i].kind == INPUT_OUTPUT_VARIADIC && ports[i].min_arity > 0) n = static_cast<int>(i) + ports[i].min_arity;
  }
  return n;
}

int max_count(const std::vector<CustomOp::Port>& ports) {
  if (!ports.empty() && ports.back().kind == INPUT_OUTPUT_VARIADIC) return schema::Schema::kUnbounded;
  return static_cast<int>(ports.size());
}

bool count_fits(size_t n, const std::vector<CustomOp::Port>& ports) {
  return static_cast<int64_t>(n) >= min_count(ports) && static_cast<int64_t>(n) <= max_count(ports);
}

schema::Param::Kind kind_of(const CustomOp::Port& port) {
  switch (port.kind) {
    case INPUT_OUTPUT_OPTIONAL:
      return schema::Param::Kind::optional;
    case INPUT_OUTPUT_VARIADIC:
      return schema::Param::Kind::variadic;
    default:
      return schema::Param::Kind::single;
  }
}

// Formal parameters that take what any of the candidates takes.
std::vector<schema::Param> params_of(CustomOpDef& def, std::vector<CustomOp::Port> CustomOp::*which,
                                     const char* prefix) {
  std::vector<schema::Param> params;
  size_t count = 0;
  for (const CustomOp* op : def.candidates) count = std::max(count, (op->*which).size());
  for (size_t i = 0; i < count; ++i) {
    schema::Param p;
    p.name = def.names.emplace_back(fmt::format("{}{}", prefix, i));
    p.homogeneous = false;
    uint32_t bits = 0;
    bool first = true, everywhere = true;
    for (const CustomOp* op : def.candidates) {
      const auto& ports = op->*which;
      if (i >= ports.size()) {
        everywhere = false;
        continue;
      }
      bits |= (ports[i].type == DType::undefined ? kAllTypes : DTypes(ports[i].type)).bits();
      if (first) {
        p.kind = kind_of(ports[i]);
        p.min_arity = ports[i].min_arity;
        p.homogeneous = ports[i].kind == INPUT_OUTPUT_VARIADIC && ports[i].homogeneous;
      }
      first = false;
    }
    if (!everywhere && p.kind == schema::Param::Kind::single) p.kind = schema::Param::Kind::optional;
    p.types = DTypes::from_bits(bits);
    if (p.homogeneous) {
      p.constraint = static_cast<int>(def.signature.constraints.size());
      def.signature.constraints.push_back({p.name, p.types});
    }
    params.push_back(p);
  }
  return params;
}

Status infer_custom(const ir::Node& node, ir::Facts& facts) {
  const auto& def = static_cast<const CustomOpDef&>(*node.def);
  TRN_ASSIGN(const CustomOp* op, def.choose(node));
  std::vector<DType> inputs;
  for (int i = 0; i < facts.inputs(); ++i) inputs.push_back(facts.dtype(i));
  for (int k = 0; k < facts.outputs(); ++k) {
    const DType type = op->output_type(static_cast<size_t>(k), inputs);
    if (type != DType::undefined) facts.set(k, type);
  }
  return infer_custom_shapes(*op, node, facts);
}

}  // namespace

Status from_ort(OrtStatus* status) {
  if (!status) return {};
  Status out = status->status;
  if (status != out_of_memory()) delete status;
  return out.ok() ? error(Code::fail, "a custom operator gave a status without an error code") : out;
}

CustomOp::CustomOp(const OrtCustomOp& o) : op(&o) {
  const auto text = [](const char* t) { return std::string(t ? t : ""); };
  name = text(o.GetName(op));
  const std::string provider = o.GetExecutionProviderType ? text(o.GetExecutionProviderType(op)) : std::string();
  on_cpu = provider.empty() || provider == kCpuProvider;
  read_ports(inputs, o.GetInputTypeCount(op), [&](size_t i, Port& p) {
    p.type = dtype_of(o.GetInputType(op, i));
    if (o.version >= kOptional && o.GetInputCharacteristic) p.kind = o.GetInputCharacteristic(op, i);
    if (p.kind != INPUT_OUTPUT_VARIADIC || o.version < kVariadic) return;
    if (o.GetVariadicInputMinArity) p.min_arity = o.GetVariadicInputMinArity(op);
    if (o.GetVariadicInputHomogeneity) p.homogeneous = o.GetVariadicInputHomogeneity(op) != 0;
  });
  read_ports(outputs, o.GetOutputTypeCount(op), [&](size_t i, Port& p) {
    p.type = dtype_of(o.GetOutputType(op, i));
    if (o.version >= kOptional && o.GetOutputCharacteristic) p.kind = o.GetOutputCharacteristic(op, i);
    if (p.kind != INPUT_OUTPUT_VARIADIC || o.version < kVariadic) return;
    if (o.GetVariadicOutputMinArity) p.min_arity = o.GetVariadicOutputMinArity(op);
    if (o.GetVariadicOutputHomogeneity) p.homogeneous = o.GetVariadicOutputHomogeneity(op) != 0;
  });
  if (o.version >= kVersions) {
    if (o.GetStartVersion) start = o.GetStartVersion(op);
    if (o.GetEndVersion) end = o.GetEndVersion(op);
  }
  // That an output may lie on an input is left unused: outputs are memory of their own.
  if (o.version >= kAliases && o.GetAliasMap) {
    int *in = nullptr, *out = nullptr;
    const size_t n = o.GetAliasMap(&in, &out);
    for (size_t i = 0; in && out && i < n; ++i) aliases.emplace_back(in[i], out[i]);
    if (o.ReleaseAliasMap) o.ReleaseAliasMap(in, out);
  }
}

const CustomOp::Port* CustomOp::port(const std::vector<Port>& ports, size_t i) {
  if (i < ports.size()) return &ports[i];
  return !ports.empty() && ports.back().kind == INPUT_OUTPUT_VARIADIC ? &ports.back() : nullptr;
}

bool CustomOp::fits(const ir::Node& node, std::span<const Type* const> types) const {
  if (!count_fits(types.size(), inputs) || !count_fits(node.outputs().size(), outputs)) return false;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!types[i] || types[i]->kind == Type::Kind::unknown) continue;
    const DType wanted = port(inputs, i)->type;
    if (!types[i]->is_tensor()) return false;
    if (wanted != DType::undefined && types[i]->dtype != DType::undefined && types[i]->dtype != wanted) return false;
  }
  return true;
}

DType CustomOp::output_type(size_t k, std::span<const DType> types) const {
  const Port* out = port(outputs, k);
  if (!out || out->type != DType::undefined) return out ? out->type : DType::undefined;
  for (size_t i = 0; i < types.size(); ++i) {
    const Port* in = port(inputs, i);
    if (in && in->type == DType::undefined && types[i] != DType::undefined) return types[i];
  }
  return DType::undefined;
}

Result<const CustomOp*> CustomOpDef::choose(const ir::Node& node) const {
  std::vector<const Type*> types;
  for (const ir::Value* v : node.inputs()) types.push_back(v ? &v->fact.type : nullptr);
  for (const CustomOp* op : candidates)
    if (op->fits(node, types)) return op;
  std::string found;
  for (const Type* t : types) found += fmt::format("{}{}", found.empty() ? "" : ", ", t ? t->text() : "nothing");
  return invalid_graph("{}: no custom operator of that name takes ({}) and gives {} outputs; registered are {}",
                       node.label(), found, node.outputs().size(), candidates.size());
}

CustomOperators::CustomOperators(std::span<void* const> domains, CustomSession session)
    : session_(std::make_shared<const CustomSession>(std::move(session))) {
  for (const void* d : domains) {
    const auto* domain = static_cast<const OrtCustomOpDomain*>(d);
    for (const OrtCustomOp* op : domain->ops) {
      auto read = std::make_unique<const CustomOp>(*op);
      if (read->on_cpu) entries_.push_back({domain->domain == "ai.onnx" ? "" : domain->domain, std::move(read)});
    }
  }
}

void set_foreign(ops::OpDef& op, ops::InferFn infer, ops::MakeFn make) {
  op.infer = infer;
  op.kernel = {kAllTypes, make, -1};
  op.flags.reviewed = INT_MAX;
  op.flags.dynamic = true;
  op.flags.random = true;
}

const CustomOpDef& CustomOperators::definition(const std::string& domain, std::vector<const CustomOp*> candidates) {
  for (const CustomOpDef& d : definitions_)
    if (d.candidates == candidates && d.domain == domain) return d;
  CustomOpDef& d = definitions_.emplace_back();
  d.candidates = std::move(candidates);
  d.session = session_;
  d.name = d.names.emplace_back(d.candidates.front()->name);
  d.domain = d.names.emplace_back(domain);
  set_foreign(d, infer_custom, make_custom_kernel);
  schema::Schema& s = d.signature;
  s.domain = d.domain;
  s.op = d.name;
  s.since = d.candidates.front()->start;
  s.inputs = params_of(d, &CustomOp::inputs, "Input");
  s.outputs = params_of(d, &CustomOp::outputs, "Output");
  s.attributes.push_back({.name = "*"});
  s.min_inputs = s.min_outputs = INT_MAX;
  for (const CustomOp* op : d.candidates) {
    s.min_inputs = std::min(s.min_inputs, min_count(op->inputs));
    s.max_inputs = std::max(s.max_inputs, max_count(op->inputs));
    s.min_outputs = std::min(s.min_outputs, min_count(op->outputs));
    s.max_outputs = std::max(s.max_outputs, max_count(op->outputs));
  }
  return d;
}

Status CustomOperators::bind(ir::Graph& graph) {
  graph.for_each_node_deep([&](ir::Node* n) {
    std::vector<const CustomOp*> candidates;
    for (const Entry& e : entries_)
      if (e.op->name == n->op_type() && e.domain == n->domain() && e.op->has_version(n->opset()))
        candidates.push_back(e.op.get());
    if (candidates.empty()) return;
    const CustomOpDef& def = definition(n->domain(), std::move(candidates));
    n->def = &def;
    n->schema = &def.signature;
  });
  return {};
}

}  // namespace trunnion::abi
