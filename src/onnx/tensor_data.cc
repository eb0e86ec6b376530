#include "onnx/tensor_data.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace trunnion::onnx {
namespace {

constexpr size_t kTold = size_t{64} << 10;  // TensorSource::copied hears of copies from this size on

constexpr std::string_view field_name(DataField field) {
  switch (field) {
    case DataField::float_data:
      return "float_data";
    case DataField::int32_data:
      return "int32_data";
    case DataField::int64_data:
      return "int64_data";
    case DataField::double_data:
      return "double_data";
    case DataField::uint64_data:
      return "uint64_data";
    case DataField::none:
      break;
  }
  return "no field";
}

// Where elements of a type are when they are not raw.
DataField field_of(DType type) {
  switch (type) {
    case DType::f32:
    case DType::c64:
      return DataField::float_data;
    case DType::f64:
    case DType::c128:
      return DataField::double_data;
    case DType::i64:
      return DataField::int64_data;
    case DType::u32:
    case DType::u64:
      return DataField::uint64_data;
    case DType::string:
    case DType::undefined:
      return DataField::none;
    default:
      return DataField::int32_data;
  }
}

template <class T>
void read_varints(Bytes bytes, void* out) {
  T* to = static_cast<T*>(out);
  const std::byte* at = bytes.data();
  const std::byte* end = at + bytes.size();
  uint64_t value;
  while (at != end && read_varint(at, end, value)) *to++ = static_cast<T>(value);
}

class TensorDecoder {
 public:
  TensorDecoder(const TensorProtoView& tensor, const TensorSource& source, bool any_alignment)
      : t_(tensor), source_(source), any_alignment_(any_alignment) {}

  Result<Tensor> decode() {
    const auto type = dtype_from_code(t_.data_type);
    if (!type) return invalid_graph("{}: its element type {} is not known", name(), t_.data_type);
    type_ = *type;
    for (int64_t d : t_.dims)
      if (d < 0) return invalid_graph("{} has the negative dimension {} in its shape {}", name(), d, shape());
    count_ = element_count(t_.dims);
    const auto bytes = storage_bytes(type_, count_);
    if (count_ < 0 || !bytes) return invalid_graph("{}: the size of its shape {} overflows", name(), shape());
    bytes_ = *bytes;
    if (t_.has_segment) return not_implemented("{} is stored in segments", name());
    TRN_TRY(check_one_source());
    if (t_.external) return external();
    if (type_ == DType::string) return strings();
    if (has_raw() || count_ == 0) return raw();
    return typed();
  }

 private:
  std::string name() const { return t_.name.empty() ? "a tensor without name" : fmt::format("tensor '{}'", t_.name); }
  std::string shape() const { return shape_text(t_.dims); }
  bool has_raw() const { return !t_.raw_data.empty(); }

  Status mismatch(std::string_view where, size_t found, std::string_view unit, uint64_t expected) const {
    return invalid_graph("{} of type {} and shape {} needs {} {}, but {} holds {} (size mismatch)", name(),
                         dtype_name(type_), shape(), expected, unit, where, found);
  }

  Status check_one_source() const {
    const int sources = has_raw() + !t_.data.empty() + !t_.string_data.empty() + t_.external;
    if (sources > 1) return invalid_graph("{} has its data in more than one place", name());
    return {};
  }

  Result<Tensor> external() {
    if (type_ == DType::string) return invalid_graph("{}: strings cannot be external data", name());
    if (count_ == 0) return Tensor::allocate(type_, t_.dims);
    if (!source_.external)
      return invalid_graph("{} has external data, but the model was not loaded from a file and no folder was given",
                           name());
    TRN_ASSIGN(const ExternalData::Range range, source_.external->find(t_, bytes_));
    return borrow_or_copy(range.bytes, range.keep_alive);
  }

