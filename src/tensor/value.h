// A run-time value: what sessions take and give. Copying is cheap and shares the contents.
#pragma once
#include <memory>
#include <vector>

#include "tensor/tensor.h"
#include "tensor/type.h"

namespace trunnion {

class Value;

// An ONNX sequence. Contents are never changed once shared: operators copy the (cheap) elements into a new one.
struct Sequence {
  Type element;  // kind and dtype of the elements, also when empty
  std::vector<Value> items;
};

// An ONNX map as two tensors of rank 1 and equal length: keys (integers or strings) and values.
struct Map {
  Tensor keys;
  Tensor values;
};

struct SparseTensor {
  enum class Format : uint8_t { coo, csr, block_sparse };
  Format format = Format::coo;
  Shape dense_shape;
  Tensor values;
  Tensor indices;        // coo: [nnz] linear or [nnz, rank]; csr: inner; block_sparse: [2, blocks]
  Tensor outer_indices;  // csr only
};

class Value {
 public:
  enum class Kind : uint8_t { none, tensor, sequence, map, sparse_tensor };  // none: an empty optional, or nothing yet

  Value() = default;
  Value(Tensor tensor) : kind_(Kind::tensor), tensor_(std::move(tensor)) {}  // NOLINT: a tensor is a value
  explicit Value(Sequence sequence);
  explicit Value(Map map);
  explicit Value(SparseTensor sparse);

  Kind kind() const { return kind_; }
  bool has_value() const { return kind_ != Kind::none; }
  bool is_tensor() const { return kind_ == Kind::tensor; }
  const Tensor& tensor() const { return tensor_; }
  Tensor& tensor() { return tensor_; }
  const Sequence& sequence() const { return *std::static_pointer_cast<const Sequence>(rest_); }
  const Map& map() const { return *std::static_pointer_cast<const Map>(rest_); }
  const SparseTensor& sparse() const { return *std::static_pointer_cast<const SparseTensor>(rest_); }

  // The type that this value has, shapes included.
  Type type() const;

 private:
  Kind kind_ = Kind::none;
  Tensor tensor_;
  std::shared_ptr<const void> rest_;
};

}  // namespace trunnion
