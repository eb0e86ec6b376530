// MappedFile: the bytes of a model or weight file, for as long as somebody holds it. Begin with open().
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/os.h"
#include "base/status.h"

namespace trunnion {

enum class OpenMode : unsigned char {
  // Pages come from the file when they are touched and are shared with other processes. While the mapping lives the
  // file must not be changed in place: overwritten pages show the new content, and touching a page that was cut off
  // ends the process with SIGBUS. Replacing the file by rename is harmless.
  map,
  // The content is read into memory at once: whatever happens to the file afterwards does not matter.
  copy,
};

class MappedFile {
 public:
  // Regular files only; a directory, pipe, device or socket is refused without blocking. An empty file has no bytes.
  static Result<std::shared_ptr<MappedFile>> open(const std::string& path, OpenMode mode = OpenMode::map);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Begins at a page (map) or at a multiple of 64 (copy).
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  size_t size() const { return size_; }
  const std::string& path() const { return path_; }
  OpenMode mode() const { return mode_; }
  const os::FileIdentity& identity() const { return identity_; }

  // The bytes [offset, offset + length), or an error that names the file and its size.
  Result<std::span<const std::byte>> range(uint64_t offset, uint64_t length) const;

  // Whether the path now leads to another file, or to this one with another size or modification time. One look at the
  // file system; cannot see changes that keep both.
  bool changed() const;

  // Lets the system take back the pages of this range, which are no longer needed; touched again, they are read again.
  // Without effect on a copy.
  void drop_pages(uint64_t offset, uint64_t length) const;
  // The same for a part of bytes(); false, and nothing happens, when it is none.
  bool drop_pages(std::span<const std::byte> part) const;

 private:
  MappedFile(std::string path, OpenMode mode, const os::FileIdentity& identity)
      : path_(std::move(path)), mode_(mode), identity_(identity) {}

  std::string path_;
  OpenMode mode_;
  os::FileIdentity identity_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// The canonical path of `relative` inside `folder`, for file names that come from a model. Refused: empty and absolute
// names, names with a NUL byte, and everything that leads outside of the folder, by ".." or by symbolic links. A name
// that leads into one of the folders `also` is accepted too (for a model that is itself a link: the folder of its
// target, as model caches lay it out). The file must exist.
Result<std::string> resolve_inside(const std::string& folder, std::string_view relative,
                                   std::span<const std::string> also = {});

}  // namespace trunnion
