// More of files than os.h has: files that are written piece by piece, folders, locks between processes.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace trunnion::os {

// A file in the making: readers see the old content of the path or, after commit(), all that was written. It is written
// beside, under the path with ".tmp.<process>.<number>" behind it; unless committed, it is removed.
class FileWriter {
 public:
  static Result<FileWriter> create(const std::string& path);
  FileWriter(FileWriter&& other) noexcept
      : handle_(std::exchange(other.handle_, -1)),
        path_(std::move(other.path_)),
        beside_(std::move(other.beside_)),
        size_(other.size_) {}
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();

  Status write(std::span<const std::byte> bytes);                      // at the end
  Status write_at(uint64_t offset, std::span<const std::byte> bytes);  // over what is there
  uint64_t size() const { return size_; }
  Status commit();  // flushed to the device, then renamed

 private:
  FileWriter(int64_t handle, std::string path, std::string beside)
      : handle_(handle), path_(std::move(path)), beside_(std::move(beside)) {}
  int64_t handle_;
  std::string path_, beside_;
  uint64_t size_ = 0;
};

struct FolderEntry {
  std::string name;
  uint64_t size = 0;
  int64_t modified_ns = 0;
};
// The regular files in a folder, in no order.
Result<std::vector<FolderEntry>> list_folder(const std::string& path);
// The names of the folders in a folder, in no order.
Result<std::vector<std::string>> list_subfolders(const std::string& path);
// The folder and the files in it; what stands in the way (a folder in it) is an error.
Status remove_folder(const std::string& path);
// Sets the time of modification to now; a failure is ignored.
void touch(const std::string& path);
// When the file's bytes, name or rights last changed. Unlike the time of modification, no program can set it back.
Result<int64_t> changed_ns(const std::string& path);
// Whether a file with that time of change would show another one if it changed at `now` or later. One tick of the
// system's clock has to lie between, and more where the file system counts whole seconds.
inline bool change_would_show(int64_t changed_ns, int64_t now) {
  return changed_ns <= now - (changed_ns % 1'000'000'000 == 0 ? 2'000'000'000 : 20'000'000);
}

// A file that stands for the right to do something, held by one holder on this machine at a time. The system takes it
// back when the process of the holder ends, however it ends. The file is made when it is taken and goes with it.
class FileLock {
 public:
  // Nothing: somebody else holds it. An error: the file cannot be made there.
  static Result<std::optional<FileLock>> try_take(const std::string& path);
  FileLock(FileLock&& other) noexcept : handle_(std::exchange(other.handle_, -1)), path_(std::move(other.path_)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~FileLock();

 private:
  FileLock(int handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  int handle_;
  std::string path_;
};

}  // namespace trunnion::os
