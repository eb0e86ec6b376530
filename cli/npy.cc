// .npy: the header, which is a Python dict in text, and the elements. .npz is in npz.cc.
#include "npy.h"

#include <charconv>
#include <cstring>

#include "engine.h"
#include "failure.h"

namespace trunnion::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr int64_t kMostDimensions = 64;

// The header's text: a dict of a string, a bool and a tuple of integers, in any order.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& what) : rest_(text), what_(what) {}

  std::string descr;
  bool fortran = false;
  Shape shape;

  void read() {
    expect('{');
    int seen = 0;
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        if (!rest_.empty() && rest_.front() == '[') unusable("{} holds records, not plain elements", what_);
        descr = string();
        seen |= 1;
      } else if (key == "fortran_order") {
        fortran = boolean();
        seen |= 2;
      } else if (key == "shape") {
        tuple();
        seen |= 4;
      } else {
        bad();
      }
      accept(',');
    }
    if (seen != 7) bad();
  }

 private:
  [[noreturn]] void bad() const { unusable("{} is no .npy file: its header cannot be read", what_); }
  void skip() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) rest_.remove_prefix(1);
  }
  bool accept(char c) {
    skip();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    skip();
    return true;
  }
  void expect(char c) {
    if (!accept(c)) bad();
  }
  std::string string() {
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const size_t end = rest_.find(quote);
    if (end == rest_.npos) bad();
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool boolean() {
    for (const std::string_view word : {"True", "False"}) {
      if (rest_.substr(0, word.size()) != word) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    bad();
  }
  void tuple() {
    expect('(');
    while (!accept(')')) {
      int64_t dimension = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), dimension);
      if (error != std::errc() || dimension < 0) bad();
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      if (!rest_.empty() && rest_.front() == 'L') rest_.remove_prefix(1);  // long integers of old files
      shape.push_back(dimension);
      accept(',');
    }
    if (static_cast<int64_t>(shape.size()) > kMostDimensions) unusable("{} has too many dimensions", what_);
  }

  std::string_view rest_;
  const std::string& what_;
};

struct NumpyType {
  const char* code;
  DataType type;
};
constexpr NumpyType kTypes[] = {
    {"b1", ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL},      {"i1", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8},
    {"i2", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16},     {"i4", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32},
    {"i8", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64},     {"u1", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8},
    {"u2", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16},    {"u4", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32},
    {"u8", ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64},    {"f2", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16},
    {"f4", ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT},     {"f8", ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE},
    {"c8", ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64}, {"c16", ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128},
};

// Turns the elements of column order into those of row order.
std::string to_row_order(std::string_view bytes, const Shape& shape, size_t each) {
  std::string rows(bytes.size(), '\0');
  std::vector<size_t> strides(shape.size());
  size_t stride = each;
  for (size_t d = 0; d < shape.size(); ++d) {
    strides[d] = stride;
    stride *= static_cast<size_t>(shape[d]);
  }
  std::vector<int64_t> index(shape.size());
  size_t from = 0;
  for (size_t to = 0; to < rows.size(); to += each) {
    std::memcpy(rows.data() + to, bytes.data() + from, each);
    for (size_t d = shape.size(); d-- > 0;) {
      from += strides[d];
      if (++index[d] < shape[d]) break;
      from -= strides[d] * static_cast<size_t>(shape[d]);
      index[d] = 0;
    }
  }
  return rows;
}

void swap_bytes(std::string& bytes, size_t each) {
  for (size_t i = 0; i + each <= bytes.size(); i += each)
    std::reverse(bytes.begin() + static_cast<int64_t>(i), bytes.begin() + static_cast<int64_t>(i + each));
}

void append_utf8(std::string& text, uint32_t c) {
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
  const auto put = [&](uint32_t lead, int tails) {
    text += static_cast<char>(lead | (c >> (6 * tails)));
    while (tails-- > 0) text += static_cast<char>(0x80 | ((c >> (6 * tails)) & 0x3f));
  };
  if (c < 0x80)
    put(0, 0);
  else if (c < 0x800)
    put(0xc0, 1);
  else if (c < 0x10000)
    put(0xe0, 2);
  else
    put(0xf0, 3);
}

