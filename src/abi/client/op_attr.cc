// OrtOpAttr: an attribute of an operator.
#include <cstring>

#include "abi/model_handles.h"
#include "abi/slots.h"

namespace trunnion::abi {
namespace {

using ir::Attr;

template <class T>
std::span<const T> array(const void* data, size_t count) {
  return {static_cast<const T*>(data), count};
}

// *out becomes the size; the bytes are copied when they fit.
Status copy_out(const void* from, size_t bytes, void* data, size_t len, size_t* out) {
  *out = bytes;
  if (bytes > len) return invalid_argument("the attribute has {} bytes, the buffer {}", bytes, len);
  if (!bytes) return {};
  TRN_REQUIRE(data);
  std::memcpy(data, from, bytes);
  return {};
}

template <class T>
Status copy_array(const std::vector<T>& from, void* data, size_t len, size_t* out) {
  return copy_out(from.data(), from.size() * sizeof(T), data, len, out);
}

OrtOpAttrType ort_attr_type(const Attr& attr) {
  switch (attr.type()) {
    case ir::AttrType::f:
      return ORT_OP_ATTR_FLOAT;
    case ir::AttrType::i:
      return ORT_OP_ATTR_INT;
    case ir::AttrType::s:
      return ORT_OP_ATTR_STRING;
    case ir::AttrType::t:
      return ORT_OP_ATTR_TENSOR;
    case ir::AttrType::g:
      return ORT_OP_ATTR_GRAPH;
    case ir::AttrType::floats:
      return ORT_OP_ATTR_FLOATS;
    case ir::AttrType::ints:
      return ORT_OP_ATTR_INTS;
    case ir::AttrType::strings:
      return ORT_OP_ATTR_STRINGS;
    default:
      return ORT_OP_ATTR_UNDEFINED;
  }
}

}  // namespace

ORT_FN(CreateOpAttr, (const char* name, const void* data, int len, OrtOpAttrType type, OrtOpAttr** op_attr)) {
  TRN_REQUIRE(name, op_attr);
  if (len < 0) return invalid_argument("the length {} is negative", len);
  if (len) TRN_REQUIRE(data);
  const auto n = static_cast<size_t>(len);
  auto attr = std::make_unique<OrtOpAttr>();
  attr->attr.name = name;
  const bool single = type == ORT_OP_ATTR_INT || type == ORT_OP_ATTR_FLOAT;
  if (single && n != 1) return invalid_argument("attribute '{}' is one number, not {}", name, n);
  switch (type) {
    case ORT_OP_ATTR_INT:
      attr->attr.data = *static_cast<const int64_t*>(data);
      break;
    case ORT_OP_ATTR_FLOAT:
      attr->attr.data = *static_cast<const float*>(data);
      break;
    case ORT_OP_ATTR_STRING:
      attr->attr.data = std::string(static_cast<const char*>(data), n);
      break;
    case ORT_OP_ATTR_INTS: {
      const auto values = array<int64_t>(data, n);
      attr->attr.data = Attr::Ints(values.begin(), values.end());
      break;
    }
    case ORT_OP_ATTR_FLOATS: {
      const auto values = array<float>(data, n);
      attr->attr.data = Attr::Floats(values.begin(), values.end());
      break;
    }
    case ORT_OP_ATTR_STRINGS: {
      Attr::Strings strings;
      for (const char* s : array<const char*>(data, n)) strings.emplace_back(s ? s : "");
      attr->attr.data = std::move(strings);
      break;
    }
    default:
      return error(Code::fail, "an attribute of type {} cannot be made", static_cast<int>(type));
  }
  *op_attr = attr.release();
  return {};
}

ORT_FN_AS(void, ReleaseOpAttr, (OrtOpAttr * attr)) { delete attr; }

ORT_FN(ReadOpAttr, (const OrtOpAttr* op_attr, OrtOpAttrType type, void* data, size_t len, size_t* out)) {
  TRN_REQUIRE(op_attr, out);
  const Attr& a = op_attr->attr;
  if (ort_attr_type(a) != type)
    return invalid_argument("attribute '{}' is of type {}, not {}", a.name, static_cast<int>(ort_attr_type(a)),
                            static_cast<int>(type));
  switch (type) {
    case ORT_OP_ATTR_INT:
      return copy_out(a.get<int64_t>(), sizeof(int64_t), data, len, out);
    case ORT_OP_ATTR_FLOAT:
      return copy_out(a.get<float>(), sizeof(float), data, len, out);
    case ORT_OP_ATTR_STRING:
      return copy_out(a.get<std::string>()->data(), a.get<std::string>()->size(), data, len, out);
    case ORT_OP_ATTR_INTS:
      return copy_array(*a.get<Attr::Ints>(), data, len, out);
    case ORT_OP_ATTR_FLOATS:
      return copy_array(*a.get<Attr::Floats>(), data, len, out);
    case ORT_OP_ATTR_STRINGS: {  // one after the other, each with its zero
      std::string all;
      for (const auto& s : *a.get<Attr::Strings>()) all.append(s.c_str(), s.size() + 1);
      return copy_out(all.data(), all.size(), data, len, out);
    }
    default:
      return not_implemented("attributes of type {} cannot be read this way", static_cast<int>(type));
  }
}

ORT_FN(OpAttr_GetType, (const OrtOpAttr* attribute, OrtOpAttrType* type)) {
  TRN_REQUIRE(attribute, type);
  *type = ort_attr_type(attribute->attr);
  return {};
}

ORT_FN(OpAttr_GetName, (const OrtOpAttr* attribute, const char** name)) {
  TRN_REQUIRE(attribute, name);
  *name = attribute->attr.name.c_str();
  return {};
}

ORT_FN(OpAttr_GetTensorAttributeAsOrtValue, (const OrtOpAttr* attribute, OrtValue** attr_tensor)) {
  TRN_REQUIRE(attribute, attr_tensor);
  const Tensor* tensor = attribute->attr.get<Tensor>();
  if (!tensor) return invalid_argument("attribute '{}' is not a tensor", attribute->attr.name);
  *attr_tensor = new OrtValue{*tensor, nullptr};
  return {};
}

}  // namespace trunnion::abi
