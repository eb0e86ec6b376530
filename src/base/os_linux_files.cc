// os_files.h for Linux, and files that are written as a whole.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "base/error.h"
#include "base/os.h"
#include "base/os_files.h"
#include "base/os_linux_detail.h"

namespace trunnion::os {
namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// So that the rename itself survives a power cut; not every file system allows it.
void sync_folder(const std::string& folder) {
  const int fd = retry([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (fd < 0) return;
  (void)::fsync(fd);
  ::close(fd);
}

}  // namespace

Result<FileWriter> FileWriter::create(const std::string& path) {
  TRN_TRY(check_path(path));
  static std::atomic<unsigned> counter{0};
  for (int attempt = 0;; ++attempt) {
    std::string beside =
        fmt::format("{}.tmp.{}.{}", path, process_id(), counter.fetch_add(1, std::memory_order_relaxed));
    const int fd = retry([&] { return ::open(beside.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
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
    const ssize_t n = retry([&] {
      return ::pwrite(static_cast<int>(handle_), bytes.data(), std::min(bytes.size(), kMaxTransfer),
                      static_cast<off_t>(offset));
    });
    if (n <= 0) return file_error("write", path_, n < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  size_ = std::max(size_, offset);
  return {};
}

Status FileWriter::write(std::span<const std::byte> bytes) { return write_at(size_, bytes); }

Status FileWriter::commit() {
  const int fd = static_cast<int>(std::exchange(handle_, -1));
  Status status;
  if (::fsync(fd) != 0) status = file_error("write", path_, errno);
  if (::close(fd) != 0 && status.ok()) status = file_error("write", path_, errno);
  if (status.ok() && ::rename(beside_.c_str(), path_.c_str()) != 0) status = file_error("replace", path_, errno);
  if (!status.ok()) {
    ::unlink(beside_.c_str());
    return status;
  }
  sync_folder(folder_of(path_));
  return {};
}

Status write_file_atomically(const std::string& path, std::span<const std::byte> content) {
  TRN_ASSIGN(FileWriter file, FileWriter::create(path));
  TRN_TRY(file.write(content));
  return file.commit();
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

Result<std::vector<std::string>> list_subfolders(const std::string& path) {
  DIR* dir = ::opendir(path.c_str());
  if (!dir) return file_error("list", path, errno);
  std::vector<std::string> out;
  while (const dirent* e = ::readdir(dir)) {
    struct stat s;
    const std::string_view name = e->d_name;
    if (name == "." || name == "..") continue;
    if (::fstatat(::dirfd(dir), e->d_name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(s.st_mode)) out.emplace_back(name);
  }
  ::closedir(dir);
  return out;
}

Status remove_folder(const std::string& path) {
  TRN_ASSIGN(const auto files, list_folder(path));
  for (const FolderEntry& f : files) (void)::unlink((path + "/" + f.name).c_str());
  return ::rmdir(path.c_str()) == 0 ? Status() : file_error("remove", path, errno);
}

Result<std::optional<FileLock>> FileLock::try_take(const std::string& path) {
  TRN_TRY(check_path(path));
  for (;;) {
    const int fd = retry([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); });
    if (fd < 0) return file_error("create", path, errno);
    if (retry([&] { return ::flock(fd, LOCK_EX | LOCK_NB); }) != 0) {
      const int reason = errno;
      ::close(fd);
      if (reason == EWOULDBLOCK) return std::optional<FileLock>();
      return file_error("lock", path, reason);
    }
    // Whoever held it may have removed the file since it was opened: then others would lock another one.
    struct stat mine, there;
    if (::fstat(fd, &mine) == 0 && ::stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
        mine.st_dev == there.st_dev)
      return std::optional<FileLock>(FileLock(fd, path));
    ::close(fd);
  }
}

FileLock::~FileLock() {
  if (handle_ < 0) return;
  ::unlink(path_.c_str());  // while it is held
  ::close(handle_);
}

void touch(const std::string& path) { (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

Result<int64_t> changed_ns(const std::string& path) {
  TRN_TRY(check_path(path));
  struct stat s;
  if (::stat(path.c_str(), &s) != 0) return file_error("examine", path, errno);
  return static_cast<int64_t>(s.st_ctim.tv_sec) * 1'000'000'000 + s.st_ctim.tv_nsec;
}

}  // namespace trunnion::os
