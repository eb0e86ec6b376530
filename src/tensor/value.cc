#include "tensor/value.h"

namespace trunnion {
namespace {
SymShape symbolic(const Shape& shape) { return SymShape(shape.begin(), shape.end()); }
}  // namespace

Value::Value(Sequence sequence) : kind_(Kind::sequence), rest_(std::make_shared<const Sequence>(std::move(sequence))) {}
Value::Value(Map map) : kind_(Kind::map), rest_(std::make_shared<const Map>(std::move(map))) {}
Value::Value(SparseTensor sparse)
    : kind_(Kind::sparse_tensor), rest_(std::make_shared<const SparseTensor>(std::move(sparse))) {}

Type Value::type() const {
  switch (kind_) {
    case Kind::tensor:
      return Type::tensor(tensor_.dtype(), symbolic(tensor_.shape()));
    case Kind::sequence:
      return Type::sequence(sequence().element);
    case Kind::map:
      return Type::map(map().keys.dtype(), Type::tensor(map().values.dtype()));
    case Kind::sparse_tensor: {
      Type t = Type::tensor(sparse().values.dtype(), symbolic(sparse().dense_shape));
      t.kind = Type::Kind::sparse_tensor;
      return t;
    }
    case Kind::none:
      break;
  }
  return {};
}

}  // namespace trunnion
