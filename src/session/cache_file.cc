#include "session/cache_file.h"

#include "base/error.h"

namespace trunnion::session {
namespace {

constexpr uint32_t kByteOrder = 0x01020304;

struct Header {
  char magic[8];
  uint32_t version, byte_order;
  Hash128 key;
  uint64_t file_bytes;
  uint64_t index_offset, index_bytes;
  Hash128 index_hash;
  Hash128 header_hash;  // of all before it
};
static_assert(sizeof(Header) == CacheFile::kHeaderBytes);

Hash128 hash_of(const Header& h) {
  return hash128(std::as_bytes(std::span(&h, 1)).first(offsetof(Header, header_hash)), h.version);
}

}  // namespace

Result<CacheFileWriter> CacheFileWriter::create(const std::string& path) {
  TRN_ASSIGN(os::FileWriter file, os::FileWriter::create(path));
  const Header nothing{};  // until all is written
  TRN_TRY(file.write(std::as_bytes(std::span(&nothing, 1))));
  return CacheFileWriter(std::move(file));
}

Result<uint64_t> CacheFileWriter::add(std::span<const std::byte> blob) {
  constexpr std::byte kZeros[kBlobAlignment] = {};
  const uint64_t gap = (kBlobAlignment - file_.size() % kBlobAlignment) % kBlobAlignment;
  TRN_TRY(file_.write(std::span(kZeros).first(gap)));
  const uint64_t at = file_.size();
  TRN_TRY(file_.write(blob));
  return at;
}

Status CacheFileWriter::commit(const CacheFormat& format, const Hash128& key, const IndexWriter& index) {
  TRN_ASSIGN(const uint64_t at, add(index.bytes()));
  Header h{};
  std::memcpy(h.magic, format.magic, sizeof h.magic);
  h.version = format.version;
  h.byte_order = kByteOrder;
  h.key = key;
  h.file_bytes = file_.size();
  h.index_offset = at;
  h.index_bytes = index.bytes().size();
  h.index_hash = hash128(index.bytes());
  h.header_hash = hash_of(h);
  TRN_TRY(file_.write_at(0, std::as_bytes(std::span(&h, 1))));
  return file_.commit();
}

bool CacheFile::holds(uint64_t offset, uint64_t bytes) const {
  const uint64_t size = file->size();
  return offset % kBlobAlignment == 0 && offset <= size && bytes <= size - offset;
}

Result<CacheFile> CacheFile::open(const std::string& path, const CacheFormat& format) {
  if (os::file_kind(path) == os::FileKind::none) return error(Code::no_such_file, "there is no entry");
  CacheFile f;
  TRN_ASSIGN(f.file, MappedFile::open(path));
  const auto all = f.bytes();
  Header h;
  if (all.size() < sizeof h) return error(Code::fail, "the entry is torn: it has {} bytes", all.size());
  std::memcpy(&h, all.data(), sizeof h);
  if (std::memcmp(h.magic, format.magic, sizeof h.magic) != 0)
    return error(Code::fail, "the file is no entry of this cache");
  if (h.version != format.version || h.byte_order != kByteOrder)
    return error(Code::fail, "the entry has format version {}, this engine writes {}", h.version, format.version);
  if (h.header_hash != hash_of(h)) return error(Code::fail, "the entry is torn: its header is not whole");
  if (h.file_bytes != all.size())
    return error(Code::fail, "the entry is torn: it has {} bytes, its header says {}", all.size(), h.file_bytes);
  if (!f.holds(h.index_offset, h.index_bytes)) return error(Code::fail, "the entry is torn: its index lies outside");
  f.index = all.subspan(h.index_offset, h.index_bytes);
  f.key = h.key;
  if (hash128(f.index) != h.index_hash) return error(Code::fail, "the entry is torn: its index is not whole");
  return f;
}

}  // namespace trunnion::session
