#include "run/stacker.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "run/packed.h"

namespace trunnion::run {

Status Stacker::grow(size_t bytes) {
  if (buffer_.valid() && bytes <= static_cast<size_t>(buffer_.count())) return {};
  size_t want = std::max<size_t>(bytes, buffer_.valid() ? 2 * static_cast<size_t>(buffer_.count()) : 0);
  constexpr size_t kAhead = size_t{64} << 20;
  if (!buffer_.valid() && expected_ > 0 && piece_bytes_ > 0)
    want = std::max(want, std::min(kAhead, piece_bytes_ * static_cast<size_t>(std::min<int64_t>(expected_, kAhead))));
  const int64_t dims[] = {static_cast<int64_t>(want)};
  auto bigger = Tensor::allocate(DType::u8, dims);
  if (!bigger.ok())
    return error(Code::fail, "Failed to allocate memory for {} stacked iterations ({} bytes)", pieces_ + 1, want);
  if (used_) std::memcpy(bigger->raw(), buffer_.raw(), used_);
  buffer_ = std::move(bigger).value();
  return {};
}

Status Stacker::add(const TensorView& piece) {
  if (pieces_ == 0) {
    dtype_ = piece.dtype;
    shape_ = Shape(piece.shape());
    piece_bytes_ = piece.dtype == DType::string ? 0
                   : is_sub_byte(dtype_) ? static_cast<size_t>(piece.count)  // one byte each until they are all there
                                         : piece.bytes();
  } else if (piece.dtype != dtype_ || shape_ != Shape(piece.shape())) {
    return invalid_argument(
        "iteration {} gave {} of type {}, the ones before gave {} of type {}: scan outputs must keep their shape",
        pieces_, shape_text(piece.shape()), dtype_name(piece.dtype), shape_text(shape_), dtype_name(dtype_));
  }
  if (dtype_ == DType::string) {
    const auto* s = piece.as<std::string>();
    strings_.insert(strings_.end(), s, s + piece.count);
  } else if (piece_bytes_) {
    TRN_TRY(grow(used_ + piece_bytes_));
    if (is_sub_byte(dtype_))
      for (int64_t i = 0; i < piece.count; ++i)
        buffer_.data<uint8_t>()[used_ + static_cast<size_t>(i)] = packed_get(piece.data, dtype_, i);
    else
      std::memcpy(buffer_.data<std::byte>() + used_, piece.data, piece_bytes_);
    used_ += piece_bytes_;
  }
  ++pieces_;
  return {};
}

Result<Tensor> Stacker::finish(int64_t axis, bool reverse, DType dtype, std::span<const int64_t> shape) && {
  if (pieces_ == 0) {
    dtype_ = dtype;
    shape_ = Shape(shape);
  }
  const auto rank = static_cast<int64_t>(shape_.size()) + 1;
  if (axis < -rank || axis >= rank)
    return invalid_argument("scan output axis {} is out of range for rank {}", axis, rank);
  if (axis < 0) axis += rank;
  Shape dims;
  for (int64_t i = 0; i < rank; ++i)
    dims.push_back(i == axis ? pieces_ : shape_[static_cast<size_t>(i < axis ? i : i - 1)]);
  if (axis == 0 && !reverse && dtype_ != DType::string && !is_sub_byte(dtype_) && used_ &&
      static_cast<size_t>(buffer_.count()) <= used_ + used_ / 2)
    return Tensor::borrow(dtype_, dims, buffer_.raw(), buffer_.keep_alive());

  TRN_ASSIGN(Tensor out, Tensor::allocate(dtype_, dims));
  if (is_sub_byte(dtype_) && out.bytes()) std::memset(out.raw(), 0, out.bytes());
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i < rank - 1; ++i) (i < axis ? outer : inner) *= shape_[static_cast<size_t>(i)];
  const size_t element = dtype_ == DType::string ? 0 : size_of(dtype_);
  for (int64_t p = 0; p < pieces_; ++p) {
    const int64_t to = reverse ? pieces_ - 1 - p : p;
    for (int64_t o = 0; o < outer; ++o) {
      const int64_t dst = (o * pieces_ + to) * inner, src = (p * outer + o) * inner;
      if (dtype_ == DType::string)
        std::move(strings_.begin() + src, strings_.begin() + src + inner, out.data<std::string>() + dst);
      else if (is_sub_byte(dtype_))
        for (int64_t i = 0; i < inner; ++i) packed_set(out.raw(), dtype_, dst + i, buffer_.data<uint8_t>()[src + i]);
      else if (inner)
        std::memcpy(out.data<std::byte>() + static_cast<size_t>(dst) * element,
                    buffer_.data<std::byte>() + static_cast<size_t>(src) * element,
                    static_cast<size_t>(inner) * element);
    }
  }
  return out;
}

}  // namespace trunnion::run