// The code points of UTF-8; false for anything else.
bool code_points(const std::string& text, std::vector<uint32_t>& points) {
  points.clear();
  for (size_t i = 0; i < text.size();) {
    const auto byte = [&](size_t at) { return static_cast<uint32_t>(static_cast<unsigned char>(text[at])); };
    const uint32_t lead = byte(i);
    const size_t tails = lead < 0x80 ? 0 : lead < 0xc2 ? 4 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : lead < 0xf5 ? 3 : 4;
    if (tails == 4 || i + tails >= text.size()) return false;
    uint32_t c = tails == 0 ? lead : lead & (0x3fu >> tails);
    for (size_t k = 1; k <= tails; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return false;
      c = c << 6 | (byte(i + k) & 0x3f);
    }
    if ((tails == 2 && c < 0x800) || (tails == 3 && c < 0x10000) || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
      return false;
    points.push_back(c);
    i += tails + 1;
  }
  return true;
}

// Fixed-size strings, filled up with zeros: of bytes (S) or of four-byte code points (U).
std::vector<std::string> strings(std::string_view bytes, size_t count, size_t each, bool wide) {
  std::vector<std::string> all(count);
  for (size_t i = 0; i < count; ++i) {
    const std::string_view field = bytes.substr(i * each, each);
    if (!wide) {
      const size_t last = field.find_last_not_of('\0');
      all[i] = field.substr(0, last == field.npos ? 0 : last + 1);
      continue;
    }
    size_t end = 0;
    std::vector<uint32_t> points(each / 4);
    if (each) std::memcpy(points.data(), field.data(), each);
    for (size_t k = 0; k < points.size(); ++k)
      if (points[k]) end = k + 1;
    for (size_t k = 0; k < end; ++k) append_utf8(all[i], points[k]);
  }
  return all;
}

std::vector<std::byte> to_bytes(std::string_view bytes) {
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  return {first, first + bytes.size()};
}

// Raw elements of `each` bytes as the wanted type; sub-byte elements come one a byte.
Array raw(std::string_view bytes, Shape shape, size_t count, size_t each, DataType wanted, const std::string& what) {
  const int bits = element_facts(wanted).bits;
  const bool lacking = bits != 0 && numpy_type(wanted) != wanted;
  if (!lacking || each != static_cast<size_t>((bits + 7) / 8))
    unusable("{} holds raw elements of {} bytes, of what type is not said", what, each);
  if (bits >= 8) return make_array(wanted, std::move(shape), to_bytes(bytes));
  std::vector<std::byte> packed(storage_bytes(wanted, count));
  const auto per_byte = static_cast<size_t>(8 / bits);
  for (size_t i = 0; i < count; ++i) {
    const unsigned code = static_cast<unsigned char>(bytes[i]) & ((1u << bits) - 1);
    packed[i / per_byte] |= static_cast<std::byte>(code << (i % per_byte * static_cast<size_t>(bits)));
  }
  return make_array(wanted, std::move(shape), std::move(packed));
}

std::string npy_text(std::string_view descr, const Shape& shape, std::string_view data) {
  std::string dimensions;
  for (const int64_t d : shape) dimensions += fmt::format("{}, ", d);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, dimensions);
  constexpr size_t kBefore = 10, kAlignment = 64;
  header.append(kAlignment - (kBefore + header.size() + 1) % kAlignment, ' ');
  header += '\n';
  std::string file(kMagic);
  file += std::string_view("\x01\x00", 2);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file.append(header).append(data);
}

