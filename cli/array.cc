#include "array.h"

#include <cstring>
#include <limits>

#include "engine.h"
#include "failure.h"

namespace trunnion::cli {
namespace {

struct ReleaseMemoryInfo {
  void operator()(OrtMemoryInfo* info) const { ort().ReleaseMemoryInfo(info); }
};

std::string number_text(double value) { return fmt::format("{:.6g}", value); }

std::string quoted(const std::string& text) {
  std::string s = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') s += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      s += fmt::format("\\x{:02x}", static_cast<int>(c));
    else
      s += c;
  }
  return s + '"';
}

}  // namespace

size_t element_count(const Shape& shape, const std::string& what) {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max() / 16);
  bool empty = false;
  for (const int64_t dimension : shape) {
    if (dimension < 0) unusable("{} has a negative dimension", what);
    empty |= dimension == 0;
  }
  if (empty) return 0;
  uint64_t count = 1;
  for (const int64_t dimension : shape) {
    if (static_cast<uint64_t>(dimension) > kMost / count) unusable("{} is too large: {}", what, shape_text(shape));
    count *= static_cast<uint64_t>(dimension);
  }
  return count;
}

Array make_array(DataType type, Shape shape, std::vector<std::byte> bytes) {
  Array array;
  array.type = type;
  array.count = element_count(shape);
  array.shape = std::move(shape);
  if (bytes.empty()) bytes.resize(1);  // an address even where there is nothing
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  array.data = std::shared_ptr<const std::byte>(owner, owner->data());
  return array;
}

Array make_array(Shape shape, std::vector<std::string> text) {
  Array array;
  array.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
  array.count = element_count(shape);
  array.shape = std::move(shape);
  array.text = std::move(text);
  return array;
}

Value to_value(const Array& array) {
  OrtValue* made = nullptr;
  if (array.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    OrtAllocator* allocator = nullptr;
    check(ort().GetAllocatorWithDefaultOptions(&allocator));
    check(ort().CreateTensorAsOrtValue(allocator, array.shape.data(), array.shape.size(), array.type, &made));
    Value value(made);
    for (size_t i = 0; i < array.count; ++i) {  // with their length: a text may hold zero bytes
      char* place = nullptr;
      check(ort().GetResizedStringTensorElementBuffer(made, i, array.text[i].size(), &place));
      if (!array.text[i].empty()) std::memcpy(place, array.text[i].data(), array.text[i].size());
    }
    return value;
  }
  OrtMemoryInfo* info = nullptr;
  check(ort().CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &info));
  const std::unique_ptr<OrtMemoryInfo, ReleaseMemoryInfo> owner(info);
  check(ort().CreateTensorWithDataAsOrtValue(info, const_cast<std::byte*>(array.data.get()),
                                             storage_bytes(array.type, array.count), array.shape.data(),
                                             array.shape.size(), array.type, &made));
  return Value(made);
}

Array from_value(std::shared_ptr<const Value> value) {
  Array array;
  array.type = value->element_type();
  array.shape = value->shape();
  array.count = value->count();
  if (array.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    array.text = value->strings();
    return array;
  }
  void* data = nullptr;
  check(ort().GetTensorMutableData(value->get(), &data));
  static constexpr std::byte kNothing{};
  array.data =
      std::shared_ptr<const std::byte>(std::move(value), data ? static_cast<const std::byte*>(data) : &kNothing);
  return array;
}

Array convert(const Array& array, DataType type, const std::string& what) {
  if (array.type == type) return array;
  const ElementFacts &from = element_facts(array.type), &to = element_facts(type);
  const bool complex = from.kind == ElementKind::complex;
  if (from.kind == ElementKind::text || to.kind == ElementKind::text || (complex && to.kind != ElementKind::complex) ||
      from.kind == ElementKind::none || to.kind == ElementKind::none)
    unusable("{} holds {}, needed is {}", what, from.name, to.name);
  std::vector<std::byte> bytes(storage_bytes(type, array.count));
  const std::byte* data = array.data.get();
  for (size_t i = 0; i < array.count; ++i) {
    const bool stored = is_integer(array.type) ? store_integer(type, bytes.data(), i, integer_at(array.type, data, i))
                                               : store_number(type, bytes.data(), i, number_at(array.type, data, i));
    if (!stored)
      unusable("{} holds {}, needed is {}, which cannot hold {}", what, from.name, to.name, element_text(array, i));
    if (complex) store_number(type, bytes.data(), i, number_at(array.type, data, i, 1), 1);
  }
  return make_array(type, array.shape, std::move(bytes));
}

std::string element_text(const Array& array, size_t i) {
  const std::byte* data = array.data.get();
  switch (element_facts(array.type).kind) {
    case ElementKind::text:
      return quoted(array.text[i]);
    case ElementKind::boolean:
      return integer_at(array.type, data, i) ? "true" : "false";
    case ElementKind::integer:
    case ElementKind::unsigned_integer:
      return fmt::format("{}", integer_at(array.type, data, i));
    case ElementKind::complex: {
      const double imaginary = number_at(array.type, data, i, 1);
      return fmt::format("{}{}{}j", number_text(number_at(array.type, data, i)), imaginary < 0 ? "" : "+",
                         number_text(imaginary));
    }
    case ElementKind::real:
      return number_text(number_at(array.type, data, i));
    default:
      return "?";
  }
}

}  // namespace trunnion::cli
