// TensorProto <-> Tensor: the rules of onnx.proto for where the elements of each type are and how they are packed.
#pragma once
#include <functional>
#include <memory>
#include <string_view>

#include "base/status.h"
#include "onnx/external_data.h"
#include "onnx/model_view.h"
#include "tensor/tensor.h"
#include "tensor/value.h"

namespace trunnion::onnx {

// Where the bytes behind the views come from.
struct TensorSource {
  std::shared_ptr<const void> keep_alive;  // of the model's bytes; null: they will go away, so everything is copied
  ExternalData* external = nullptr;        // null: tensors with external data are an error
  std::function<void(Bytes)> copied;       // optional; called for large parts of the bytes that nobody reads again
  bool any_alignment = false;              // large f32 initializers are borrowed from whatever byte they begin at
};

// Raw and external data that is aligned for its element type is borrowed (it must not be written), everything else is
// copied. Errors name the tensor, its shape, and the expected and found counts; nothing is allocated before they agree.
// `initializer`: TensorSource::any_alignment holds for it.
Result<Tensor> decode_tensor(const TensorProtoView& tensor, const TensorSource& source, bool initializer = false);

// In coordinate form, indices checked against the shape.
Result<SparseTensor> decode_sparse_tensor(const SparseTensorView& sparse, const TensorSource& source);

// The dense tensor with zeros (or empty strings) elsewhere; for sparse initializers. At most kMaxDenseBytes: a small
// file can name a shape of any size.
inline constexpr size_t kMaxDenseBytes = size_t{4} << 30;
Result<Tensor> densify(const SparseTensor& sparse);

// A view of the tensor for writing. Borrows its elements and the name.
TensorProtoView view_tensor(std::string_view name, const Tensor& tensor);

}  // namespace trunnion::onnx
