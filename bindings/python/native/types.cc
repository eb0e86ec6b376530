// Reading OrtTypeInfo, which nests, into a tree of our own.
#include "types.h"

namespace trunnion::python {
namespace {

void read_tensor(const OrtTensorTypeAndShapeInfo* info, TypeNode& node) {
  check(ort->GetTensorElementType(info, &node.element));
  size_t rank = 0;
  check(ort->GetDimensionsCount(info, &rank));
  node.dims.resize(rank);
  check(ort->GetDimensions(info, node.dims.data(), rank));
  std::vector<const char*> names(rank, nullptr);
  check(ort->GetSymbolicDimensions(info, names.data(), rank));
  for (const char* name : names) node.symbols.emplace_back(name ? name : "");
}

std::unique_ptr<TypeNode> read_inner(OrtTypeInfo* owned) {
  const TypeInfoPtr info(owned);
  return std::make_unique<TypeNode>(parse_type(info.get()));
}

}  // namespace

TypeNode parse_type(const OrtTypeInfo* info) {
  TypeNode node;
  check(ort->GetOnnxTypeFromTypeInfo(info, &node.kind));
  OrtTypeInfo* inner = nullptr;
  switch (node.kind) {
    case ONNX_TYPE_TENSOR:
    case ONNX_TYPE_SPARSETENSOR: {
      const OrtTensorTypeAndShapeInfo* tensor = nullptr;
      check(ort->CastTypeInfoToTensorInfo(info, &tensor));
      if (tensor) read_tensor(tensor, node);
      break;
    }
    case ONNX_TYPE_SEQUENCE: {
      const OrtSequenceTypeInfo* sequence = nullptr;
      check(ort->CastTypeInfoToSequenceTypeInfo(info, &sequence));
      check(ort->GetSequenceElementType(sequence, &inner));
      node.inner = read_inner(inner);
      break;
    }
    case ONNX_TYPE_MAP: {
      const OrtMapTypeInfo* map = nullptr;
      check(ort->CastTypeInfoToMapTypeInfo(info, &map));
      check(ort->GetMapKeyType(map, &node.element));
      check(ort->GetMapValueType(map, &inner));
      node.inner = read_inner(inner);
      break;
    }
    case ONNX_TYPE_OPTIONAL: {
      const OrtOptionalTypeInfo* optional = nullptr;
      check(ort->CastTypeInfoToOptionalTypeInfo(info, &optional));
      check(ort->GetOptionalContainedTypeInfo(optional, &inner));
      node.inner = read_inner(inner);
      break;
    }
    default:
      break;
  }
  return node;
}

std::string type_text(const TypeNode& type) {
  switch (type.kind) {
    case ONNX_TYPE_TENSOR:
      return "tensor(" + std::string(element_row(type.element).name) + ")";
    case ONNX_TYPE_SPARSETENSOR:
      return "sparse_tensor(" + std::string(element_row(type.element).name) + ")";
    case ONNX_TYPE_SEQUENCE:
      return "seq(" + type_text(*type.inner) + ")";
    case ONNX_TYPE_MAP:
      return "map(" + std::string(element_row(type.element).name) + "," + type_text(*type.inner) + ")";
    case ONNX_TYPE_OPTIONAL:
      return "optional(" + type_text(*type.inner) + ")";
    default:
      return "unknown";
  }
}

nb::list shape_list(const TypeNode& type) {
  const TypeNode& node = type.kind == ONNX_TYPE_OPTIONAL ? *type.inner : type;
  nb::list shape;
  if (node.kind != ONNX_TYPE_TENSOR && node.kind != ONNX_TYPE_SPARSETENSOR) return shape;
  for (size_t i = 0; i < node.dims.size(); ++i) {
    if (node.dims[i] >= 0) {
      shape.append(nb::int_(node.dims[i]));
    } else if (!node.symbols[i].empty()) {
      shape.append(to_str(node.symbols[i]));
    } else {
      shape.append(nb::none());
    }
  }
  return shape;
}

}  // namespace trunnion::python
