#include "tensor_proto.h"

#include <cstring>

#include "engine.h"
#include "failure.h"

namespace trunnion::cli {
namespace {

struct Field {
  uint32_t number = 0;
  uint32_t wire = 0;       // 0 varint, 1 eight bytes, 2 bytes, 5 four bytes
  uint64_t value = 0;      // of wire type 0
  std::string_view bytes;  // of the others
};

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& what) : rest_(bytes), what_(what) {}

  bool next(Field& field) {
    if (rest_.empty()) return false;
    const uint64_t tag = varint();
    field.number = static_cast<uint32_t>(tag >> 3);
    field.wire = static_cast<uint32_t>(tag & 7);
    if (field.number == 0 || tag >> 32) bad();
    if (field.wire == 0)
      field.value = varint();
    else if (field.wire == 1)
      field.bytes = take(8);
    else if (field.wire == 2)
      field.bytes = take(varint());
    else if (field.wire == 5)
      field.bytes = take(4);
    else
      bad();
    return true;
  }
  bool at_end() const { return rest_.empty(); }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    bad();
  }
  [[noreturn]] void bad() const { unusable("{} is no tensor in protocol-buffer form, or a damaged one", what_); }

 private:
  std::string_view take(uint64_t size) {
    if (size > rest_.size()) bad();
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view rest_;
  const std::string& what_;
};

struct Parts {
  Shape shape;
  int64_t code = 0;
  bool has_raw = false, external = false;
  std::string_view raw;
  std::string floats, doubles;  // the bytes of their elements, in order
  std::vector<uint64_t> integers;
  std::vector<std::string> text;
};

// A repeated number: one element, or a packed run of them.
void numbers(Reader& reader, const Field& field, const std::string& what, std::vector<uint64_t>& all) {
  if (field.wire == 0) return all.push_back(field.value);
  if (field.wire != 2) reader.bad();
  Reader run(field.bytes, what);
  while (!run.at_end()) all.push_back(run.varint());
}

Parts parse(std::string_view bytes, const std::string& what) {
  Parts p;
  Reader reader(bytes, what);
  Field field;
  while (reader.next(field)) {
    switch (field.number) {
      case 1: {
        std::vector<uint64_t> dimensions;
        numbers(reader, field, what, dimensions);
        for (const uint64_t d : dimensions) p.shape.push_back(static_cast<int64_t>(d));
        break;
      }
      case 2:
        p.code = static_cast<int64_t>(field.value);
        break;
      case 4:
        p.floats += field.bytes;
        break;
      case 5:
      case 7:
      case 11:
        numbers(reader, field, what, p.integers);
        break;
      case 6:
        p.text.emplace_back(field.bytes);
        break;
      case 9:
        p.has_raw = true;
        p.raw = field.bytes;
        break;
      case 10:
        p.doubles += field.bytes;
        break;
      case 14:
        p.external = field.value == 1;
        break;
      default:
        break;
    }
  }
  return p;
}

}  // namespace

Array read_tensor_proto(std::string_view bytes, const std::string& what) {
  Parts p = parse(bytes, what);
  const DataType type = element_type_of_code(p.code);
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED)
    unusable("{} is no tensor in protocol-buffer form: it has no element type that is known ({})", what, p.code);
  if (p.external) unusable("{} keeps its elements in another file: save the tensor with its data", what);
  const size_t count = element_count(p.shape, what);
  const ElementFacts& facts = element_facts(type);
  const auto expect = [&](size_t found, size_t needed, const char* unit) {
    if (found != needed)
      unusable("{}: a {} of shape {} has {} {}, the file has {}", what, facts.name, shape_text(p.shape), needed, unit,
               found);
  };
  if (facts.kind == ElementKind::text) {
    expect(p.text.size(), count, "elements");
    return make_array(std::move(p.shape), std::move(p.text));
  }
  const size_t size = storage_bytes(type, count);
  std::string_view stored = p.raw;
  std::string narrowed;
  if (!p.has_raw && (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64)) {
    stored = p.floats;
  } else if (!p.has_raw &&
             (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128)) {
    stored = p.doubles;
  } else if (!p.has_raw) {  // each number holds one element, or one byte of several
    const size_t each = facts.bits >= 8 ? static_cast<size_t>(facts.bits) / 8 : 1;
    for (const uint64_t number : p.integers) narrowed.append(reinterpret_cast<const char*>(&number), each);
    stored = narrowed;
  }
  expect(stored.size(), size, "bytes");
  std::vector<std::byte> data(size);
  if (size) std::memcpy(data.data(), stored.data(), size);
  return make_array(type, std::move(p.shape), std::move(data));
}

std::vector<Array> read_sequence_proto(std::string_view bytes, const std::string& what) {
  std::vector<Array> all;
  Reader reader(bytes, what);
  Field field;
  constexpr uint32_t kElementKind = 2, kTensors = 3;
  while (reader.next(field)) {
    if (field.number == kElementKind && field.wire == 0 && field.value > 1)
      unusable("{} is a sequence of something other than tensors", what);
    if (field.number == kTensors) all.push_back(read_tensor_proto(field.bytes, what));
  }
  return all;
}

}  // namespace trunnion::cli
