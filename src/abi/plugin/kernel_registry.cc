#include "abi/plugin/kernel_registry.h"

#include <algorithm>
#include <array>
#include <climits>

#include "abi/slots.h"
#include "schema/schema.h"

namespace trunnion::abi {
namespace {

constexpr int kTypes = 32;  // codes of element types are below

OrtMemType memory_at(const std::map<size_t, OrtMemType>& map, size_t index) {
  const auto it = map.find(index);
  return it == map.end() ? OrtMemTypeDefault : it->second;
}

Status add_aliases(OrtKernelDefBuilder& builder, const int* inputs, const int* outputs, size_t count, bool writable) {
  for (size_t i = 0; i < count; ++i) {
    if (inputs[i] < 0 || outputs[i] < 0)
      return invalid_argument("alias {}: input {} and output {} are not both numbers from 0 on", i, inputs[i],
                              outputs[i]);
    builder.def.aliases.push_back({inputs[i], outputs[i], writable});
  }
  return {};
}

// A kernel without a last version is only for the version that it begins with: a later one may mean another thing.
bool has_version(const OrtKernelDef& def, int since) {
  return def.since_first == since || (def.since_last != INT_MAX && def.since_first <= since && since <= def.since_last);
}

bool takes(const std::vector<const OrtDataType*>& types, const ir::Value* v) {
  if (!v) return true;
  return v->fact.type.kind == Type::Kind::tensor &&
         std::ranges::any_of(types, [&](const OrtDataType* t) { return t->type == v->fact.dtype(); });
}

// The name stands for a type parameter of the operator, or for one input or output. Unknown names bind nothing.
bool fits(const ir::Node& node, std::string_view name, const std::vector<const OrtDataType*>& types) {
  const schema::Schema& s = *node.schema;
  const auto named = [&](const schema::Param* p) {
    return p &&
           (p->name == name || (p->constraint >= 0 && s.constraints[static_cast<size_t>(p->constraint)].name == name));
  };
  for (size_t i = 0; i < node.inputs().size(); ++i)
    if (named(s.input(i)) && !takes(types, node.inputs()[i])) return false;
  for (size_t k = 0; k < node.outputs().size(); ++k)
    if (named(s.output(k)) && !takes(types, node.outputs()[k])) return false;
  return true;
}

}  // namespace

bool takes_host(const OrtKernelDef& def, size_t i) { return memory_at(def.input_memory, i) < OrtMemTypeDefault; }
bool gives_host(const OrtKernelDef& def, size_t i) { return memory_at(def.output_memory, i) < OrtMemTypeDefault; }

}  // namespace trunnion::abi

const OrtKernelRegistry::Entry* OrtKernelRegistry::find(const trunnion::ir::Node& node) const {
  if (!node.schema) return nullptr;
  const auto [begin, end] = by_op.equal_range(node.op_type());
  for (auto it = begin; it != end; ++it) {
    const Entry& e = kernels[it->second];
    const std::string_view domain = e.def->domain == "ai.onnx" ? std::string_view() : std::string_view(e.def->domain);
    if (domain != node.domain() || !trunnion::abi::has_version(*e.def, node.since())) continue;
    if (std::ranges::all_of(e.def->types, [&](const auto& t) { return trunnion::abi::fits(node, t.first, t.second); }))
      return &e;
  }
  return nullptr;
}

