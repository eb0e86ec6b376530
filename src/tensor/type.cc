#include "tensor/type.h"

namespace trunnion {

Type Type::tensor(DType dtype, std::optional<SymShape> shape) {
  Type t;
  t.kind = Kind::tensor;
  t.dtype = dtype;
  t.shape = std::move(shape);
  return t;
}

Type Type::sequence(Type element) {
  Type t;
  t.kind = Kind::sequence;
  t.inner = std::make_shared<const Type>(std::move(element));
  return t;
}

Type Type::optional_of(Type element) {
  Type t;
  t.kind = Kind::optional;
  t.inner = std::make_shared<const Type>(std::move(element));
  return t;
}

Type Type::map(DType key, Type value) {
  Type t;
  t.kind = Kind::map;
  t.dtype = key;
  t.inner = std::make_shared<const Type>(std::move(value));
  return t;
}

std::string Type::text() const {
  const std::string element(dtype_name(dtype));
  const std::string inside = inner ? inner->text() : "undefined";
  switch (kind) {
    case Kind::tensor:
      return "tensor(" + element + ")";
    case Kind::sparse_tensor:
      return "sparse_tensor(" + element + ")";
    case Kind::sequence:
      return "seq(" + inside + ")";
    case Kind::optional:
      return "optional(" + inside + ")";
    case Kind::map:
      return "map(" + element + "," + inside + ")";
    case Kind::opaque:
      return "opaque";
    case Kind::unknown:
      break;
  }
  return "unknown";
}

bool same_kind(const Type& a, const Type& b) {
  if (a.kind == Type::Kind::unknown || b.kind == Type::Kind::unknown) return true;
  if (a.kind != b.kind) return false;
  if (a.dtype != DType::undefined && b.dtype != DType::undefined && a.dtype != b.dtype) return false;
  return !a.inner || !b.inner || same_kind(*a.inner, *b.inner);
}

}  // namespace trunnion
