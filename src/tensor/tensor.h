// Dense tensors at run time: Tensor (owns or borrows its bytes) and TensorView (what a kernel sees).
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/small_vector.h"
#include "base/status.h"
#include "tensor/dtype.h"

namespace trunnion {

// Concrete dimensions, outermost first. Rank 0 is a scalar.
using Shape = SmallVector<int64_t, 6>;

// Product of the dimensions; -1 when one is negative or the product overflows.
int64_t element_count(std::span<const int64_t> dims);

// "{2,3}", the form that ONNX Runtime's messages use.
std::string shape_text(std::span<const int64_t> dims);

// Borrowed view of a dense row-major tensor. Strings are std::string objects, sub-byte types are packed.
struct TensorView {
  DType dtype = DType::undefined;
  int32_t rank = 0;
  const int64_t* dims = nullptr;
  int64_t count = 0;  // elements
  void* data = nullptr;

  std::span<const int64_t> shape() const { return {dims, static_cast<size_t>(rank)}; }
  int64_t dim(int i) const { return dims[i]; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  size_t bytes() const { return *storage_bytes(dtype, count); }
};

// A dense tensor. Copying shares the bytes: a Tensor is written only by whoever just allocated it.
class Tensor {
 public:
  Tensor() = default;

  // Fresh, 64-byte aligned, uninitialised memory (strings are empty). Fails on overflow or lack of memory.
  static Result<Tensor> allocate(DType dtype, std::span<const int64_t> dims);

  // Borrows `data`, which must hold the elements and live as long as `keep_alive` (may be null: the caller's business).
  static Tensor borrow(DType dtype, std::span<const int64_t> dims, void* data, std::shared_ptr<const void> keep_alive);

  template <class T>
  static Result<Tensor> from(std::span<const int64_t> dims, std::span<const T> values) {
    auto t = allocate(DTypeOf<T>::value, dims);
    if (t.ok()) std::copy(values.begin(), values.end(), t->template data<T>());
    return t;
  }

  bool valid() const { return dtype_ != DType::undefined; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return dims_; }
  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t count() const { return count_; }
  size_t bytes() const { return valid() ? *storage_bytes(dtype_, count_) : 0; }
  void* raw() const { return data_; }
  template <class T>
  T* data() const {
    return static_cast<T*>(data_);
  }
  template <class T>
  std::span<T> span() const {
    return {static_cast<T*>(data_), static_cast<size_t>(count_)};
  }
  TensorView view() const { return {dtype_, static_cast<int32_t>(dims_.size()), dims_.data(), count_, data_}; }
  // The same bytes under other dimensions with the same element count.
  Tensor reshaped(std::span<const int64_t> dims) const;
  const std::shared_ptr<const void>& keep_alive() const { return keep_; }

 private:
  DType dtype_ = DType::undefined;
  Shape dims_;
  int64_t count_ = 0;
  void* data_ = nullptr;
  std::shared_ptr<const void> keep_;
};

}  // namespace trunnion
