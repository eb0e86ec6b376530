// FlatBuffers, read: tables whose fields and vectors lie at places that the bytes themselves name. Every place is
// checked against the size. Knows nothing of the schemas.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "onnx/wire.h"

namespace trunnion::onnx {

class Flat {
 public:
  // `what` calls the file in messages.
  Flat(Bytes bytes, std::string_view what) : bytes_(bytes), what_(what) {}

  // Bytes 4 to 8 of a file say its kind.
  static bool has_mark(Bytes bytes, std::string_view mark) {
    return bytes.size() >= 8 && std::memcmp(bytes.data() + 4, mark.data(), 4) == 0;
  }

  template <class T>
  Result<T> number(size_t at) const {
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T))
      return error(Code::invalid_protobuf, "{} ends at byte {}, before what stands at {}", what_, bytes_.size(), at);
    T v;
    std::memcpy(&v, bytes_.data() + at, sizeof v);
    return v;
  }
  // The place that the offset at `at` leads to.
  Result<size_t> follow(size_t at) const {
    TRN_ASSIGN(const uint32_t offset, number<uint32_t>(at));
    return at + offset;
  }
  // The place of a table's n-th field; 0 when it is left out.
  Result<size_t> field(size_t table, int n) const {
    TRN_ASSIGN(const int32_t back, number<int32_t>(table));
    const int64_t vtable = static_cast<int64_t>(table) - back;
    if (vtable < 0) return error(Code::invalid_protobuf, "{} is damaged at byte {}", what_, table);
    TRN_ASSIGN(const uint16_t size, number<uint16_t>(static_cast<size_t>(vtable)));
    const size_t slot = 4 + 2 * static_cast<size_t>(n);
    if (slot + 2 > size) return size_t{0};
    TRN_ASSIGN(const uint16_t offset, number<uint16_t>(static_cast<size_t>(vtable) + slot));
    return offset ? table + offset : size_t{0};
  }
  template <class T>
  Result<T> value(size_t table, int n, T otherwise) const {
    TRN_ASSIGN(const size_t at, field(table, n));
    if (!at) return otherwise;
    return number<T>(at);
  }
  // The table that a field holds; 0 when it is left out.
  Result<size_t> table(size_t of, int n) const {
    TRN_ASSIGN(const size_t at, field(of, n));
    if (!at) return size_t{0};
    return follow(at);
  }
  // A vector's elements, `size` bytes each; empty when it is left out.
  Result<Bytes> vector(size_t table, int n, size_t size) const {
    TRN_ASSIGN(const size_t at, field(table, n));
    if (!at) return Bytes{};
    TRN_ASSIGN(const size_t begin, follow(at));
    return vector_at(begin, size);
  }
  Result<std::string_view> string(size_t table, int n) const {
    TRN_ASSIGN(const Bytes b, vector(table, n, 1));
    return std::string_view(reinterpret_cast<const char*>(b.data()), b.size());
  }
  // Element i of a vector of strings.
  Result<std::string_view> string_in(Bytes offsets, size_t i) const {
    TRN_ASSIGN(const size_t begin, follow(place_of(offsets) + 4 * i));
    TRN_ASSIGN(const Bytes b, vector_at(begin, 1));
    return std::string_view(reinterpret_cast<const char*>(b.data()), b.size());
  }
  // Element i of a vector of tables.
  Result<size_t> table_in(Bytes offsets, size_t i) const { return follow(place_of(offsets) + 4 * i); }

  std::string_view what() const { return what_; }

 private:
  size_t place_of(Bytes part) const { return static_cast<size_t>(part.data() - bytes_.data()); }
  Result<Bytes> vector_at(size_t begin, size_t size) const {
    TRN_ASSIGN(const uint32_t count, number<uint32_t>(begin));
    if (count > (bytes_.size() - begin - 4) / size)
      return error(Code::invalid_protobuf, "{} is cut off: {} elements at byte {}", what_, count, begin);
    return bytes_.subspan(begin + 4, count * size);
  }

  Bytes bytes_;
  std::string_view what_;
};

}  // namespace trunnion::onnx
