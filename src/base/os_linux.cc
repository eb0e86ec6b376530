// os.h for Linux: process, threads, memory, files, shared libraries. Processors and control groups: os_linux_cpu.cc;
// files that are written: os_linux_files.cc.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "base/error.h"
#include "base/os.h"
#include "base/os_linux_detail.h"

namespace trunnion::os {
namespace {

// strerror_r has two forms; both are accepted.
[[maybe_unused]] const char* error_text_of(const char* returned, const char*) { return returned; }
[[maybe_unused]] const char* error_text_of(int, const char* buffer) { return buffer; }

}  // namespace

std::string reason(int error_number) {
  char buffer[256] = "unknown error";
  return error_text_of(strerror_r(error_number, buffer, sizeof buffer), buffer);
}

Status file_error(std::string_view verb, const std::string& path, int error_number) {
  Code code = error_number == ENOENT || error_number == ENOTDIR ? Code::no_such_file : Code::fail;
  return error(code, "cannot {} '{}': {}", verb, path, reason(error_number));
}

Status check_path(const std::string& path) {
  if (path.empty()) return invalid_argument("the path is empty");
  if (path.find('\0') != std::string::npos) {
    return invalid_argument("the path '{}' contains a NUL byte", path.substr(0, path.find('\0')));
  }
  return {};
}

namespace {

Status refuse_kind(const std::string& path, mode_t mode) {
  if (S_ISREG(mode)) return {};
  const char* what = S_ISDIR(mode)    ? "a directory"
                     : S_ISFIFO(mode) ? "a pipe"
                     : S_ISSOCK(mode) ? "a socket"
                                      : "a device";
  return invalid_argument("cannot open '{}': it is {}, not a regular file", path, what);
}

FileIdentity identity_of(const struct stat& s) {
  return {static_cast<uint64_t>(s.st_dev), static_cast<uint64_t>(s.st_ino), static_cast<uint64_t>(s.st_size),
          static_cast<int64_t>(s.st_mtim.tv_sec) * 1'000'000'000 + s.st_mtim.tv_nsec};
}

int64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

struct NewThread {
  char name[16];
  cpu_set_t* cpus = nullptr;
  size_t cpus_bytes = 0;
  void (*run)(void*);
  void* argument;
  ~NewThread() {
    if (cpus) CPU_FREE(cpus);
  }
};

void* thread_entry(void* p) {
  std::unique_ptr<NewThread> start(static_cast<NewThread*>(p));
  pthread_setname_np(pthread_self(), start->name);
  if (start->cpus) (void)sched_setaffinity(0, start->cpus_bytes, start->cpus);
  auto run = start->run;
  void* argument = start->argument;
  start.reset();
  run(argument);
  return nullptr;
}

}  // namespace

// ---- Process ----

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (!value) return std::nullopt;
  return std::string(value);
}

size_t page_size() {
  static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

MemoryUse memory_use() {
  MemoryUse use;
  Result<std::string> text = read_file("/proc/self/status", 1 << 16);
  if (!text.ok()) return use;
  auto kilobytes = [&](const char* key) -> size_t {
    size_t at = text->find(key);
    return at == std::string::npos ? 0 : std::strtoull(text->c_str() + at + std::strlen(key), nullptr, 10);
  };
  use.resident_bytes = kilobytes("VmRSS:") << 10;
  use.peak_resident_bytes = kilobytes("VmHWM:") << 10;
  return use;
}

uint64_t process_id() { return static_cast<uint64_t>(getpid()); }
uint64_t thread_id() { return static_cast<uint64_t>(syscall(SYS_gettid)); }
int64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }
int64_t wall_ns() { return clock_ns(CLOCK_REALTIME); }

CalendarTime local_time(int64_t seconds_since_epoch) {
  time_t t = static_cast<time_t>(seconds_since_epoch);
  struct tm c {};
  localtime_r(&t, &c);
  return {c.tm_year + 1900, c.tm_mon + 1, c.tm_mday, c.tm_hour, c.tm_min, c.tm_sec};
}

void write_stderr(std::string_view text) {
  while (!text.empty()) {
    ssize_t n = retry([&] { return ::write(STDERR_FILENO, text.data(), text.size()); });
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

bool stderr_is_terminal() { return isatty(STDERR_FILENO) == 1; }

// ---- Threads ----

Result<ThreadHandle> start_thread(const ThreadStart& start) {
  std::unique_ptr<NewThread> thread(new (std::nothrow) NewThread{});
  if (!thread) return Status(Code::fail, "cannot start a thread: out of memory");
  std::strncpy(thread->name, start.name, sizeof thread->name - 1);
  if (!start.cpus.empty()) {
    int last = *std::max_element(start.cpus.begin(), start.cpus.end());
    thread->cpus = CPU_ALLOC(last + 1);
    if (!thread->cpus) return Status(Code::fail, "cannot start a thread: out of memory");
    thread->cpus_bytes = CPU_ALLOC_SIZE(last + 1);
    CPU_ZERO_S(thread->cpus_bytes, thread->cpus);
    for (int cpu : start.cpus) CPU_SET_S(cpu, thread->cpus_bytes, thread->cpus);
  }
  thread->run = start.run;
  thread->argument = start.argument;

  // The program's own threads shall handle its signals; faults must stay deliverable.
  sigset_t blocked, before;
  sigfillset(&blocked);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) sigdelset(&blocked, fault);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  pthread_t handle;
  int failed = pthread_create(&handle, nullptr, thread_entry, thread.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failed) return error(Code::fail, "cannot start a thread: {}", reason(failed));
  (void)thread.release();  // the new thread owns it
  return static_cast<ThreadHandle>(handle);
}

void join_thread(ThreadHandle thread) { pthread_join(static_cast<pthread_t>(thread), nullptr); }

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);

void wait_on(const std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void wake(const std::atomic<uint32_t>& word, int count) {
  syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

bool on_fork(void (*before)(), void (*parent)(), void (*child)()) { return pthread_atfork(before, parent, child) == 0; }

// ---- Memory ----

void* allocate(size_t bytes, size_t alignment) {
  // Large blocks: a page fault for every 2 MiB instead of every 4 KiB, where the system has large pages to give.
  constexpr size_t kLargePage = size_t{2} << 20, kLarge = kLargePage;
  if (bytes >= kLarge) alignment = std::max(alignment, kLargePage);
  void* p = nullptr;
  if (posix_memalign(&p, std::max(alignment, sizeof(void*)), std::max<size_t>(bytes, 1)) != 0) return nullptr;
  if (bytes >= kLarge) advise(p, bytes, Advice::huge_pages);
  return p;
}

void release(void* p) { std::free(p); }

void advise(void* p, size_t bytes, Advice advice) {
  uintptr_t page = page_size();
  uintptr_t begin = reinterpret_cast<uintptr_t>(p), end = begin + bytes;
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  if (begin >= end) return;
  int code = 0;
  switch (advice) {
    case Advice::huge_pages:
      code = MADV_HUGEPAGE;
      break;
    case Advice::dont_need:
      code = MADV_DONTNEED;
      break;
    case Advice::sequential:
      code = MADV_SEQUENTIAL;
      break;
    case Advice::will_need:
      code = MADV_WILLNEED;
      break;
  }
  (void)madvise(reinterpret_cast<void*>(begin), end - begin, code);
}

// ---- Files ----

FileKind file_kind(const std::string& path) {
  struct stat s;
  if (!check_path(path).ok() || ::stat(path.c_str(), &s) != 0) return FileKind::none;
  if (S_ISREG(s.st_mode)) return FileKind::regular;
  return S_ISDIR(s.st_mode) ? FileKind::directory : FileKind::other;
}

Result<std::string> canonical(const std::string& path) {
  TRN_TRY(check_path(path));
  std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), std::free);
  if (!resolved) return file_error("resolve", path, errno);
  return std::string(resolved.get());
}

Status make_folder(const std::string& path) {
  TRN_TRY(check_path(path));
  if (::mkdir(path.c_str(), 0777) == 0) return {};
  int failed = errno;
  if (failed == EEXIST && file_kind(path) == FileKind::directory) return {};
  return file_error("create the folder", path, failed);
}

Status remove_file(const std::string& path) {
  TRN_TRY(check_path(path));
  if (::unlink(path.c_str()) != 0) return file_error("remove", path, errno);
  return {};
}

Result<FileIdentity> file_identity(const std::string& path) {
  TRN_TRY(check_path(path));
  struct stat s;
  if (::stat(path.c_str(), &s) != 0) return file_error("examine", path, errno);
  return identity_of(s);
}

Result<File> File::open(const std::string& path) {
  TRN_TRY(check_path(path));
  struct stat s;
  // Looked at before it is opened, since opening a pipe or a device has effects; and after, since it may have changed.
  if (::stat(path.c_str(), &s) != 0) return file_error("open", path, errno);
  TRN_TRY(refuse_kind(path, s.st_mode));
  int fd = retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); });
  if (fd < 0) return file_error("open", path, errno);
  File file(fd, {});
  if (::fstat(fd, &s) != 0) return file_error("examine", path, errno);
  TRN_TRY(refuse_kind(path, s.st_mode));
  file.identity_ = identity_of(s);
  return file;
}

