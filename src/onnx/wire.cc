#include "onnx/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/large_pages.h"

namespace trunnion::onnx {
namespace {

constexpr uint32_t kMaxFieldNumber = (1u << 29) - 1;

template <class T>
uint64_t little_endian(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

}  // namespace

std::string_view wire_type_text(WireType type) {
  switch (type) {
    case WireType::varint:
      return "a varint";
    case WireType::fixed64:
      return "8 bytes";
    case WireType::length:
      return "a length-delimited value";
    case WireType::group_begin:
    case WireType::group_end:
      return "a group";
    case WireType::fixed32:
      return "4 bytes";
  }
  return "an unknown wire type";
}

bool read_varint(const std::byte*& at, const std::byte* end, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at == end) return false;
    const auto byte = static_cast<uint64_t>(*at++);
    if (shift == 63 && byte > 1) return false;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool WireReader::next(WireField& field) {
  field_begin_ = at_;
  if (at_ == end_ || !error_.empty()) return false;
  uint64_t tag;
  if (!read_varint(at_, end_, tag)) return fail("the field's tag is not a whole varint");
  const uint64_t number = tag >> 3;
  if (number == 0 || number > kMaxFieldNumber) return fail(fmt::format("{} is not a field number", number));
  field.number = static_cast<uint32_t>(number);
  field.type = static_cast<WireType>(tag & 7);
  const std::byte* payload = at_;
  const auto left = static_cast<uint64_t>(end_ - at_);
  switch (field.type) {
    case WireType::varint:
      if (!read_varint(at_, end_, field.value)) return fail(fmt::format("field {} is not a whole varint", number));
      break;
    case WireType::fixed64:
    case WireType::fixed32: {
      const size_t size = field.type == WireType::fixed64 ? 8 : 4;
      if (left < size) return fail(fmt::format("field {} needs {} bytes, {} are left", number, size, left));
      field.value = size == 8 ? little_endian<uint64_t>(at_) : little_endian<uint32_t>(at_);
      at_ += size;
      break;
    }
    case WireType::length: {
      uint64_t size;
      if (!read_varint(at_, end_, size))
        return fail(fmt::format("the length of field {} is not a whole varint", number));
      payload = at_;
      const auto rest = static_cast<uint64_t>(end_ - at_);
      if (size > rest) return fail(fmt::format("field {} claims {} bytes, {} are left", number, size, rest));
      at_ += size;
      break;
    }
    default:
      return fail(fmt::format("field {} has wire type {}, which ONNX does not use", number, tag & 7));
  }
  field.bytes = {payload, static_cast<size_t>(at_ - payload)};
  return true;
}

namespace {

constexpr size_t kFewBytes = 64;  // shorter rests of a message need no room made in advance

// Room is made for all that may follow. A list that has room left was here before: lists may be mixed in a message, and
// looking at the rest of it again and again would cost its size squared.
template <class T>
bool needs_room(const std::vector<T>& list, const std::byte* at, const std::byte* end) {
  return list.size() == list.capacity() && static_cast<size_t>(end - at) > kFewBytes;
}

std::byte tag_of(uint32_t number, WireType type) {
  return static_cast<std::byte>(number << 3 | static_cast<uint32_t>(type));
}

}  // namespace

void WireReader::take_varints(uint32_t number, std::vector<int64_t>& out) {
  const std::byte tag = tag_of(number, WireType::varint);
  if (at_ == end_ || *at_ != tag) return;
  // An element has two bytes whose high bit is clear: its tag, and the last one of its value.
  if (needs_room(out, at_, end_))
    reserve_by_large_pages(
        out,
        static_cast<size_t>(std::count_if(at_, end_, [](std::byte b) { return static_cast<uint8_t>(b) < 0x80; })) / 2);
  while (end_ - at_ >= 2 && *at_ == tag) {
    const auto first = static_cast<uint64_t>(at_[1]);
    if (first < 0x80) {
      out.push_back(static_cast<int64_t>(first));
      at_ += 2;
      continue;
    }
    const std::byte* p = at_ + 1;
    uint64_t value;
    if (!read_varint(p, end_, value)) return;
    out.push_back(static_cast<int64_t>(value));
    at_ = p;
  }
}

void WireReader::take_floats(uint32_t number, std::vector<float>& out) {
  constexpr ptrdiff_t kSize = 1 + sizeof(float);
  const std::byte tag = tag_of(number, WireType::fixed32);
  if (needs_room(out, at_, end_) && *at_ == tag) reserve_by_large_pages(out, static_cast<size_t>((end_ - at_) / kSize));
  for (; end_ - at_ >= kSize && *at_ == tag; at_ += kSize)
    out.push_back(std::bit_cast<float>(static_cast<uint32_t>(little_endian<uint32_t>(at_ + 1))));
}

void WireReader::take_texts(uint32_t number, std::vector<std::string_view>& out) {
  const std::byte tag = tag_of(number, WireType::length);
  // As many as there were if all were as long as the first.
  if (needs_room(out, at_, end_) && *at_ == tag)
    reserve_by_large_pages(out, static_cast<size_t>(end_ - at_) / (2 + static_cast<size_t>(at_[1])));
  while (end_ - at_ >= 2 && *at_ == tag) {
    const auto size = static_cast<ptrdiff_t>(at_[1]);
    if (size >= 0x80 || size > end_ - at_ - 2) return;
    out.emplace_back(reinterpret_cast<const char*>(at_ + 2), static_cast<size_t>(size));
    at_ += 2 + size;
  }
}

void PackedField::append(Bytes run) {
  if (run.empty()) return;
  if (empty()) {
    borrowed_ = run;
    return;
  }
  if (joined_.empty()) joined_.assign(borrowed_.begin(), borrowed_.end());
  joined_.insert(joined_.end(), run.begin(), run.end());
}

size_t PackedField::varint_count() const {
  const Bytes all = bytes();
  return static_cast<size_t>(
      std::count_if(all.begin(), all.end(), [](std::byte b) { return static_cast<uint8_t>(b) < 0x80; }));
}

}  // namespace trunnion::onnx
