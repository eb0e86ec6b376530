// os_files.h for Linux.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/os.h"
#include "base/os_files.h"

namespace trunnion::os {
namespace {

constexpr size_t kMaxTransfer = size_t{1} << 30;

Status file_error(std::string_view verb, const std::string& path, int error_number) {
  const Code code = error_number == ENOENT || error_number == ENOTDIR ? Code::no_such_file : Code::fail;
  return error(code, "cannot {} '{}': error {}", verb, path, error_number);
}

}  // namespace

Result<FileWriter> FileWriter::create(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  for (int attempt = 0;; ++attempt) {
    std::string beside = fmt::format("{}.tmp.{}.{}", path, process_id(), counter.fetch_add(1));
    int fd = -1;
    do {
      fd = ::open(beside.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EINTR);
    if (fd >= 0) return FileWriter(fd, path, std::move(beside));
    if (errno != EEXIST || attempt == 16) return file_error("create", beside, errno);
  }
}

FileWriter::~FileWriter() {
  if (handle_ < 0) return;
  ::close(static_cast<int>(handle_));
  ::unlink(beside_.c_str());
}

Status FileWriter::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(static_cast<int>(handle_), bytes.data(), std::min(bytes.size(), kMaxTransfer),
                               static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return file_error("write", beside_, n < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  size_ = std::max(size_, offset);
  return {};
}

Status FileWriter::write(std::span<const std::byte> bytes) { return write_at(size_, bytes); }

Status FileWriter::commit() {
  const int fd = static_cast<int>(handle_);
  if (::fsync(fd) != 0) return file_error("write", beside_, errno);
  if (::rename(beside_.c_str(), path_.c_str()) != 0) return file_error("replace", path_, errno);
  ::close(fd);
  handle_ = -1;
  const auto slash = path_.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path_.substr(0, slash);
  if (const int dir = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); dir >= 0) {
    (void)::fsync(dir);
    ::close(dir);
  }
  return {};
}

Result<std::vector<FolderEntry>> list_folder(const std::string& path) {
  DIR* dir = ::opendir(path.c_str());
  if (!dir) return file_error("list", path, errno);
  std::vector<FolderEntry> out;
  while (const dirent* e = ::readdir(dir)) {
    struct stat s;
    if (::fstatat(::dirfd(dir), e->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode)) continue;
    out.push_back({e->d_name, static_cast<uint64_t>(s.st_size),
                   static_cast<int64_t>(s.st_mtim.tv_sec) * 1'000'000'000 + s.st_mtim.tv_nsec});
  }
  ::closedir(dir);
  return out;
}

void touch(const std::string& path) { (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

}  // namespace trunnion::os
