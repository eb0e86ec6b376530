#include "ops/ml/lookup_detail.h"

#include <bit>
#include <cmath>
#include <limits>

#include "ops/dispatch.h"

namespace trunnion::ops {
namespace {

constexpr DTypes kNumbers = DType::i64 | DType::i32 | DType::i16 | DType::f32 | DType::f64;

int64_t float_key(double v) {
  if (std::isnan(v)) v = std::numeric_limits<double>::quiet_NaN();
  return std::bit_cast<int64_t>(v == 0 ? 0.0 : v);
}

template <class T>
Tensor copy_of(const std::vector<T>& v, DType type) {
  const int64_t dims[] = {static_cast<int64_t>(v.size())};
  auto t = Tensor::allocate(type, dims);
  if (!t.ok()) return {};
  std::copy(v.begin(), v.end(), t->template data<T>());
  return *t;
}

}  // namespace

Result<Lookup> Lookup::make(const Tensor& keys) {
  Lookup l;
  l.type_ = keys.dtype();
  if (!kLookupTypes.has(l.type_)) return not_implemented("keys of type {}", dtype_name(l.type_));
  if (l.type_ == DType::string) {
    for (int64_t i = 0; i < keys.count(); ++i) l.texts_[keys.data<std::string>()[i]] = i;
    return l;
  }
  TRN_TRY(dispatch<kNumbers.bits()>(l.type_, [&]<class T>() {
    for (int64_t i = 0; i < keys.count(); ++i) {
      const T v = keys.data<T>()[i];
      l.numbers_[std::is_floating_point_v<T> ? float_key(static_cast<double>(v)) : static_cast<int64_t>(v)] = i;
    }
  }));
  return l;
}

int64_t Lookup::find(const std::string& key) const {
  const auto it = texts_.find(key);
  return it == texts_.end() ? -1 : it->second;
}

int64_t Lookup::find(int64_t key) const {
  const auto it = numbers_.find(key);
  return it == numbers_.end() ? -1 : it->second;
}

Status Lookup::find(const TensorView& x, int64_t begin, int64_t end, int64_t* position, bool cast) const {
  if ((x.dtype == DType::string) != (type_ == DType::string) || (!cast && x.dtype != type_))
    return invalid_argument("input 0 has type {}, the keys have type {}", dtype_name(x.dtype), dtype_name(type_));
  if (x.dtype == DType::string) {
    for (int64_t i = begin; i < end; ++i) position[i - begin] = find(x.as<const std::string>()[i]);
    return {};
  }
  return dispatch<kNumbers.bits()>(x.dtype, [&]<class T>() {
    const T* from = x.as<const T>();
    const bool floats = is_float(type_);
    for (int64_t i = begin; i < end; ++i)
      position[i - begin] = find(floats ? float_key(static_cast<double>(from[i])) : to_int64(from[i]));
  });
}

Tensor vector_of(const std::vector<int64_t>& v) { return copy_of(v, DType::i64); }
Tensor vector_of(const std::vector<float>& v) { return copy_of(v, DType::f32); }
Tensor vector_of(const std::vector<std::string>& v) { return copy_of(v, DType::string); }

}  // namespace trunnion::ops
