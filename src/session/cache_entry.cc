#include "session/cache_entry.h"

#include <cstring>

#include "base/error.h"

namespace trunnion::session {
namespace {

constexpr char kMagic[8] = {'t', 'r', 'n', 'c', 'a', 'c', 'h', 'e'};
constexpr uint32_t kVersion = 1;
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
static_assert(sizeof(Header) == 88);

Hash128 hash_of(const Header& h) {
  return hash128(std::as_bytes(std::span(&h, 1)).first(offsetof(Header, header_hash)), kVersion);
}

class Out {
 public:
  template <class T>
  void put(const T& v) {
    const auto bytes = std::as_bytes(std::span(&v, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void text(const std::string& s) {
    put(static_cast<uint64_t>(s.size()));
    const auto bytes = std::as_bytes(std::span(s.data(), s.size()));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Reads what Out wrote; after the end everything is 0 and ok() false.
class In {
 public:
  explicit In(std::span<const std::byte> bytes) : left_(bytes) {}
  template <class T>
  void get(T& v) {
    if (!take(sizeof(T))) return;
    std::memcpy(&v, left_.data() - sizeof(T), sizeof(T));
  }
  uint64_t number() {
    uint64_t n = 0;
    get(n);
    return n;
  }
  // A length of things of at least `least` bytes each.
  size_t length(size_t least) {
    const uint64_t n = number();
    if (n > left_.size() / least) ok_ = false;
    return ok_ ? static_cast<size_t>(n) : 0;
  }
  std::string text() {
    const size_t n = length(1);
    std::string s(reinterpret_cast<const char*>(left_.data()), n);
    take(n);
    return s;
  }
  bool ok() const { return ok_; }
  bool done() const { return ok_ && left_.empty(); }

 private:
  bool take(size_t n) {
    ok_ = ok_ && n <= left_.size();
    if (ok_) left_ = left_.subspan(n);
    return ok_;
  }
  std::span<const std::byte> left_;
  bool ok_ = true;
};

std::vector<std::byte> bytes_of(const CacheIndex& x) {
  Out out;
  out.put(static_cast<uint64_t>(x.files.size()));
  for (const FileStamp& f : x.files) out.put(f.identity), out.put(f.content);
  out.put(static_cast<uint64_t>(x.packs.size()));
  for (const CachedPack& p : x.packs)
    out.put(p.kind), out.put(static_cast<uint64_t>(p.dtype)), out.put(p.count), out.put(p.offset);
  out.put(static_cast<uint64_t>(x.opsets.size()));
  for (const int32_t v : x.opsets) out.put(v);
  out.put(static_cast<uint64_t>(x.origins.size()));
  for (const auto& list : x.origins) {
    out.put(static_cast<uint64_t>(list.size()));
    for (const auto& s : list) out.text(s);
  }
  out.put(x.operators);
  out.put(x.graph_offset), out.put(x.graph_bytes), out.put(x.graph_hash);
  return out.bytes();
}

bool read_index(std::span<const std::byte> bytes, CacheIndex& x) {
  In in(bytes);
  x.files.resize(in.length(sizeof(FileStamp)));
  for (FileStamp& f : x.files) in.get(f.identity), in.get(f.content);
  x.packs.resize(in.length(sizeof(Hash128)));
  for (CachedPack& p : x.packs) {
    in.get(p.kind);
    const uint64_t type = in.number();
    const auto known = type < 256 ? dtype_from_code(static_cast<int32_t>(type)) : std::nullopt;
    if (!known || *known == DType::string) return false;
    p.dtype = *known;
    in.get(p.count), in.get(p.offset);
  }
  x.opsets.resize(in.length(sizeof(int32_t)));
  for (int32_t& v : x.opsets) in.get(v);
  x.origins.resize(in.length(sizeof(uint64_t)));
  for (auto& list : x.origins) {
    list.resize(in.length(sizeof(uint64_t)));
    for (auto& s : list) s = in.text();
  }
  in.get(x.operators);
  in.get(x.graph_offset), in.get(x.graph_bytes), in.get(x.graph_hash);
  return in.done();
}

bool lies_in(uint64_t offset, uint64_t bytes, uint64_t size) {
  return offset % kBlobAlignment == 0 && offset <= size && bytes <= size - offset;
}

}  // namespace

Result<CacheWriter> CacheWriter::create(const std::string& path) {
  TRN_ASSIGN(os::FileWriter file, os::FileWriter::create(path));
  const Header nothing{};  // until all is written
  TRN_TRY(file.write(std::as_bytes(std::span(&nothing, 1))));
  return CacheWriter(std::move(file));
}

Result<uint64_t> CacheWriter::add(std::span<const std::byte> blob) {
  constexpr std::byte kZeros[kBlobAlignment] = {};
  const uint64_t gap = (kBlobAlignment - file_.size() % kBlobAlignment) % kBlobAlignment;
  TRN_TRY(file_.write(std::span(kZeros).first(gap)));
  const uint64_t at = file_.size();
  TRN_TRY(file_.write(blob));
  return at;
}

Status CacheWriter::commit(const Hash128& key, const CacheIndex& index) {
  const auto bytes = bytes_of(index);
  TRN_ASSIGN(const uint64_t at, add(bytes));
  Header h{};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  h.version = kVersion;
  h.byte_order = kByteOrder;
  h.key = key;
  h.file_bytes = file_.size();
  h.index_offset = at;
  h.index_bytes = bytes.size();
  h.index_hash = hash128(bytes);
  h.header_hash = hash_of(h);
  TRN_TRY(file_.write_at(0, std::as_bytes(std::span(&h, 1))));
  return file_.commit();
}

Result<CacheEntry> CacheEntry::open(const std::string& path, const Hash128& key) {
  if (os::file_kind(path) == os::FileKind::none) return error(Code::no_such_file, "there is no entry");
  CacheEntry e;
  TRN_ASSIGN(e.file_, MappedFile::open(path));
  const auto all = e.file_->bytes();
  Header h;
  if (all.size() < sizeof h) return error(Code::fail, "the entry is torn: it has {} bytes", all.size());
  std::memcpy(&h, all.data(), sizeof h);
  if (std::memcmp(h.magic, kMagic, sizeof kMagic) != 0) return error(Code::fail, "the file is no entry of this cache");
  if (h.version != kVersion || h.byte_order != kByteOrder)
    return error(Code::fail, "the entry has format version {}, this engine writes {}", h.version, kVersion);
  if (h.header_hash != hash_of(h)) return error(Code::fail, "the entry is torn: its header is not whole");
  if (h.key != key) return error(Code::fail, "the entry is that of another model, engine, CPU or set of options");
  if (h.file_bytes != all.size())
    return error(Code::fail, "the entry is torn: it has {} bytes, its header says {}", all.size(), h.file_bytes);
  if (!lies_in(h.index_offset, h.index_bytes, all.size()))
    return error(Code::fail, "the entry is torn: its index lies outside");
  const auto index = all.subspan(h.index_offset, h.index_bytes);
  if (hash128(index) != h.index_hash || !read_index(index, e.index_))
    return error(Code::fail, "the entry is torn: its index is not whole");
  const CacheIndex& x = e.index_;
  if (!lies_in(x.graph_offset, x.graph_bytes, all.size()) ||
      hash128(all.subspan(x.graph_offset, x.graph_bytes)) != x.graph_hash)
    return error(Code::fail, "the entry is torn: its graph is not whole");
  for (const CachedPack& p : x.packs) {
    const auto bytes = p.count < 0 ? std::nullopt : storage_bytes(p.dtype, p.count);
    if (!bytes || !lies_in(p.offset, *bytes, all.size()))
      return error(Code::fail, "the entry is torn: an operand lies outside");
  }
  return e;
}

}  // namespace trunnion::session
