// Everything the engine asks of the operating system. Only os_<system>*.cc implements it: a port is those files.
// Paths are UTF-8; file errors name the path and the reason. No function throws.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace trunnion::os {

// ---- Process ----
std::optional<std::string> environment(const char* name);  // nullopt when unset
size_t page_size();
struct MemoryUse {
  size_t resident_bytes = 0;       // now
  size_t peak_resident_bytes = 0;  // highest since the process started; 0 where unknown
};
MemoryUse memory_use();
uint64_t process_id();
uint64_t thread_id();    // as the system's tools show it
int64_t monotonic_ns();  // never goes back; origin unspecified
int64_t wall_ns();       // since 1970-01-01 UTC

struct CalendarTime {
  int year, month, day, hour, minute, second;  // month and day count from 1
};
CalendarTime local_time(int64_t seconds_since_epoch);  // in the process's time zone

void write_stderr(std::string_view text);  // one write where possible; errors are ignored
bool stderr_is_terminal();

// ---- Processors ----
std::vector<int> allowed_cpus();  // of the calling thread; 0-based, ascending; empty where unknown
// CPUs that the control groups of the process grant (quota / period); nullopt = no limit. `root` is for tests: it
// stands before /proc and /sys.
std::optional<double> cpu_quota(const std::string& root = "");
// Distinct cores under these logical processors; 0 where unknown.
int physical_cores(std::span<const int> cpus, const std::string& root = "");
// Asks for the AMX tile registers; false when the system refuses. Holds for every thread of the process.
bool enable_amx();

// ---- Threads ----
struct ThreadStart {
  const char* name;           // at most 15 characters are kept
  std::span<const int> cpus;  // run only there; empty = inherit. A refused set is ignored
  void (*run)(void*);
  void* argument;
};
using ThreadHandle = uintptr_t;
Result<ThreadHandle> start_thread(const ThreadStart& start);  // the new thread takes no asynchronous signals
void join_thread(ThreadHandle thread);

// Sleeps while word == expected; may wake without cause.
void wait_on(const std::atomic<uint32_t>& word, uint32_t expected);
// Wakes up to `count` threads that sleep on word.
void wake(const std::atomic<uint32_t>& word, int count);

// Runs around every fork of the process: before in the parent, after in the parent, after in the child (which then has
// one thread). False when it could not be registered, or where there is no fork.
bool on_fork(void (*before)(), void (*parent)(), void (*child)());

// ---- Memory ----
constexpr size_t kAlignment = 64;
// Null on failure or overflow, never throws. A size of 0 gives a valid pointer. Alignment: a power of two.
void* allocate(size_t bytes, size_t alignment = kAlignment);
void release(void* p);

enum class Advice : unsigned char {
  huge_pages,  // back with large pages if possible
  dont_need,   // content may be dropped; a private file mapping reads it again, anonymous memory becomes zero
  sequential,  // will be read front to back
  will_need,   // read ahead
};
// Applies to the whole pages inside [p, p + bytes). A hint: failure is ignored.
void advise(void* p, size_t bytes, Advice advice);

// ---- Files ----
enum class FileKind : unsigned char { none, regular, directory, other };
FileKind file_kind(const std::string& path);             // follows symbolic links
Result<std::string> canonical(const std::string& path);  // absolute, no links, no dots; the file must exist
Status make_folder(const std::string& path);             // one level; an existing folder is fine
Status remove_file(const std::string& path);

struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t modified_ns = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
Result<FileIdentity> file_identity(const std::string& path);

// An open regular file, read only.
class File {
 public:
  // Refuses directories, pipes, devices and sockets, without ever blocking on them.
  static Result<File> open(const std::string& path);
  File(File&& other) noexcept : handle_(std::exchange(other.handle_, -1)), identity_(other.identity_) {}
  File& operator=(File&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(identity_, other.identity_);
    return *this;
  }
  ~File();

  const FileIdentity& identity() const { return identity_; }
  // Fills `to` from offset on; fewer bytes in the file is an error.
  Status read(uint64_t offset, std::span<std::byte> to) const;
  // A private, read-only view of the first `bytes` (> 0) bytes; stays valid when the File is gone. Null on failure.
  const std::byte* map(size_t bytes) const;

 private:
  friend Result<std::string> read_file(const std::string& path, size_t max_bytes);
  File(intptr_t handle, const FileIdentity& identity) : handle_(handle), identity_(identity) {}
  intptr_t handle_;
  FileIdentity identity_;
};
void unmap(const std::byte* p, size_t bytes);

// Whole file; more than max_bytes is an error.
Result<std::string> read_file(const std::string& path, size_t max_bytes);
// Readers see the old content or the new, never a part: written beside, flushed, then renamed over `path`.
Status write_file_atomically(const std::string& path, std::span<const std::byte> content);

// ---- Shared libraries ----
class Library {
 public:
  static Result<Library> open(const std::string& path);
  Library(Library&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), path_(std::move(other.path_)) {}
  Library& operator=(Library&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~Library();  // unloads

  Result<void*> symbol(const char* name) const;
  Status close();  // now, with the system's error text
  void leave_loaded() { handle_ = nullptr; }
  void* native_handle() const { return handle_; }  // as the system's own functions take it
  const std::string& path() const { return path_; }

 private:
  Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* handle_;
  std::string path_;
};
// What the program or any library that is loaded for all defines under this name.
Result<void*> process_symbol(const char* name);
// The path of the library, or the program, that `code` is a function of; empty where unknown.
std::string file_of(const void* code);

}  // namespace trunnion::os
