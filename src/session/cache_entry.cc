#include "session/cache_entry.h"

#include "base/error.h"

namespace trunnion::session {
namespace {

constexpr CacheFormat kFormat = {{'t', 'r', 'n', 'c', 'a', 'c', 'h', 'e'}, 3};

IndexWriter index_of(const CacheIndex& x) {
  IndexWriter out;
  out.put(static_cast<uint64_t>(x.files.size()));
  for (const FileStamp& f : x.files) out.put(f.identity), out.put(f.changed_ns), out.put(f.content);
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
  out.text(x.ports), out.text(x.graph_name);
  out.put(static_cast<uint64_t>(x.data.size()));
  for (const auto& d : x.data) out.text(d.location), out.put(d.file);
  return out;
}

bool read_index(std::span<const std::byte> bytes, CacheIndex& x) {
  IndexReader in(bytes);
  x.files.resize(in.length(sizeof(FileStamp)));
  for (FileStamp& f : x.files) in.get(f.identity), in.get(f.changed_ns), in.get(f.content);
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
  x.ports = in.text(), x.graph_name = in.text();
  x.data.resize(in.length(2 * sizeof(uint64_t)));
  for (auto& d : x.data) {
    d.location = in.text();
    in.get(d.file);
    if (d.file >= x.files.size()) return false;
  }
  return in.done();
}

}  // namespace

Status commit_entry(CacheFileWriter& file, const Hash128& key, const CacheIndex& index) {
  return file.commit(kFormat, key, index_of(index));
}

Result<CacheEntry> CacheEntry::open(const std::string& path, const Hash128& key) {
  TRN_ASSIGN(CacheFile f, CacheFile::open(path, kFormat));
  if (f.key != key) return error(Code::fail, "the entry is that of another model, engine, CPU or set of options");
  CacheEntry e;
  e.file_ = f.file;
  if (!read_index(f.index, e.index_)) return error(Code::fail, "the entry is torn: its index is not whole");
  const CacheIndex& x = e.index_;
  if (!f.holds(x.graph_offset, x.graph_bytes) ||
      hash128(f.bytes().subspan(x.graph_offset, x.graph_bytes)) != x.graph_hash)
    return error(Code::fail, "the entry is torn: its graph is not whole");
  for (const CachedPack& p : x.packs) {
    const auto bytes = p.count < 0 ? std::nullopt : storage_bytes(p.dtype, p.count);
    if (!bytes || !f.holds(p.offset, *bytes)) return error(Code::fail, "the entry is torn: an operand lies outside");
  }
  return e;
}

}  // namespace trunnion::session