std::string string_npy(const Array& array) {
  size_t longest = 1, points_longest = 1;
  bool unicode = true;
  std::vector<uint32_t> points;
  for (const std::string& text : array.text) {
    longest = std::max(longest, text.size());
    unicode = unicode && code_points(text, points);
    points_longest = std::max(points_longest, points.size());
  }
  const size_t each = unicode ? points_longest * 4 : longest;
  std::string data(each * array.count, '\0');
  for (size_t i = 0; i < array.count; ++i) {
    if (unicode) {
      code_points(array.text[i], points);
      std::memcpy(data.data() + i * each, points.data(), points.size() * 4);
    } else {
      std::memcpy(data.data() + i * each, array.text[i].data(), array.text[i].size());
    }
  }
  return npy_text(unicode ? fmt::format("<U{}", points_longest) : fmt::format("|S{}", longest), array.shape, data);
}

}  // namespace

Array read_npy(std::string_view bytes, DataType wanted, const std::string& what) {
  if (bytes.substr(0, kMagic.size()) != kMagic || bytes.size() < 12) unusable("{} is no .npy file", what);
  const int version = bytes[6];
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
  if (version < 1 || version > 3) unusable("{} is an .npy file of a version that is not known: {}", what, version);
  const size_t start = version == 1 ? 10 : 12;
  const size_t length = byte(8) | byte(9) << 8 | (version == 1 ? 0 : byte(10) << 16 | byte(11) << 24);
  if (length > bytes.size() - start) unusable("{} is cut short", what);
  HeaderReader header(bytes.substr(start, length), what);
  header.read();

  const std::string& descr = header.descr;
  if (descr.size() < 2) unusable("{} holds elements of a type that is not known: '{}'", what, descr);
  const bool has_order = std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  const std::string_view code = std::string_view(descr).substr(has_order ? 1 : 0);
  if (code == "O") unusable("{} holds Python objects: save the array as a string or number type", what);
  size_t each = 0;
  const auto [end, error] = std::from_chars(code.data() + 1, code.data() + code.size(), each);
  if (error != std::errc() || end != code.data() + code.size() || each > (1u << 30))
    unusable("{} holds elements of a type that is not known: '{}'", what, descr);
  const bool wide = code[0] == 'U';
  if (wide) each *= 4;

  const size_t count = element_count(header.shape, what);
  const std::string_view rest = bytes.substr(start + length);
  constexpr size_t kMostEmpty = 1 << 20;
  if (each ? count > rest.size() / each : count > kMostEmpty)
    unusable("{} is cut short: {} elements of {} bytes are {} bytes, there are {}", what, count, each, count * each,
             rest.size());
  std::string data(rest.substr(0, count * each));
  if (descr[0] == '>') swap_bytes(data, wide ? 4 : code[0] == 'c' ? each / 2 : each);
  if (header.fortran && header.shape.size() > 1 && each && count) data = to_row_order(data, header.shape, each);

  if (wide || code[0] == 'S') return make_array(header.shape, strings(data, count, each, wide));
  if (code[0] == 'V') return raw(data, header.shape, count, each, wanted, what);
  for (const NumpyType& t : kTypes)
    if (code == t.code) return make_array(t.type, header.shape, to_bytes(data));
  unusable("{} holds elements of a type that no tensor has: '{}'", what, descr);
}

DataType numpy_type(DataType type) {
  for (const NumpyType& t : kTypes)
    if (t.type == type) return type;
  switch (element_facts(type).kind) {
    case ElementKind::real:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    case ElementKind::integer:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
    case ElementKind::unsigned_integer:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
    default:
      return type;
  }
}

std::string write_npy(const Array& array) {
  if (array.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return string_npy(array);
  const Array stored = convert(array, numpy_type(array.type), "an output");
  for (const NumpyType& t : kTypes) {
    if (t.type != stored.type) continue;
    const std::string_view data(reinterpret_cast<const char*>(stored.data.get()),
                                storage_bytes(stored.type, stored.count));
    return npy_text(fmt::format("{}{}", element_facts(t.type).bits == 8 ? '|' : '<', t.code), stored.shape, data);
  }
  unusable("elements of type {} cannot be written to .npz", element_facts(array.type).name);
}

}  // namespace trunnion::cli