  Result<Tensor> strings() {
    if (has_raw() || !t_.data.empty()) return invalid_graph("{}: strings must be in string_data", name());
    if (t_.string_data.size() != static_cast<uint64_t>(count_))
      return mismatch("string_data", t_.string_data.size(), "elements", static_cast<uint64_t>(count_));
    TRN_ASSIGN(Tensor out, Tensor::allocate(type_, t_.dims));
    std::copy(t_.string_data.begin(), t_.string_data.end(), out.data<std::string>());
    return out;
  }

  Result<Tensor> raw() {
    if (!t_.data.empty() || !t_.string_data.empty())  // no elements, but data
      return mismatch(field_name(t_.data_field), t_.data.bytes().size() + t_.string_data.size(), "bytes", 0);
    if (t_.raw_data.size() != bytes_) return mismatch("raw_data", t_.raw_data.size(), "bytes", bytes_);
    return borrow_or_copy(t_.raw_data, source_.keep_alive);
  }

  Result<Tensor> borrow_or_copy(Bytes bytes, const std::shared_ptr<const void>& keep_alive) {
    const size_t alignment = std::clamp<size_t>(size_of(type_), 1, 8);
    const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0 ||
                         (any_alignment_ && type_ == DType::f32 && bytes.size() >= kTold);
    // A bool other than 0 and 1 must not reach C++ code.
    const bool clean = type_ != DType::boolean || std::all_of(bytes.begin(), bytes.end(),
                                                              [](std::byte b) { return static_cast<uint8_t>(b) <= 1; });
    if (keep_alive && aligned && clean && !bytes.empty())
      return Tensor::borrow(type_, t_.dims, const_cast<std::byte*>(bytes.data()), keep_alive);
    TRN_ASSIGN(Tensor out, Tensor::allocate(type_, t_.dims));
    if (!bytes.empty()) std::memcpy(out.raw(), bytes.data(), bytes.size());
    if (source_.copied && bytes.size() >= kTold) source_.copied(bytes);
    if (!clean) to_bool(static_cast<uint8_t*>(out.raw()));
    return out;
  }

  void to_bool(uint8_t* p) const {
    for (int64_t i = 0; i < count_; ++i) p[i] = p[i] != 0;
  }

  Result<Tensor> typed() {
    const DataField field = field_of(type_);
    if (!t_.string_data.empty() || (t_.data_field != field && !t_.data.empty()))
      return invalid_graph("{} of type {} must have its elements in {} or raw_data, not in {}", name(),
                           dtype_name(type_), field_name(field),
                           t_.data.empty() ? "string_data" : field_name(t_.data_field));
    const Bytes bytes = t_.data.bytes();
    if (field == DataField::float_data || field == DataField::double_data) {
      const size_t unit = field == DataField::float_data ? 4 : 8;  // a complex number is two of them
      if (bytes.size() != bytes_) return mismatch(field_name(field), bytes.size() / unit, "elements", bytes_ / unit);
      return borrow_or_copy(bytes, nullptr);  // the runs may be joined in memory of the view
    }
    const uint64_t expected = is_sub_byte(type_) ? bytes_ : static_cast<uint64_t>(count_);
    if (const size_t found = t_.data.varint_count(); found != expected)
      return mismatch(field_name(field), found, "elements", expected);
    TRN_ASSIGN(Tensor out, Tensor::allocate(type_, t_.dims));
    switch (is_sub_byte(type_) ? 1 : size_of(type_)) {
      case 1:
        read_varints<uint8_t>(bytes, out.raw());
        break;
      case 2:
        read_varints<uint16_t>(bytes, out.raw());
        break;
      case 4:
        read_varints<uint32_t>(bytes, out.raw());
        break;
      default:
        read_varints<uint64_t>(bytes, out.raw());
        break;
    }
    if (type_ == DType::boolean) to_bool(static_cast<uint8_t*>(out.raw()));
    return out;
  }

