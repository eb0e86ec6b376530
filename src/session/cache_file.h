// The files of the cache folder, whatever they hold: a header, blobs that begin at multiples of 64, and an index at the
// end. Opening checks header and index; whoever reads the index knows what is to be checked of the blobs.
#pragma once
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/mapped_file.h"
#include "base/os_files.h"

namespace trunnion::session {

inline constexpr size_t kBlobAlignment = 64;

// What the files of one kind begin with.
struct CacheFormat {
  char magic[8];
  uint32_t version = 0;
};

// Numbers and texts, one behind the other.
class IndexWriter {
 public:
  template <class T>
  void put(const T& v) {
    const auto bytes = std::as_bytes(std::span(&v, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void text(std::string_view s) {
    put(static_cast<uint64_t>(s.size()));
    const auto bytes = std::as_bytes(std::span(s.data(), s.size()));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void append(const IndexWriter& more) { bytes_.insert(bytes_.end(), more.bytes_.begin(), more.bytes_.end()); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Reads them again; after the end everything is 0 and ok() false.
class IndexReader {
 public:
  explicit IndexReader(std::span<const std::byte> bytes) : left_(bytes) {}
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

class CacheFileWriter {
 public:
  static Result<CacheFileWriter> create(const std::string& path);
  Result<uint64_t> add(std::span<const std::byte> blob);  // its offset
  Status commit(const CacheFormat& format, const Hash128& key, const IndexWriter& index);

 private:
  explicit CacheFileWriter(os::FileWriter file) : file_(std::move(file)) {}
  os::FileWriter file_;
};

struct CacheFile {
  static constexpr size_t kHeaderBytes = 88;
  std::shared_ptr<MappedFile> file;
  std::span<const std::byte> index;
  Hash128 key;
  // An error says what is wrong with the file: missing, torn, of another version, foreign.
  static Result<CacheFile> open(const std::string& path, const CacheFormat& format);
  std::span<const std::byte> bytes() const { return file->bytes(); }
  bool holds(uint64_t offset, uint64_t bytes) const;  // a blob
};

}  // namespace trunnion::session
