#include "base/mapped_file.h"

#include <limits>
#include <new>

#include "base/checked_math.h"
#include "base/error.h"

namespace trunnion {
namespace {

// Never leaves the folder on its way, whatever the file system holds.
bool stays_inside(std::string_view relative) {
  int64_t depth = 0;
  while (!relative.empty()) {
    size_t slash = relative.find('/');
    std::string_view part = relative.substr(0, slash);
    relative = slash == std::string_view::npos ? std::string_view() : relative.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    depth += part == ".." ? -1 : 1;
    if (depth < 0) return false;
  }
  return true;
}

// Both paths are canonical.
bool lies_in(std::string_view path, std::string_view folder) {
  if (folder == "/") return true;
  return path.size() > folder.size() && path.substr(0, folder.size()) == folder && path[folder.size()] == '/';
}

}  // namespace

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::string& path, OpenMode mode) {
  TRN_ASSIGN(os::File source, os::File::open(path));
  std::shared_ptr<MappedFile> file(new MappedFile(path, mode, source.identity()));
  if (source.identity().size == 0) return file;
  std::optional<size_t> size = checked_cast<size_t>(source.identity().size);
  if (!size || *size > static_cast<size_t>(std::numeric_limits<ptrdiff_t>::max())) {
    return error(Code::fail, "'{}' is too large for this machine: {} bytes", path, source.identity().size);
  }
  if (mode == OpenMode::map) {
    file->data_ = source.map(*size);
    if (!file->data_) return error(Code::fail, "cannot map '{}' ({} bytes) into memory", path, *size);
    file->size_ = *size;
    return file;
  }
  auto* copy = static_cast<std::byte*>(os::allocate(*size));
  if (!copy) return error(Code::fail, "not enough memory to read '{}' ({} bytes)", path, *size);
  file->data_ = copy;
  file->size_ = *size;
  if (Status read = source.read(0, {copy, *size}); !read.ok()) return read.with_context("'" + path + "'");
  return file;
}

MappedFile::~MappedFile() {
  if (!data_) return;
  if (mode_ == OpenMode::map) {
    os::unmap(data_, size_);
  } else {
    os::release(const_cast<std::byte*>(data_));
  }
}

Result<std::span<const std::byte>> MappedFile::range(uint64_t offset, uint64_t length) const {
  if (!range_fits(offset, length, size_)) {
    return invalid_argument("'{}' has {} bytes; {} bytes at offset {} are outside of it", path_, size_, length, offset);
  }
  return bytes().subspan(offset, length);
}

bool MappedFile::changed() const {
  Result<os::FileIdentity> now = os::file_identity(path_);
  return !now.ok() || *now != identity_;
}

void MappedFile::drop_pages(uint64_t offset, uint64_t length) const {
  if (mode_ != OpenMode::map || !range_fits(offset, length, size_)) return;
  os::advise(const_cast<std::byte*>(data_) + offset, length, os::Advice::dont_need);
}

bool MappedFile::drop_pages(std::span<const std::byte> part) const {
  const auto begin = reinterpret_cast<uintptr_t>(data_), at = reinterpret_cast<uintptr_t>(part.data());
  if (part.empty() || at < begin || !range_fits(at - begin, part.size(), size_)) return false;
  drop_pages(at - begin, part.size());
  return true;
}

Result<std::string> resolve_inside(const std::string& folder, std::string_view relative,
                                   std::span<const std::string> also) {
  if (relative.empty()) return invalid_argument("an external file name is empty");
  if (relative.find('\0') != std::string_view::npos) {
    return invalid_argument("the external file name '{}' contains a NUL byte", relative.substr(0, relative.find('\0')));
  }
  if (relative.front() == '/' || relative.front() == '\\') {
    return invalid_argument("the external file name '{}' is absolute; it must lie in the folder of the model",
                            relative);
  }
  if (!stays_inside(relative)) {
    return invalid_argument("the external file name '{}' leaves the folder of the model", relative);
  }
  const std::string base = folder.empty() ? "." : folder;
  TRN_ASSIGN(std::string inside, os::canonical(base));
  TRN_ASSIGN(std::string path, os::canonical(base + "/" + std::string(relative)));
  if (lies_in(path, inside)) return path;
  for (const std::string& other : also) {
    Result<std::string> allowed = os::canonical(other);
    if (allowed.ok() && lies_in(path, *allowed)) return path;
  }
  return invalid_argument("the external file name '{}' leads to '{}', outside of the folder '{}'", relative, path,
                          inside);
}

}  // namespace trunnion
