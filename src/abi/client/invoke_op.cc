// Operators of the engine called by hand, from inside a custom operator: CreateOp, InvokeOp.
#include <cstring>

#include "abi/kernel_handles.h"
#include "abi/slots.h"
#include "ops/catalog.h"

namespace trunnion::abi {
namespace {

Result<std::unique_ptr<const OrtOp::Prepared>> prepare(const OrtOp& op, std::span<const OrtValue* const> inputs) {
  auto p = std::make_unique<OrtOp::Prepared>();
  p->graph = std::make_unique<ir::Graph>();
  std::vector<ir::Value*> edges;
  for (size_t i = 0; i < inputs.size(); ++i) {
    p->types.push_back(inputs[i] && inputs[i]->value.is_tensor() ? inputs[i]->value.tensor().dtype()
                                                                 : DType::undefined);
    ir::Fact fact;
    if (inputs[i] && inputs[i]->value.has_value()) fact.type = inputs[i]->value.type();
    if (fact.type.is_tensor()) fact.type.shape.reset();
    edges.push_back(inputs[i] ? p->graph->add_input(fmt::format("i{}", i), std::move(fact)) : nullptr);
  }
  std::vector<std::string> names;
  for (int k = 0; k < op.outputs; ++k) names.push_back(fmt::format("o{}", k));
  const std::vector<std::string_view> outputs(names.begin(), names.end());
  ir::Node* node = p->graph->add_node(op.name, op.domain, op.version, edges, outputs, op.attributes);
  TRN_TRY(ops::resolve(*node));
  TRN_TRY(ops::can_run(*node));
  p->node = node;
  return std::unique_ptr<const OrtOp::Prepared>(std::move(p));
}

Result<const OrtOp::Prepared*> prepared_for(const OrtOp& op, std::span<const OrtValue* const> inputs) {
  const std::lock_guard lock(op.mutex);
  for (const auto& p : op.prepared) {
    bool same = p->types.size() == inputs.size();
    for (size_t i = 0; same && i < inputs.size(); ++i) {
      const bool tensor = inputs[i] && inputs[i]->value.is_tensor();
      same = p->types[i] == (tensor ? inputs[i]->value.tensor().dtype() : DType::undefined) &&
             (inputs[i] != nullptr) == (p->node->inputs()[i] != nullptr);
    }
    if (same) return p.get();
  }
  TRN_ASSIGN(auto made, prepare(op, inputs));
  op.prepared.push_back(std::move(made));
  return op.prepared.back().get();
}

Status copy_result(const Value& result, int k, OrtValue& to) {
  if (!to.value.is_tensor()) {
    to.value = result;
    return {};
  }
  if (!result.is_tensor()) return invalid_argument("output {} is no tensor, the value given for it is", k);
  const Tensor &from = result.tensor(), &into = to.value.tensor();
  if (from.dtype() != into.dtype() || from.shape() != into.shape())
    return invalid_argument("output {} is {} {}, the tensor given for it {} {}", k, dtype_name(from.dtype()),
                            shape_text(from.shape()), dtype_name(into.dtype()), shape_text(into.shape()));
  TRN_TRY(host_tensor(to));
  if (from.dtype() == DType::string)
    std::copy_n(from.data<std::string>(), from.count(), into.data<std::string>());
  else if (from.bytes())
    std::memcpy(into.raw(), from.raw(), from.bytes());
  return {};
}

}  // namespace

// The type constraints choose among kernels; here the types of the values do, when the operator is called.
ORT_FN(CreateOp, (const OrtKernelInfo* info, const char* op_name, const char* domain, int version,
                  const char** type_constraint_names, const ONNXTensorElementDataType* type_constraint_values,
                  int type_constraint_count, const OrtOpAttr* const* attr_values, int attr_count, int input_count,
                  int output_count, OrtOp** ort_op)) {
  TRN_REQUIRE(info, op_name, ort_op);
  if (type_constraint_count > 0) TRN_REQUIRE(type_constraint_names, type_constraint_values);
  if (attr_count > 0) {
    TRN_REQUIRE(attr_values);
    TRN_TRY(check_handles(attr_values, static_cast<size_t>(attr_count)));
  }
  if (input_count < 0 || output_count < 0)
    return invalid_argument("CreateOp: {} inputs and {} outputs", input_count, output_count);
  auto op = std::make_unique<OrtOp>();
  op->name = op_name;
  const std::string_view in = domain ? domain : "";
  op->domain = in == "ai.onnx" ? "" : in;
  op->version = version;
  op->inputs = input_count;
  op->outputs = output_count;
  for (int i = 0; i < attr_count; ++i) {
    if (!attr_values[i]) return invalid_argument("CreateOp: attribute {} is NULL", i);
    op->attributes.push_back(attr_values[i]->attr);
  }
  const ops::OpDef* def = ops::find_op(op->domain, op->name);
  if (!def || !def->kernel.make)
    return not_implemented("CreateOp: there is no kernel for operator {} of domain '{}'", op->name,
                           schema::domain_text(op->domain));
  *ort_op = op.release();
  return {};
}

ORT_FN(InvokeOp, (const OrtKernelContext* context, const OrtOp* ort_op, const OrtValue* const* input_values,
                  int input_count, OrtValue* const* output_values, int output_count)) {
  TRN_REQUIRE(context, ort_op);
  if (input_count > 0) TRN_REQUIRE(input_values);
  if (output_count > 0) TRN_REQUIRE(output_values);
  if (input_count != ort_op->inputs || output_count != ort_op->outputs)
    return invalid_argument("InvokeOp: {} was made with {} inputs and {} outputs, not {} and {}", ort_op->name,
                            ort_op->inputs, ort_op->outputs, input_count, output_count);
  const std::span<const OrtValue* const> inputs(input_values, static_cast<size_t>(input_count));
  TRN_TRY(check_handles(input_values, inputs.size()));
  TRN_TRY(check_handles(output_values, static_cast<size_t>(output_count)));
  std::vector<const Value*> values;
  for (const OrtValue* v : inputs) values.push_back(v ? &v->value : nullptr);
  TRN_ASSIGN(const OrtOp::Prepared* prepared, prepared_for(*ort_op, inputs));
  TRN_ASSIGN(const auto results, ops::evaluate(*prepared->node, values));
  for (int k = 0; k < output_count; ++k)
    if (output_values[k]) TRN_TRY(copy_result(results[static_cast<size_t>(k)], k, *output_values[k]));
  return {};
}

ORT_FN_AS(void, ReleaseOp, (OrtOp * op)) { delete op; }

}  // namespace trunnion::abi
