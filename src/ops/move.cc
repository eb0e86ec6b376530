#include "ops/move.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace trunnion::ops {
namespace {

void copy_string_rows(const std::string* src, std::string* dst, const kernels::CopyShape& s, int64_t begin,
                      int64_t end) {
  const int last = s.rank - 1;
  for (int64_t row = begin; row < end; ++row) {
    int64_t from = 0, to = 0, rest = row;
    for (int d = last - 1; d >= 0; --d) {
      const int64_t i = rest % s.dim[d];
      rest /= s.dim[d];
      from += i * s.src_stride[d];
      to += i * s.dst_stride[d];
    }
    for (int64_t i = 0; i < s.dim[last]; ++i) dst[to + i * s.dst_stride[last]] = src[from + i * s.src_stride[last]];
  }
}

}  // namespace

void copy_strided(KernelContext& ctx, const void* src, void* dst, kernels::CopyShape shape, DType type) {
  for (int d = 0; d < shape.rank; ++d)
    if (shape.dim[d] == 0) return;
  kernels::simplify(shape);
  const size_t size = size_of(type);
  if (shape.rank == 1) {  // one row: pieces of it
    ctx.parallel_for(shape.dim[0], move_grain(size), [&](int64_t begin, int64_t end) {
      kernels::CopyShape piece = shape;
      piece.dim[0] = end - begin;
      const void* from = element(src, begin * shape.src_stride[0], type);
      void* to = element(dst, begin * shape.dst_stride[0], type);
      if (type == DType::string)
        copy_string_rows(static_cast<const std::string*>(from), static_cast<std::string*>(to), piece, 0, 1);
      else
        kernels::copy_strided(from, to, piece, size, 0, 1);
    });
    return;
  }
  const int64_t row = std::max<int64_t>(shape.dim[shape.rank - 1], 1);
  const int64_t grain = std::max<int64_t>(1, move_grain(size) / row);
  ctx.parallel_for(kernels::copy_rows(shape), grain, [&](int64_t begin, int64_t end) {
    if (type == DType::string)
      copy_string_rows(static_cast<const std::string*>(src), static_cast<std::string*>(dst), shape, begin, end);
    else
      kernels::copy_strided(src, dst, shape, size, begin, end);
  });
}

void copy_elements(KernelContext& ctx, const void* src, void* dst, int64_t count, DType type) {
  if (src == dst || count == 0) return;
  if (type == DType::string) {
    std::copy_n(static_cast<const std::string*>(src), count, static_cast<std::string*>(dst));
    return;
  }
  const int64_t bytes = static_cast<int64_t>(*storage_bytes(type, count));
  ctx.parallel_for(bytes, 1 << 18, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<std::byte*>(dst) + begin, static_cast<const std::byte*>(src) + begin,
                static_cast<size_t>(end - begin));
  });
}

void fill_elements(KernelContext& ctx, void* dst, const void* value, int64_t count, DType type) {
  if (type == DType::string) {
    std::fill_n(static_cast<std::string*>(dst), count, *static_cast<const std::string*>(value));
    return;
  }
  if (is_sub_byte(type)) {  // one byte holds several equal elements; the last byte's spare bits stay 0
    const int bits = bits_of(type);
    const unsigned one = *static_cast<const uint8_t*>(value) & ((1u << bits) - 1);
    unsigned byte = 0;
    for (int at = 0; at < 8; at += bits) byte |= one << at;
    const size_t bytes = *storage_bytes(type, count);
    std::memset(dst, static_cast<int>(byte), bytes);
    const int64_t spare = static_cast<int64_t>(bytes) * (8 / bits) - count;
    if (spare > 0) static_cast<uint8_t*>(dst)[bytes - 1] = static_cast<uint8_t>(byte & (0xffu >> (spare * bits)));
    return;
  }
  ctx.parallel_for(count, move_grain(size_of(type)), [&](int64_t begin, int64_t end) {
    kernels::fill(element(dst, begin, type), value, static_cast<size_t>(end - begin), size_of(type));
  });
}

Result<TensorView> apart_from(const TensorView& out, const TensorView& in, Tensor& holder) {
  if (in.data != out.data || in.count == 0) return in;
  TRN_ASSIGN(holder, Tensor::allocate(in.dtype, in.shape()));
  if (in.dtype == DType::string)
    std::copy_n(in.as<const std::string>(), in.count, holder.data<std::string>());
  else
    std::memcpy(holder.raw(), in.data, in.bytes());
  return holder.view();
}

Status expect_copy_rank(int64_t rank) {
  if (rank > kernels::kMaxCopyDims)
    return not_implemented("rank {} is over {}, the largest that is supported", rank, kernels::kMaxCopyDims);
  return {};
}

Status ViewCopy::run(KernelContext& ctx) const {
  if (ctx.in(0).dtype == DType::undefined) {  // not a tensor: a sequence or an optional is handed on
    ctx.set_output(0, ctx.input_value(0));
    return {};
  }
  copy_elements(ctx, ctx.in(0).data, ctx.out(0).data, ctx.in(0).count, ctx.in(0).dtype);
  return {};
}

}  // namespace trunnion::ops
