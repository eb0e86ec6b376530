// Protobuf's wire format, read: a bounds-checked walk over the fields of one message. Knows nothing of ONNX.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace trunnion::onnx {

using Bytes = std::span<const std::byte>;

enum class WireType : uint8_t { varint = 0, fixed64 = 1, length = 2, group_begin = 3, group_end = 4, fixed32 = 5 };

// "a varint", "8 bytes", "a length-delimited value", ...
std::string_view wire_type_text(WireType type);

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::varint;
  uint64_t value = 0;  // of varint, fixed32 and fixed64
  Bytes bytes;         // the payload; of a varint its encoding, of a length-delimited value what follows the length
};

// One message. Groups are refused: ONNX has none.
class WireReader {
 public:
  explicit WireReader(Bytes message) : begin_(message.data()), at_(begin_), end_(begin_ + message.size()) {}

  // Decodes the next field, payload included: a caller that does not know it just calls next again.
  // False at the end of the message and on an error; then error() tells which.
  bool next(WireField& field);

  // The elements of a repeated field that follow at once, one by one behind a tag of one byte: lists of any length in
  // one go. Stops in front of what is not such an element; that is next()'s to judge.
  void take_varints(uint32_t number, std::vector<int64_t>& out);
  void take_floats(uint32_t number, std::vector<float>& out);
  void take_texts(uint32_t number, std::vector<std::string_view>& out);

  // What is wrong, as a clause ("the length 300 reaches beyond its end"); empty when all is well.
  const std::string& error() const { return error_; }
  // Where the last field (or the error) begins.
  const std::byte* position() const { return field_begin_; }

 private:
  bool fail(std::string text) {
    error_ = std::move(text);
    return false;
  }

  const std::byte* begin_;
  const std::byte* at_;
  const std::byte* end_;
  const std::byte* field_begin_ = nullptr;
  std::string error_;
};

// Reads a varint and moves `at` behind it. False when it does not end before `end` or has more than 64 bits.
bool read_varint(const std::byte*& at, const std::byte* end, uint64_t& value);

// A repeated numeric field in its packed form. One packed run (what every writer makes) is borrowed; elements that come
// one by one, or in several runs, are joined in memory of its own.
class PackedField {
 public:
  Bytes bytes() const { return joined_.empty() ? borrowed_ : Bytes(joined_); }
  bool empty() const { return bytes().empty(); }
  void append(Bytes run);

  // Elements of a varint field; every element ends with a byte whose high bit is clear.
  size_t varint_count() const;

 private:
  Bytes borrowed_;
  std::vector<std::byte> joined_;
};

}  // namespace trunnion::onnx
