// ShapeInferContext_*: what the shape inference of a custom operator sees and says.
#include "abi/kernel_handles.h"
#include "abi/slots.h"

namespace trunnion::abi {

Status infer_custom_shapes(const CustomOp& op, const ir::Node& node, ir::Facts& facts) {
  constexpr uint32_t kSince = 17;
  const OrtCustomOp& o = *op.op;
  if (o.version < kSince || !o.InferOutputShapeFn) return {};
  OrtShapeInferContext context;
  context.node = &node;
  context.facts = &facts;
  return guarded([&] { return from_ort(o.InferOutputShapeFn(&o, &context)); });
}

ORT_FN(ShapeInferContext_GetInputCount, (const OrtShapeInferContext* context, size_t* out)) {
  TRN_REQUIRE(context, out);
  *out = static_cast<size_t>(context->facts->inputs());
  return {};
}

// The context keeps what it gives.
ORT_FN(ShapeInferContext_GetInputTypeShape,
       (const OrtShapeInferContext* context, size_t index, OrtTensorTypeAndShapeInfo** info)) {
  TRN_REQUIRE(context, info);
  if (index >= static_cast<size_t>(context->facts->inputs()))
    return invalid_argument("there is no input {}: the operator has {}", index, context->facts->inputs());
  auto& made = const_cast<OrtShapeInferContext*>(context)->inputs[index];
  if (!made) {
    const int i = static_cast<int>(index);
    made = context->facts->has(i) && context->facts->in(i).type.is_tensor()
               ? make_tensor_info(context->facts->dtype(i), context->facts->in(i).type.shape)
               : make_tensor_info(DType::undefined, std::nullopt);
  }
  *info = const_cast<OrtTensorTypeAndShapeInfo*>(made.get());
  return {};
}

ORT_FN(ShapeInferContext_GetAttribute,
       (const OrtShapeInferContext* context, const char* attr_name, const OrtOpAttr** attr)) {
  TRN_REQUIRE(context, attr_name, attr);
  const ir::Attr* found = context->node->find_attr(attr_name);
  if (!found) return invalid_argument("the node has no attribute '{}'", attr_name);
  auto& made = const_cast<OrtShapeInferContext*>(context)->attributes[attr_name];
  made.attr = *found;
  *attr = &made;
  return {};
}

ORT_FN(ShapeInferContext_SetOutputTypeShape,
       (const OrtShapeInferContext* context, size_t index, const OrtTensorTypeAndShapeInfo* info)) {
  TRN_REQUIRE(context, info);
  if (index >= static_cast<size_t>(context->facts->outputs()))
    return invalid_argument("there is no output {}: the node has {}", index, context->facts->outputs());
  OrtTypeInfo type;
  type.type = ONNX_TYPE_TENSOR;
  type.tensor = std::make_shared<const OrtTensorTypeAndShapeInfo>(*info);
  ir::Fact& fact = context->facts->out(static_cast<int>(index));
  const DType before = fact.dtype();
  fact.type = type_of(type);
  // A shape without a type says nothing about the type.
  if (fact.type.dtype == DType::undefined) fact.type.dtype = before;
  return {};
}

}  // namespace trunnion::abi
