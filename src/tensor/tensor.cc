#include "tensor/tensor.h"

#include "base/error.h"
#include "base/os.h"

namespace trunnion {

int64_t element_count(std::span<const int64_t> dims) {
  int64_t n = 1;
  bool overflow = false, zero = false;
  for (int64_t d : dims) {
    if (d < 0) return -1;
    if (d == 0) zero = true;
    if (!zero && __builtin_mul_overflow(n, d, &n)) overflow = true;
  }
  if (zero) return 0;
  return overflow ? -1 : n;
}

std::string shape_text(std::span<const int64_t> dims) { return fmt::format("{{{}}}", fmt::join(dims, ",")); }

Result<Tensor> Tensor::allocate(DType dtype, std::span<const int64_t> dims) {
  const int64_t count = element_count(dims);
  const auto bytes = storage_bytes(dtype, count);
  if (count < 0 || !bytes)
    return invalid_argument("shape {} of {} elements: the size overflows or a dimension is negative", shape_text(dims),
                            dtype_name(dtype));
  void* data = os::allocate(*bytes);
  if (!data)
    return error(Code::fail, "Failed to allocate memory for a tensor of {} with shape {} ({} bytes)", dtype_name(dtype),
                 shape_text(dims), *bytes);
  Tensor t;
  t.dtype_ = dtype;
  t.dims_ = Shape(dims);
  t.count_ = count;
  t.data_ = data;
  if (dtype == DType::string) {
    auto* strings = static_cast<std::string*>(data);
    std::uninitialized_default_construct_n(strings, count);
    t.keep_ = std::shared_ptr<const void>(data, [count](const void* p) {
      auto* s = static_cast<std::string*>(const_cast<void*>(p));
      std::destroy_n(s, count);
      os::release(s);
    });
  } else {
    t.keep_ = std::shared_ptr<const void>(data, [](const void* p) { os::release(const_cast<void*>(p)); });
  }
  return t;
}

Tensor Tensor::borrow(DType dtype, std::span<const int64_t> dims, void* data, std::shared_ptr<const void> keep_alive) {
  Tensor t;
  t.dtype_ = dtype;
  t.dims_ = Shape(dims);
  t.count_ = element_count(dims);
  t.data_ = data;
  t.keep_ = std::move(keep_alive);
  return t;
}

Tensor Tensor::reshaped(std::span<const int64_t> dims) const {
  TRN_ASSERT(element_count(dims) == count_);
  Tensor t = *this;
  t.dims_ = Shape(dims);
  return t;
}

}  // namespace trunnion
