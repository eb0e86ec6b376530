#include "ops/tensor/index_detail.h"

#include "kernels/copy.h"

namespace trunnion::ops {
namespace {

template <class I>
Status check(const I* index, int64_t n, int64_t size) {
  if (kernels::indices_valid(index, n, size)) return {};
  int64_t i = 0;
  while (index[i] >= -size && index[i] < size) ++i;
  return invalid_argument("index {} is out of range for an axis of size {}", index[i], size);
}

}  // namespace

Status check_element_indices(const ir::Facts& f, int axis) {
  if (!f.has_rank(1)) return {};
  TRN_TRY(expect_rank(f, 1, f.in(0).rank()));
  for (int d = 0; d < f.in(0).rank(); ++d) {
    const Dim &have = f.in(0).dim(d), &want = f.in(1).dim(d);
    if (d != axis && have.is_int() && want.is_int() && want.value() > have.value())
      return invalid_argument("indices of shape {} are longer than data of shape {} on axis {}",
                              shape_text(f.in(1).shape()), shape_text(f.in(0).shape()), d);
  }
  return {};
}

Status check_element_indices(std::span<const int64_t> data, std::span<const int64_t> indices, int axis) {
  bool good = data.size() == indices.size();
  for (size_t d = 0; good && d < data.size(); ++d) good = static_cast<int>(d) == axis || indices[d] <= data[d];
  if (!good)
    return invalid_argument("indices of shape {} do not fit data of shape {}", shape_text(indices), shape_text(data));
  return {};
}

Status check_indices(const TensorView& indices, int64_t size) {
  return indices.dtype == DType::i32 ? check(indices.as<const int32_t>(), indices.count, size)
                                     : check(indices.as<const int64_t>(), indices.count, size);
}

Result<std::vector<int64_t>> slice_offsets(const TensorView& data, const TensorView& indices, int batch_dims) {
  const int64_t width = indices.dim(indices.rank - 1);
  const int64_t tuples = product(indices.shape(), 0, indices.rank - 1);
  const int64_t batches = product(indices.shape(), 0, batch_dims);
  const int64_t per_batch = batches ? tuples / batches : 0;
  const Shape strides = row_major_strides(data.shape());
  const int64_t batch_stride = product(data.shape(), batch_dims, data.rank);
  const int64_t* index = indices.as<const int64_t>();
  std::vector<int64_t> offsets(static_cast<size_t>(tuples));
  for (int64_t k = 0; k < tuples; ++k) {
    int64_t at = k / per_batch * batch_stride;
    for (int64_t j = 0; j < width; ++j) {
      const int axis = batch_dims + static_cast<int>(j);
      const int64_t v = index[k * width + j], size = data.dim(axis);
      if (v < -size || v >= size)
        return invalid_argument("index {} is out of range for axis {} of size {}", v, axis, size);
      at += (v < 0 ? v + size : v) * strides[axis];
    }
    offsets[static_cast<size_t>(k)] = at;
  }
  return offsets;
}

}  // namespace trunnion::ops