namespace trunnion::abi {

TABLE_FN(OrtEpApi, GetTensorDataType, (ONNXTensorElementDataType elem_type, const OrtDataType** out)) {
  TRN_REQUIRE(out);
  static const auto types = [] {
    std::array<OrtDataType, kTypes> all{};
    for (int i = 0; i < kTypes; ++i)
      all[static_cast<size_t>(i)].type = dtype_of(static_cast<ONNXTensorElementDataType>(i));
    return all;
  }();
  const auto code = static_cast<size_t>(elem_type);
  if (code >= types.size() || types[code].type == DType::undefined)
    return invalid_argument("{} is no element type", static_cast<int>(elem_type));
  *out = &types[code];
  return {};
}

TABLE_FN(OrtEpApi, CreateKernelRegistry, (OrtKernelRegistry * *kernel_registry)) {
  TRN_REQUIRE(kernel_registry);
  *kernel_registry = new OrtKernelRegistry();
  return {};
}
TABLE_FN_AS(void, OrtEpApi, ReleaseKernelRegistry, (OrtKernelRegistry * input)) { delete input; }

TABLE_FN(OrtEpApi, KernelRegistry_AddKernel,
         (OrtKernelRegistry * kernel_registry, const OrtKernelDef* kernel_def, OrtKernelCreateFunc kernel_create_func,
          void* kernel_create_func_state)) {
  TRN_REQUIRE(kernel_registry, kernel_def);
  if (!kernel_create_func) return invalid_argument("argument 'kernel_create_func' must not be NULL");
  kernel_registry->by_op.emplace(kernel_def->op_type, kernel_registry->kernels.size());
  kernel_registry->kernels.push_back(
      {std::make_unique<const OrtKernelDef>(*kernel_def), kernel_create_func, kernel_create_func_state});
  return {};
}

TABLE_FN(OrtEpApi, CreateKernelDefBuilder, (OrtKernelDefBuilder * *kernel_def_builder_out)) {
  TRN_REQUIRE(kernel_def_builder_out);
  *kernel_def_builder_out = new OrtKernelDefBuilder();
  return {};
}
TABLE_FN_AS(void, OrtEpApi, ReleaseKernelDefBuilder, (OrtKernelDefBuilder * input)) { delete input; }

TABLE_FN(OrtEpApi, KernelDefBuilder_SetOperatorType, (OrtKernelDefBuilder * kernel_def_builder, const char* op_type)) {
  TRN_REQUIRE(kernel_def_builder, op_type);
  kernel_def_builder->def.op_type = op_type;
  return {};
}
TABLE_FN(OrtEpApi, KernelDefBuilder_SetDomain, (OrtKernelDefBuilder * kernel_def_builder, const char* domain)) {
  TRN_REQUIRE(kernel_def_builder, domain);
  kernel_def_builder->def.domain = domain;
  return {};
}
TABLE_FN(OrtEpApi, KernelDefBuilder_SetSinceVersion,
         (OrtKernelDefBuilder * kernel_def_builder, int since_version_start, int since_version_end)) {
  TRN_REQUIRE(kernel_def_builder);
  if (since_version_start < 1 || since_version_end < since_version_start)
    return invalid_argument("{} to {} are no versions of an operator", since_version_start, since_version_end);
  kernel_def_builder->def.since_first = since_version_start;
  kernel_def_builder->def.since_last = since_version_end;
  return {};
}
TABLE_FN(OrtEpApi, KernelDefBuilder_SetExecutionProvider,
         (OrtKernelDefBuilder * kernel_def_builder, const char* ep_name)) {
  TRN_REQUIRE(kernel_def_builder, ep_name);
  kernel_def_builder->def.provider = ep_name;
  return {};
}
TABLE_FN(OrtEpApi, KernelDefBuilder_SetInputMemType,
         (OrtKernelDefBuilder * kernel_def_builder, size_t input_index, OrtMemType mem_type)) {
  TRN_REQUIRE(kernel_def_builder);
  kernel_def_builder->def.input_memory[input_index] = mem_type;
  return {};
}
TABLE_FN(OrtEpApi, KernelDefBuilder_SetOutputMemType,
         (OrtKernelDefBuilder * kernel_def_builder, size_t output_index, OrtMemType mem_type)) {
  TRN_REQUIRE(kernel_def_builder);
  kernel_def_builder->def.output_memory[output_index] = mem_type;
  return {};
}
TABLE_FN(OrtEpApi, KernelDefBuilder_AddTypeConstraint,
         (OrtKernelDefBuilder * kernel_def_builder, const char* arg_name, const OrtDataType* const* types,
          size_t num_types)) {
  TRN_REQUIRE(kernel_def_builder, arg_name, types);
  for (size_t i = 0; i < num_types; ++i) TRN_REQUIRE(types[i]);
  kernel_def_builder->def.types[arg_name].assign(types, types + num_types);
  return {};
}
TABLE_FN(OrtEpApi, KernelDefBuilder_AddInputOutputAliases,
         (OrtKernelDefBuilder * kernel_def_builder, const int* input_indices, const int* output_indices,
          size_t num_io_indices)) {
  TRN_REQUIRE(kernel_def_builder, input_indices, output_indices);
  return add_aliases(*kernel_def_builder, input_indices, output_indices, num_io_indices, false);
}
TABLE_FN(OrtEpApi, KernelDefBuilder_AddInputOutputMutableAliases,
         (OrtKernelDefBuilder * kernel_def_builder, const int* input_indices, const int* output_indices,
          size_t num_io_indices)) {
  TRN_REQUIRE(kernel_def_builder, input_indices, output_indices);
  return add_aliases(*kernel_def_builder, input_indices, output_indices, num_io_indices, true);
}
TABLE_FN(OrtEpApi, KernelDefBuilder_Build, (OrtKernelDefBuilder * kernel_def_builder, OrtKernelDef** kernel_def_out)) {
  TRN_REQUIRE(kernel_def_builder, kernel_def_out);
  if (kernel_def_builder->def.op_type.empty()) return invalid_argument("the kernel names no operator");
  *kernel_def_out = new OrtKernelDef(kernel_def_builder->def);
  return {};
}
TABLE_FN_AS(void, OrtEpApi, ReleaseKernelDef, (OrtKernelDef * input)) { delete input; }

TABLE_FN_AS(const char*, OrtEpApi, KernelDef_GetOperatorType, (const OrtKernelDef* kernel_def)) {
  return kernel_def ? kernel_def->op_type.c_str() : nullptr;
}
TABLE_FN_AS(const char*, OrtEpApi, KernelDef_GetDomain, (const OrtKernelDef* kernel_def)) {
  return kernel_def ? kernel_def->domain.c_str() : nullptr;
}
TABLE_FN(OrtEpApi, KernelDef_GetSinceVersion, (const OrtKernelDef* kernel_def, int* start_version, int* end_version)) {
  TRN_REQUIRE(kernel_def, start_version, end_version);
  *start_version = kernel_def->since_first;
  *end_version = kernel_def->since_last;
  return {};
}
TABLE_FN_AS(const char*, OrtEpApi, KernelDef_GetExecutionProvider, (const OrtKernelDef* kernel_def)) {
  return kernel_def ? kernel_def->provider.c_str() : nullptr;
}
TABLE_FN(OrtEpApi, KernelDef_GetInputMemType,
         (const OrtKernelDef* kernel_def, size_t input_index, OrtMemType* mem_type)) {
  TRN_REQUIRE(kernel_def, mem_type);
  *mem_type = memory_at(kernel_def->input_memory, input_index);
  return {};
}
TABLE_FN(OrtEpApi, KernelDef_GetOutputMemType,
         (const OrtKernelDef* kernel_def, size_t output_index, OrtMemType* mem_type)) {
  TRN_REQUIRE(kernel_def, mem_type);
  *mem_type = memory_at(kernel_def->output_memory, output_index);
  return {};
}

}  // namespace trunnion::abi