  const TensorProtoView& t_;
  const TensorSource& source_;
  bool any_alignment_;
  DType type_ = DType::undefined;
  int64_t count_ = 0;
  uint64_t bytes_ = 0;
};

// Position of the n-th stored element in the dense tensor; -1 when its indices are outside.
int64_t dense_position(const SparseTensor& s, int64_t n) {
  const int64_t* indices = s.indices.data<int64_t>();
  const auto total = element_count(s.dense_shape);
  if (s.indices.rank() == 1) return indices[n] >= 0 && indices[n] < total ? indices[n] : -1;
  const auto rank = static_cast<int64_t>(s.dense_shape.size());
  int64_t position = 0;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t index = indices[n * rank + i];
    const int64_t dim = s.dense_shape[static_cast<size_t>(i)];
    if (index < 0 || index >= dim) return -1;
    position = position * dim + index;
  }
  return position;
}

}  // namespace

Result<Tensor> decode_tensor(const TensorProtoView& tensor, const TensorSource& source, bool initializer) {
  return TensorDecoder(tensor, source, initializer && source.any_alignment).decode();
}

Result<SparseTensor> decode_sparse_tensor(const SparseTensorView& sparse, const TensorSource& source) {
  const std::string_view name = sparse.values.name;
  SparseTensor out;
  TRN_ASSIGN(out.values, decode_tensor(sparse.values, source));
  TRN_ASSIGN(out.indices, decode_tensor(sparse.indices, source));
  if (element_count(sparse.dims) < 0)
    return invalid_graph("sparse tensor '{}': shape {} has a negative dimension or overflows", name,
                         shape_text(sparse.dims));
  out.dense_shape = Shape(std::span<const int64_t>(sparse.dims));
  const auto rank = static_cast<int64_t>(sparse.dims.size());
  const Shape& indices = out.indices.shape();
  const bool fits = out.values.rank() == 1 && out.indices.dtype() == DType::i64 && rank > 0 && !indices.empty() &&
                    indices[0] == out.values.count() &&
                    (indices.size() == 1 || (indices.size() == 2 && indices[1] == rank));
  if (!fits)
    return invalid_graph("sparse tensor '{}' of shape {}: values of shape {} do not go with {} indices of shape {}",
                         name, shape_text(sparse.dims), shape_text(out.values.shape()), dtype_name(out.indices.dtype()),
                         shape_text(indices));
  if (bits_of(out.values.dtype()) < 8)
    return not_implemented("sparse tensor '{}' of type {}", name, dtype_name(out.values.dtype()));
  for (int64_t n = 0; n < out.values.count(); ++n)
    if (dense_position(out, n) < 0)
      return invalid_graph("sparse tensor '{}': index {} is outside of shape {}", name, n, shape_text(sparse.dims));
  return out;
}

Result<Tensor> densify(const SparseTensor& sparse) {
  const DType type = sparse.values.dtype();
  const auto bytes = storage_bytes(type, element_count(sparse.dense_shape));
  if (!bytes || *bytes > kMaxDenseBytes)
    return invalid_graph("a sparse tensor of shape {} is too large to be made dense", shape_text(sparse.dense_shape));
  TRN_ASSIGN(Tensor out, Tensor::allocate(type, sparse.dense_shape));
  const int64_t stored = sparse.values.count();
  if (type == DType::string) {
    for (int64_t n = 0; n < stored; ++n)
      out.data<std::string>()[dense_position(sparse, n)] = sparse.values.data<std::string>()[n];
    return out;
  }
  const size_t size = size_of(type);
  std::memset(out.raw(), 0, *bytes);
  for (int64_t n = 0; n < stored; ++n)
    std::memcpy(out.data<std::byte>() + static_cast<size_t>(dense_position(sparse, n)) * size,
                sparse.values.data<std::byte>() + static_cast<size_t>(n) * size, size);
  return out;
}

TensorProtoView view_tensor(std::string_view name, const Tensor& tensor) {
  TensorProtoView out;
  out.name = name;
  out.data_type = static_cast<int32_t>(tensor.dtype());
  out.dims.assign(tensor.shape().begin(), tensor.shape().end());
  if (tensor.dtype() == DType::string) {
    for (const std::string& s : tensor.span<std::string>()) out.string_data.push_back(s);
  } else {
    out.has_raw_data = true;
    out.raw_data = {tensor.data<std::byte>(), tensor.bytes()};
  }
  return out;
}

}  // namespace trunnion::onnx