File::~File() {
  if (handle_ >= 0) ::close(static_cast<int>(handle_));
}

Status File::read(uint64_t offset, std::span<std::byte> to) const {
  if (offset > static_cast<uint64_t>(INT64_MAX) - to.size())
    return invalid_argument("read offset {} is too large", offset);
  while (!to.empty()) {
    ssize_t n = retry([&] {
      return ::pread(static_cast<int>(handle_), to.data(), std::min(to.size(), kMaxTransfer),
                     static_cast<off_t>(offset));
    });
    if (n < 0) return error(Code::fail, "cannot read at offset {}: {}", offset, reason(errno));
    if (n == 0) return error(Code::fail, "the file ends at byte {}, {} more were expected", offset, to.size());
    to = to.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return {};
}

const std::byte* File::map(size_t bytes) const {
  void* p = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, static_cast<int>(handle_), 0);
  return p == MAP_FAILED ? nullptr : static_cast<const std::byte*>(p);
}

void unmap(const std::byte* p, size_t bytes) { ::munmap(const_cast<std::byte*>(p), bytes); }

Result<std::string> read_file(const std::string& path, size_t max_bytes) {
  TRN_ASSIGN(File file, File::open(path));
  if (file.identity().size > max_bytes) {
    return invalid_argument("'{}' has {} bytes, more than the {} allowed", path, file.identity().size, max_bytes);
  }
  // Read to the end rather than by the size: files of /proc report 0.
  std::string content;
  size_t used = 0;
  int fd = static_cast<int>(file.handle_);
  for (;;) {
    content.resize(used + std::min<size_t>(std::max<size_t>(used, 4096), max_bytes - used + 1));
    ssize_t n = retry([&] { return ::read(fd, content.data() + used, std::min(content.size() - used, kMaxTransfer)); });
    if (n < 0) return file_error("read", path, errno);
    if (n == 0) break;
    used += static_cast<size_t>(n);
    if (used > max_bytes) return invalid_argument("'{}' has more than the {} bytes allowed", path, max_bytes);
  }
  content.resize(used);
  return content;
}

