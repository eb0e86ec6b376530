// CacheEntry: one file of the model cache. Reading checks everything but the blobs' own bytes, for a blob is only read
// when a run needs it; see docs/load.md.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "session/cache_file.h"
#include "tensor/tensor.h"

namespace trunnion::session {

// A file of the model as it was when the entry was made.
struct FileStamp {
  os::FileIdentity identity;  // none where the clock could not tell it from a file that changed right afterwards
  int64_t changed_ns = 0;
  Hash128 content;  // of the whole file
};

struct CachedPack {
  Hash128 kind;  // of the request: layout, numbers, operand
  DType dtype = DType::undefined;
  int64_t count = 0;
  uint64_t offset = 0;
};

// A file of external data under a name that the model gives it.
struct DataName {
  std::string location;
  uint64_t file = 0;  // of the index's files
};

struct CacheIndex {
  std::vector<FileStamp> files;
  std::vector<CachedPack> packs;                  // in the order in which kernels ask
  std::vector<int32_t> opsets;                    // of all nodes, bodies included, in order
  std::vector<std::vector<std::string>> origins;  // likewise: the user's nodes that they stand for
  Hash128 operators;                              // of their names
  uint64_t graph_offset = 0, graph_bytes = 0;
  Hash128 graph_hash;
  // For a session that does not read the model at all; `ports` is empty where every one has to.
  std::string ports;           // see ports.h
  std::string graph_name;      // of the model
  std::vector<DataName> data;  // all of `files` but the model itself, which is the last
};

Status commit_entry(CacheFileWriter& file, const Hash128& key, const CacheIndex& index);

class CacheEntry {
 public:
  // An error says why the file is no entry for this key: missing, torn, of another version, foreign.
  static Result<CacheEntry> open(const std::string& path, const Hash128& key);
  const CacheIndex& index() const { return index_; }
  const std::shared_ptr<MappedFile>& file() const { return file_; }

 private:
  std::shared_ptr<MappedFile> file_;
  CacheIndex index_;
};

}  // namespace trunnion::session
