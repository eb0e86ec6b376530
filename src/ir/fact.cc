#include "ir/fact.h"

#include <bit>
#include <cmath>

namespace trunnion::ir {
namespace {

template <class T>
std::vector<Dim> widen(const Tensor& t) {
  std::vector<Dim> out;
  out.reserve(static_cast<size_t>(t.count()));
  for (T v : t.span<T>()) out.emplace_back(static_cast<int64_t>(v));
  return out;
}

std::optional<std::vector<Dim>> integers(const Tensor& t) {
  switch (t.dtype()) {
    case DType::i64:
      return widen<int64_t>(t);
    case DType::i32:
      return widen<int32_t>(t);
    case DType::u8:
      return widen<uint8_t>(t);
    case DType::i8:
      return widen<int8_t>(t);
    case DType::i16:
      return widen<int16_t>(t);
    case DType::u16:
      return widen<uint16_t>(t);
    case DType::u32:
      return widen<uint32_t>(t);
    case DType::boolean:
      return widen<uint8_t>(t);
    default:
      return std::nullopt;
  }
}

float half_to_float(uint16_t h) {
  const int exponent = h >> 10 & 31, mantissa = h & 1023;
  const float sign = h & 0x8000 ? -1.f : 1.f;
  if (exponent == 31) return mantissa ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(1.f + mantissa / 1024.f, exponent - 15) : std::ldexp(mantissa / 1024.f, -14));
}

}  // namespace

Fact Fact::of(const Tensor& tensor) {
  Fact f = Fact::tensor(tensor.dtype(), SymShape(tensor.shape().begin(), tensor.shape().end()));
  if (tensor.rank() <= 1 && tensor.count() <= kMaxContent) f.content = integers(tensor);
  return f;
}

std::optional<Shape> Fact::concrete() const {
  if (!has_rank()) return std::nullopt;
  Shape s;
  for (const auto& d : shape()) {
    if (!d.is_int()) return std::nullopt;
    s.push_back(d.value());
  }
  return s;
}

std::optional<std::vector<Dim>> Facts::dims(int i) const {
  if (!has(i)) return std::nullopt;
  if (const Tensor* t = constant(i)) return integers(*t);
  return in(i).content;
}

std::optional<std::vector<int64_t>> Facts::ints(int i) const {
  auto symbolic = dims(i);
  if (!symbolic) return std::nullopt;
  std::vector<int64_t> out;
  out.reserve(symbolic->size());
  for (const auto& d : *symbolic) {
    if (!d.is_int()) return std::nullopt;
    out.push_back(d.value());
  }
  return out;
}

std::optional<double> Facts::number(int i) const {
  const Tensor* t = constant(i);
  if (t && t->count() > 0) {
    switch (t->dtype()) {
      case DType::f32:
        return *t->data<float>();
      case DType::f64:
        return *t->data<double>();
      case DType::f16:
        return half_to_float(*t->data<uint16_t>());
      case DType::bf16:
        return std::bit_cast<float>(static_cast<uint32_t>(*t->data<uint16_t>()) << 16);
      default:
        break;
    }
  }
  if (auto values = ints(i); values && !values->empty()) return static_cast<double>((*values)[0]);
  return std::nullopt;
}

}  // namespace trunnion::ir
