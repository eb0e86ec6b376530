#include "session/operators.h"

#include <map>
#include <vector>

#include "base/error.h"
#include "ops/catalog.h"
#include "passes/expand.h"
#include "schema/row.h"
#include "session/session.h"

namespace trunnion::session {
namespace {

struct Row {
  std::vector<int> versions;
  const ops::OpDef* def = nullptr;
  std::string_view own_signature;  // of operators outside ONNX
};

std::string names_json(DTypes types) {
  std::string s = "[";
  for (int code = 1; code < kDTypeCount; ++code)
    if (const auto t = static_cast<DType>(code); types.has(t))
      s += fmt::format("{}\"{}\"", s.size() > 1 ? "," : "", dtype_name(t));
  return s + "]";
}

// The signature of the newest version that is not a mere notice of deprecation.
const schema::Schema* newest_signature(std::string_view domain, std::string_view name,
                                       const std::vector<int>& versions) {
  for (auto v = versions.rbegin(); v != versions.rend(); ++v)
    if (const auto* s = schema::find(domain, name, *v); s && !s->deprecated) return s;
  return nullptr;
}

std::string row_json(std::string_view domain, std::string_view name, const Row& row) {
  Result<schema::Schema> own =
      row.own_signature.empty() ? Result<schema::Schema>(schema::Schema()) : schema::parse_row(row.own_signature);
  const schema::Schema* signature = row.own_signature.empty() ? newest_signature(domain, name, row.versions)
                                    : own.ok()                ? &*own
                                                              : nullptr;
  std::vector<int> versions = row.versions;
  if (versions.empty() && signature) versions.push_back(signature->since);

  const auto* newest = row.own_signature.empty() ? schema::find(domain, name, INT32_MAX) : nullptr;
  const bool computed = row.def && row.def->kernel.make && row.def->kernel.types.bits() != 0;
  const bool written_out = passes::expands(domain, name);
  const bool runs = computed || written_out || (row.def && row.def->flags.control_flow);
  std::string types = "null", missing = "[]";
  if (const int by = computed ? row.def->kernel.typed_by : -1; by >= 0) {
    const uint32_t have = row.def->kernel.types.bits();
    const auto* input = signature ? signature->input(static_cast<size_t>(by)) : nullptr;
    const uint32_t allowed = input ? input->types.tensors().bits() : have;
    types = names_json(DTypes::from_bits(allowed ? have & allowed : have));
    missing = names_json(DTypes::from_bits(allowed & ~have));
  }
  return fmt::format(
      "{{\"domain\":\"{}\",\"operator\":\"{}\",\"versions\":[{}],\"deprecated\":{},\"provider\":{},\"newest\":{},"
      "\"types\":{},\"missing_types\":{}}}",
      schema::domain_text(domain), name, fmt::join(versions, ","),
      newest && newest->deprecated ? std::to_string(newest->since) : "null", runs ? "\"CPUExecutionProvider\"" : "null",
      row.def && runs ? row.def->flags.reviewed
      : written_out   ? versions.back()
                      : 0,
      types, missing);
}

}  // namespace

std::string operators_json() {
  std::map<std::pair<std::string_view, std::string_view>, Row> rows;
  for (const std::string_view domain : schema::domains())
    for (const std::string_view name : schema::operators(domain))
      rows[{domain, name}] = {schema::versions(domain, name), ops::find_op(domain, name), {}};
  ops::for_each_op([&](const ops::OpDef& def) {
    constexpr std::string_view kInner = "trunnion";  // made by this engine's own passes
    if (!def.schema_row.empty() && def.domain != kInner) rows[{def.domain, def.name}] = {{}, &def, def.schema_row};
  });
  std::string text;
  for (const auto& [key, row] : rows) text += (text.empty() ? "[" : ",\n ") + row_json(key.first, key.second, row);
  return text + "]\n";
}

}  // namespace trunnion::session
