// Protobuf's wire format, written. A message is a function that is run twice: to count its bytes, then to write them.
#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "onnx/wire.h"

namespace trunnion::onnx {

class WireWriter {
 public:
  WireWriter() = default;                                           // counts only
  explicit WireWriter(std::vector<std::byte>& out) : out_(&out) {}  // appends to out

  // Bytes so far.
  uint64_t size() const { return size_; }

  void integer(uint32_t field, int64_t value) {
    tag(field, WireType::varint);
    varint(static_cast<uint64_t>(value));
  }
  void real(uint32_t field, float value) {
    tag(field, WireType::fixed32);
    append(std::as_bytes(std::span(&value, 1)));
  }
  void bytes(uint32_t field, Bytes value) {
    tag(field, WireType::length);
    varint(value.size());
    append(value);
  }
  void text(uint32_t field, std::string_view value) {
    bytes(field, std::as_bytes(std::span(value.data(), value.size())));
  }
  // Left out when empty.
  void optional_text(uint32_t field, std::string_view value) {
    if (!value.empty()) text(field, value);
  }
  void texts(uint32_t field, std::span<const std::string_view> values) {
    for (std::string_view v : values) text(field, v);
  }
  // One by one, as onnx.proto declares its lists of int64 outside of tensors; `packed` for those inside.
  void integers(uint32_t field, std::span<const int64_t> values) {
    for (int64_t v : values) integer(field, v);
  }
  void reals(uint32_t field, std::span<const float> values) {
    for (float v : values) real(field, v);
  }

  // fn(WireWriter&) writes the fields of the message.
  template <class Fn>
  void message(uint32_t field, const Fn& fn) {
    WireWriter count;
    fn(count);
    tag(field, WireType::length);
    varint(count.size());
    if (out_) {
      fn(*this);
    } else {
      size_ += count.size();
    }
  }

 private:
  void tag(uint32_t field, WireType type) { varint(uint64_t{field} << 3 | static_cast<uint64_t>(type)); }
  void varint(uint64_t value) {
    std::byte encoded[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7) encoded[n++] = static_cast<std::byte>(value | 0x80);
    encoded[n++] = static_cast<std::byte>(value);
    append({encoded, n});
  }
  void append(Bytes value) {
    size_ += value.size();
    if (out_) out_->insert(out_->end(), value.begin(), value.end());
  }

  std::vector<std::byte>* out_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace trunnion::onnx
