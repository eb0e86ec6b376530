#include "json_array.h"

#include <cmath>

#include "failure.h"

namespace trunnion::cli {
namespace {

constexpr size_t kMostDimensions = 64;

class ListReader {
 public:
  ListReader(DataType type, const std::string& what) : type_(type), what_(what) {}

  Array read(const Json& json) {
    for (const Json* level = &json; level->is_array(); level = &level->front()) {
      if (shape_.size() == kMostDimensions) unusable("{} is nested deeper than {} lists", what_, kMostDimensions);
      shape_.push_back(static_cast<int64_t>(level->size()));
      if (level->empty()) break;
    }
    const size_t count = element_count(shape_, what_);
    const bool text = element_facts(type_).kind == ElementKind::text;
    bytes_.resize(storage_bytes(type_, count));
    visit(json, 0);
    return text ? make_array(shape_, std::move(text_)) : make_array(type_, shape_, std::move(bytes_));
  }

 private:
  void visit(const Json& json, size_t depth) {
    if (depth == shape_.size()) {
      if (json.is_array()) irregular();
      return store(json);
    }
    if (!json.is_array() || static_cast<int64_t>(json.size()) != shape_[depth]) irregular();
    for (const Json& element : json) visit(element, depth + 1);
  }

  [[noreturn]] void irregular() const { unusable("{} is irregular: lists of one level have different lengths", what_); }

  void store(const Json& json) {
    const size_t i = next_++;
    const ElementKind kind = element_facts(type_).kind;
    bool stored = false;
    if (kind == ElementKind::text) {
      if ((stored = json.is_string())) text_.push_back(json.get<std::string>());
    } else if (kind != ElementKind::complex) {
      stored = store_scalar(json, i);
    }
    if (!stored)
      unusable("{} needs values of type {}, which {} is not", what_, element_facts(type_).name,
               json.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80));
  }

  bool store_scalar(const Json& json, size_t i) {
    std::byte* data = bytes_.data();
    if (json.is_boolean()) return is_integer(type_) && store_integer(type_, data, i, json.get<bool>());
    if (json.is_number_unsigned()) return store_integer(type_, data, i, json.get<uint64_t>());
    if (json.is_number_integer()) return store_integer(type_, data, i, json.get<int64_t>());
    if (json.is_number()) return store_number(type_, data, i, json.get<double>());
    if (!json.is_string() || is_integer(type_)) return false;
    const auto& word = json.get_ref<const std::string&>();
    if (word == "nan") return store_number(type_, data, i, NAN);
    if (word == "inf") return store_number(type_, data, i, HUGE_VAL);
    return word == "-inf" && store_number(type_, data, i, -HUGE_VAL);
  }

  DataType type_;
  const std::string& what_;
  Shape shape_;
  std::vector<std::byte> bytes_;
  std::vector<std::string> text_;
  size_t next_ = 0;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& what) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    std::string_view reason = error.what();  // "[json.exception.parse_error.101] parse error at line 1, ..."
    if (const size_t end = reason.find("] "); end != reason.npos) reason.remove_prefix(end + 2);
    unusable("{} is no JSON: {}", what, reason);
  }
}

Array read_json_array(const Json& json, DataType type, const std::string& what) {
  return ListReader(type, what).read(json);
}

Json number_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return value;
}

Json element_json(const Array& array, size_t i) {
  const std::byte* data = array.data.get();
  switch (element_facts(array.type).kind) {
    case ElementKind::text:
      return array.text[i];
    case ElementKind::boolean:
      return integer_at(array.type, data, i) != 0;
    case ElementKind::integer:
      return static_cast<int64_t>(integer_at(array.type, data, i));
    case ElementKind::unsigned_integer:
      return static_cast<uint64_t>(integer_at(array.type, data, i));
    case ElementKind::complex:
      return Json::array({number_json(number_at(array.type, data, i)), number_json(number_at(array.type, data, i, 1))});
    case ElementKind::real:
      return number_json(number_at(array.type, data, i));
    default:
      return nullptr;
  }
}

std::string dimensions_text(const Json& shape) {
  std::string text;
  for (const Json& d : shape) {
    if (!text.empty()) text += ',';
    text += d.is_string() ? one_line(d.get<std::string>()) : d.is_null() ? "?" : d.dump();
  }
  return text;
}

std::string json_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

}  // namespace trunnion::cli