// ---- Shared libraries ----

namespace {
std::string loader_error() {
  const char* text = dlerror();
  return text ? text : "unknown error";
}
}  // namespace

Result<Library> Library::open(const std::string& path) {
  TRN_TRY(check_path(path));
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return error(Code::fail, "cannot load the library '{}': {}", path, loader_error());
  return Library(handle, path);
}

Library::~Library() {
  if (handle_) dlclose(handle_);
}

Result<void*> Library::symbol(const char* name) const {
  if (!handle_) return error(Code::fail, "the library '{}' is closed", path_);
  (void)dlerror();
  void* p = dlsym(handle_, name);
  if (!p) return error(Code::not_found, "the library '{}' has no symbol '{}': {}", path_, name, loader_error());
  return p;
}

Result<void*> process_symbol(const char* name) {
  if (void* found = dlsym(RTLD_DEFAULT, name)) return found;
  return error(Code::fail, "nothing that is loaded in this process defines '{}'", name);
}

std::string file_of(const void* code) {
  Dl_info info{};
  return dladdr(code, &info) != 0 && info.dli_fname ? info.dli_fname : "";
}

Status Library::close() {
  if (void* handle = std::exchange(handle_, nullptr); handle && dlclose(handle) != 0) {
    return error(Code::fail, "cannot unload the library '{}': {}", path_, loader_error());
  }
  return {};
}

}  // namespace trunnion::os
