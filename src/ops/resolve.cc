// Nodes get their signature and their operator file, and are checked against the signature.
#include <map>
#include <mutex>

#include "base/fork_lock.h"
#include "ops/catalog.h"
#include "schema/row.h"
#include "schema/schema.h"

namespace trunnion::ops {
namespace {

// Signatures that operator files state themselves (contrib and fused operators), parsed once.
Result<const schema::Schema*> own_schema(const OpDef& def) {
  struct Parsed {
    ForkLock lock;
    std::map<const OpDef*, schema::Schema> rows;
  };
  static Parsed& parsed = *new Parsed;  // never destroyed: threads may load models while the process ends
  std::lock_guard guard(parsed.lock);
  if (const auto it = parsed.rows.find(&def); it != parsed.rows.end()) return &it->second;
  TRN_ASSIGN(schema::Schema s, schema::parse_row(def.schema_row));
  return &parsed.rows.emplace(&def, std::move(s)).first->second;
}

Status unknown_operator(const ir::Node& n) {
  const auto versions = schema::versions(n.domain(), n.op_type());
  if (!versions.empty())
    return invalid_graph(
        "No Op registered for {} with domain_version of {}: operator {} of domain '{}' exists from opset {}, the model "
        "imports opset {}",
        n.op_type(), n.opset(), n.op_type(), schema::domain_text(n.domain()), versions.front(), n.opset());
  std::vector<std::string_view> similar;
  if (schema::newest_opset(n.domain()) > 0) {
    similar = schema::similar_operators(n.domain(), n.op_type());
  }
  std::string hint;
  if (!similar.empty()) hint = fmt::format("; similar names: {}", fmt::join(similar, ", "));
  if (schema::newest_opset(n.domain()) > 0)
    return invalid_graph("No Op registered for {} with domain_version of {}: domain '{}' has no such operator{}",
                         n.op_type(), n.opset(), schema::domain_text(n.domain()), hint);
  if (n.domain().starts_with("com.microsoft"))
    return error(Code::fail,
                 "Fatal error: {}:{}(-1) is not a registered function/op: trunnion has no such operator; it has a part "
                 "of those that ONNX Runtime keeps in its own domains ('trunnion operators' lists them)",
                 n.domain(), n.op_type());
  return error(Code::fail,
               "Fatal error: {}:{}(-1) is not a registered function/op: no operator of that name and domain is known, "
               "nor a function of the model",
               n.domain(), n.op_type());
}

// Files leave inputs out that only a later version made optional (Resize-11's roi): they are understood as that
// version.
bool optional_later(const ir::Node& n, size_t input) {
  const auto* newest = schema::find(n.domain(), n.op_type(), schema::newest_opset(n.domain()));
  return newest && newest->input(input) && !newest->is_input_required(input);
}

Status resolve_one(ir::Node& n) {
  if (!n.def) n.def = find_op(n.domain(), n.op_type());
  if (!n.schema) {
    n.schema = schema::find(n.domain(), n.op_type(), n.opset());
    if (!n.schema && n.def && !n.def->schema_row.empty()) {
      TRN_ASSIGN(n.schema, own_schema(*n.def));
    }
  }
  if (!n.schema) return unknown_operator(n);
  // A deprecated operator that the engine has keeps its old meaning: all of them have their old signature.
  if (n.schema->deprecated && !(n.def && n.def->infer))
    return invalid_graph("operator {} is deprecated since opset {} of domain '{}'; the model imports opset {}",
                         n.op_type(), n.schema->since, schema::domain_text(n.domain()), n.opset());
  // Trailing optional inputs may be left out or given as empty names.
  size_t inputs = n.inputs().size();
  if (auto s = n.schema->check_arity(inputs, n.outputs().size()); !s.ok())
    return Status(Code::invalid_graph, s.message());
  for (size_t i = 0; i < inputs; ++i)
    if (!n.inputs()[i] && n.schema->is_input_required(i) && !optional_later(n, i)) {
      const auto* p = n.schema->input(i);
      return invalid_graph("input {} ({}) is required, but it is left out", i, p ? p->name : std::string_view("?"));
    }
  // An output that no signature lets a node leave out is made even where the model does not name it.
  for (size_t i = 0; i < n.outputs().size(); ++i)
    if (const auto* p = n.schema->output(i); p && p->kind == schema::Param::Kind::single && !n.outputs()[i])
      n.graph()->restore_output(&n, static_cast<int>(i), p->name);
  std::vector<schema::NodeAttr> attrs;
  for (const auto& a : n.attrs()) attrs.push_back({a.name, a.type()});
  if (auto s = n.schema->check_attributes(attrs); !s.ok()) return Status(Code::invalid_graph, s.message());
  return {};
}

}  // namespace

Status resolve(ir::Node& node) {
  auto s = resolve_one(node);
  return s.ok() ? s : s.with_context(node.label());
}

Status resolve(ir::Graph& graph) {
  Status status;
  graph.for_each_node_deep([&](ir::Node* n) {
    if (!status.ok()) return;
    status = resolve(*n);
  });
  return status;
}

}  // namespace trunnion::ops
