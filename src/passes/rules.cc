#include "passes/rules.h"

#include <algorithm>

namespace trunnion::passes {
namespace {

template <class T>
bool all_are(const Tensor& t, T number) {
  const auto s = t.span<T>();
  return std::all_of(s.begin(), s.end(), [&](T v) { return v == number; });
}

}  // namespace

const Tensor* constant_input(const ir::Node& node, int i) {
  const ir::Value* v = node.input(i);
  return v && v->is_constant() ? &v->constant() : nullptr;
}

std::optional<std::vector<int64_t>> to_ints(const Tensor& t) {
  if (t.dtype() == DType::i64) return std::vector<int64_t>(t.span<int64_t>().begin(), t.span<int64_t>().end());
  if (t.dtype() == DType::i32) return std::vector<int64_t>(t.span<int32_t>().begin(), t.span<int32_t>().end());
  return std::nullopt;
}

std::optional<std::vector<int64_t>> ints_of(const ir::Node& node, std::string_view attr, int input) {
  if (node.has_attr(attr)) return node.ints(attr);
  const Tensor* t = constant_input(node, input);
  return t ? to_ints(*t) : std::nullopt;
}

bool all_elements_are(const Tensor& t, double number) {
  switch (t.dtype()) {
    case DType::f32:
      return all_are(t, static_cast<float>(number));
    case DType::f64:
      return all_are(t, number);
    case DType::i8:
      return all_are(t, static_cast<int8_t>(number));
    case DType::u8:
      return all_are(t, static_cast<uint8_t>(number));
    case DType::i16:
      return all_are(t, static_cast<int16_t>(number));
    case DType::u16:
      return all_are(t, static_cast<uint16_t>(number));
    case DType::i32:
      return all_are(t, static_cast<int32_t>(number));
    case DType::u32:
      return all_are(t, static_cast<uint32_t>(number));
    case DType::i64:
      return all_are(t, static_cast<int64_t>(number));
    case DType::u64:
      return all_are(t, static_cast<uint64_t>(number));
    case DType::f16:
    case DType::bf16: {
      const auto s = t.span<uint16_t>();
      if (number == 0) return std::all_of(s.begin(), s.end(), [](uint16_t v) { return (v & 0x7fff) == 0; });
      return number == 1 && all_are(t, static_cast<uint16_t>(t.dtype() == DType::f16 ? 0x3c00 : 0x3f80));
    }
    default:
      return false;
  }
}

bool same_shape(const ir::Fact& a, const ir::Fact& b) {
  return a.has_rank() && b.has_rank() &&
         std::equal(a.shape().begin(), a.shape().end(), b.shape().begin(), b.shape().end());
}

bool same_type(const ir::Fact& a, const ir::Fact& b) {
  return a.type.is_tensor() && b.type.is_tensor() && a.dtype() == b.dtype() && a.dtype() != DType::undefined &&
         same_shape(a, b);
}

Result<Tensor> int64_tensor(std::span<const int64_t> values) {
  const int64_t dims[] = {static_cast<int64_t>(values.size())};
  return Tensor::from<int64_t>(dims, values);
}

std::optional<std::vector<int64_t>> normal_axes(std::vector<int64_t> axes, int rank) {
  for (int64_t& a : axes) {
    if (a < 0) a += rank;
    if (a < 0 || a >= rank) return std::nullopt;
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) return std::nullopt;
  return axes;
}

}  // namespace trunnion::passes
