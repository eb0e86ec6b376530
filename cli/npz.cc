// .npz: a zip archive. Entries are read stored or deflated, and written stored.
#include <array>
#include <cstring>
#include <limits>

#include "failure.h"
#include "npy.h"
#include "stb.h"

namespace trunnion::cli {
namespace {

constexpr uint32_t kEndSignature = 0x06054b50, kCentralSignature = 0x02014b50, kLocalSignature = 0x04034b50;
constexpr uint32_t kEnd64Signature = 0x06064b50, kLocator64Signature = 0x07064b50;
constexpr size_t kEndSize = 22, kCentralSize = 46, kLocalSize = 30, kLocator64Size = 20, kEnd64Size = 56;

uint32_t crc32(std::string_view bytes) {
  static constexpr auto kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
      table[i] = c;
    }
    return table;
  }();
  uint32_t crc = ~0u;
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

class Archive {
 public:
  Archive(std::string_view bytes, const std::string& what) : bytes_(bytes), what_(what) {}

  Entries read() {
    uint64_t count = 0, at = 0;
    find_directory(count, at);
    Entries entries;
    for (uint64_t i = 0; i < count; ++i) {
      need(at, kCentralSize);
      if (u32(at) != kCentralSignature) bad();
      entries.push_back(entry(at));
      at += kCentralSize + u16(at + 28) + u16(at + 30) + u16(at + 32);
    }
    return entries;
  }

 private:
  [[noreturn]] void bad() const { unusable("{} is no .npz file, or a damaged one", what_); }
  void need(uint64_t at, uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) bad();
  }
  uint64_t number(uint64_t at, size_t size) const {
    need(at, size);
    uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + at, size);
    return value;
  }
  uint16_t u16(uint64_t at) const { return static_cast<uint16_t>(number(at, 2)); }
  uint32_t u32(uint64_t at) const { return static_cast<uint32_t>(number(at, 4)); }

  // The end record lies in front of a comment of at most 65535 bytes.
  void find_directory(uint64_t& count, uint64_t& at) const {
    if (bytes_.size() < kEndSize) bad();
    const size_t last = bytes_.size() - kEndSize, first = last > 0xffff ? last - 0xffff : 0;
    for (size_t end = last + 1; end-- > first;) {
      if (u32(end) != kEndSignature) continue;
      count = u16(end + 10);
      at = u32(end + 16);
      if ((count == 0xffff || at == 0xffffffff) && end >= kLocator64Size &&
          u32(end - kLocator64Size) == kLocator64Signature) {
        const uint64_t end64 = number(end - kLocator64Size + 8, 8);
        need(end64, kEnd64Size);
        if (u32(end64) != kEnd64Signature) bad();
        count = number(end64 + 32, 8);
        at = number(end64 + 48, 8);
      }
      return;
    }
    bad();
  }

  std::pair<std::string, std::string> entry(uint64_t at) const {
    const uint16_t flags = u16(at + 8), method = u16(at + 10), name_size = u16(at + 28), extra_size = u16(at + 30);
    const uint32_t crc = u32(at + 16);
    uint64_t packed = u32(at + 20), size = u32(at + 24), local = u32(at + 42);
    need(at + kCentralSize, uint64_t{name_size} + extra_size);
    std::string name(bytes_.substr(at + kCentralSize, name_size));
    wide_sizes(at + kCentralSize + name_size, extra_size, size, packed, local);

    need(local, kLocalSize);
    if (u32(local) != kLocalSignature) bad();
    const uint64_t start = local + kLocalSize + u16(local + 26) + u16(local + 28);
    need(start, packed);
    const std::string_view data = bytes_.substr(start, packed);
    if (flags & 1) unusable("{} is encrypted", what_);
    std::string content;
    if (method == 0) {
      if (packed != size) bad();
      content = data;
    } else if (method == 8) {
      content = inflate(data, size);
    } else {
      unusable("{}: '{}' is compressed by a method that is not known ({})", what_, name, method);
    }
    if (crc32(content) != crc) unusable("{}: '{}' is damaged", what_, name);
    if (name.size() > 4 && name.ends_with(".npy")) name.resize(name.size() - 4);
    return {std::move(name), std::move(content)};
  }

  // Numbers that do not fit their fields stand in the extra field 1, in this order.
  void wide_sizes(uint64_t at, uint16_t size, uint64_t& full, uint64_t& packed, uint64_t& local) const {
    const uint64_t end = at + size;
    while (at + 4 <= end) {
      const uint16_t id = u16(at), length = u16(at + 2);
      uint64_t field = at + 4;
      at = field + length;
      if (at > end) bad();
      if (id != 1) continue;
      for (uint64_t* value : {&full, &packed, &local}) {
        if (*value != 0xffffffff) continue;
        if (field + 8 > at) bad();
        *value = number(field, 8);
        field += 8;
      }
    }
  }

  std::string inflate(std::string_view data, uint64_t size) const {
    constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int>::max());
    if (size > kMost || data.size() > kMost - 4)
      unusable("{} has a compressed array of 2 GiB or more: save it uncompressed", what_);
    if (size / 1100 > data.size()) bad();  // deflate packs at most 1:1032
    std::string content(size, '\0');
    const std::string padded = std::string(data) + std::string(4, '\0');  // the inflater wants to look ahead
    if (size && stbi_zlib_decode_noheader_buffer(content.data(), static_cast<int>(size), padded.data(),
                                                 static_cast<int>(padded.size())) != static_cast<int>(size))
      bad();
    return content;
  }

  std::string_view bytes_;
  const std::string& what_;
};

void put(std::string& out, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

}  // namespace

Entries read_npz(std::string_view bytes, const std::string& what) { return Archive(bytes, what).read(); }

std::string write_npz(const Entries& entries) {
  constexpr uint64_t kDate = 0x21;  // 1980-01-01: equal results give equal files
  std::string file, directory;
  for (const auto& [stem, content] : entries) {
    const std::string name = stem + ".npy";
    const uint64_t local = file.size();
    if (local + content.size() + name.size() > 0xfffffff0u) unusable("the outputs are too large for one .npz: 4 GiB");
    if (name.size() > 0xffff) unusable("an output's name is too long for .npz");
    std::string fields;  // what local and central header have in common
    put(fields, 20, 2);
    put(fields, 1 << 11, 2);  // names are UTF-8
    put(fields, 0, 2);
    put(fields, kDate << 16, 4);
    put(fields, crc32(content), 4);
    put(fields, content.size(), 4);
    put(fields, content.size(), 4);
    put(fields, name.size(), 2);
    put(fields, 0, 2);
    put(file, kLocalSignature, 4);
    file.append(fields).append(name).append(content);
    put(directory, kCentralSignature, 4);
    put(directory, 20, 2);
    directory += fields;
    put(directory, 0, 2);
    put(directory, 0, 8);
    put(directory, local, 4);
    directory += name;
  }
  if (entries.size() > 0xfffe || file.size() + directory.size() > 0xfffffff0u)
    unusable("too many outputs for one .npz");
  const uint64_t start = file.size();
  file += directory;
  put(file, kEndSignature, 4);
  put(file, 0, 4);
  put(file, entries.size(), 2);
  put(file, entries.size(), 2);
  put(file, directory.size(), 4);
  put(file, start, 4);
  put(file, 0, 2);
  return file;
}

}  // namespace trunnion::cli
