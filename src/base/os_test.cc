#include "base/os.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace trunnion::os {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

class OsFiles : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/trunnion_test_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = canonical(name).value();
  }
  void TearDown() override { ASSERT_EQ(std::system(("rm -rf " + folder_).c_str()), 0); }

  // Writes folder/relative, making the folders on the way.
  void put(const std::string& relative, std::string_view text) {
    for (size_t at = relative.find('/'); at != std::string::npos; at = relative.find('/', at + 1)) {
      ASSERT_TRUE(make_folder(folder_ + "/" + relative.substr(0, at)).ok());
    }
    ASSERT_TRUE(write_file_atomically(folder_ + "/" + relative, std::as_bytes(std::span(text))).ok());
  }

  std::string folder_;
};

TEST(Os, Environment) {
  setenv("TRUNNION_TEST_VARIABLE", "some text", 1);
  EXPECT_EQ(environment("TRUNNION_TEST_VARIABLE"), "some text");
  setenv("TRUNNION_TEST_VARIABLE", "", 1);
  EXPECT_EQ(environment("TRUNNION_TEST_VARIABLE"), "");
  unsetenv("TRUNNION_TEST_VARIABLE");
  EXPECT_EQ(environment("TRUNNION_TEST_VARIABLE"), std::nullopt);
}

TEST(Os, ProcessFacts) {
  EXPECT_GE(page_size(), 4096u);
  EXPECT_EQ(process_id(), static_cast<uint64_t>(getpid()));
  uint64_t other = 0;
  std::thread([&] { other = thread_id(); }).join();
  EXPECT_NE(other, 0u);
  EXPECT_NE(other, thread_id());
  int64_t a = monotonic_ns(), b = monotonic_ns();
  EXPECT_LE(a, b);
  EXPECT_GT(wall_ns(), int64_t{1700000000} * 1000000000);
  std::vector<int> cpus = allowed_cpus();
  EXPECT_FALSE(cpus.empty());
  EXPECT_TRUE(std::is_sorted(cpus.begin(), cpus.end()));
}

TEST(Os, MemoryUseGrowsWithUse) {
  MemoryUse before = memory_use();
  EXPECT_GT(before.resident_bytes, size_t{100} << 10);
  EXPECT_GE(before.peak_resident_bytes + (1 << 20), before.resident_bytes);
  if (kSanitized) return;
  constexpr size_t kBytes = 64 << 20;
  void* p = allocate(kBytes, page_size());
  ASSERT_NE(p, nullptr);
  std::memset(p, 1, kBytes);
  MemoryUse during = memory_use();
  EXPECT_GT(during.resident_bytes, before.resident_bytes + (32 << 20));
  advise(p, kBytes, Advice::dont_need);
  MemoryUse after = memory_use();
  EXPECT_LT(after.resident_bytes, during.resident_bytes - (32 << 20));
  EXPECT_GE(after.peak_resident_bytes, after.resident_bytes + (32 << 20));
  release(p);
}

TEST(Os, AllocationIsAlignedAndFailsWithNull) {
  for (size_t alignment : {1, 8, 64, 4096}) {
    for (size_t bytes : {0, 1, 63, 64, 100000}) {
      void* p = allocate(bytes, alignment);
      ASSERT_NE(p, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % alignment, 0u);
      std::memset(p, 0xab, bytes);
      release(p);
    }
  }
  release(nullptr);
  if (kSanitized) return;
  EXPECT_EQ(allocate(SIZE_MAX / 2), nullptr);
  EXPECT_EQ(allocate(SIZE_MAX - 10), nullptr);
}

TEST(Os, LocalTimeFollowsTheZone) {
  const char* set = std::getenv("TZ");
  std::string saved = set ? set : "";
  setenv("TZ", "UTC", 1);
  tzset();
  CalendarTime t = local_time(951782399);  // one second before a 29 February
  EXPECT_EQ(t.year, 2000);
  EXPECT_EQ(t.month, 2);
  EXPECT_EQ(t.day, 28);
  EXPECT_EQ(t.hour, 23);
  EXPECT_EQ(t.second, 59);
  setenv("TZ", "XYZ-9", 1);
  tzset();
  EXPECT_EQ(local_time(951782399).hour, 8);
  EXPECT_EQ(local_time(951782399).day, 29);
  set ? setenv("TZ", saved.c_str(), 1) : unsetenv("TZ");
  tzset();
}

TEST(Os, ThreadsTakeNoSignalsAndKeepTheirName) {
  struct Seen {
    char name[16];
    bool interrupt_blocked, fault_open;
  } seen{};
  auto body = [](void* p) {
    auto* s = static_cast<Seen*>(p);
    pthread_getname_np(pthread_self(), s->name, sizeof s->name);
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    s->interrupt_blocked = sigismember(&blocked, SIGINT) == 1;
    s->fault_open = sigismember(&blocked, SIGSEGV) == 0;
  };
  Result<ThreadHandle> thread = start_thread({"a-rather-long-thread-name", {}, body, &seen});
  ASSERT_TRUE(thread.ok()) << thread.status().message();
  join_thread(*thread);
  EXPECT_STREQ(seen.name, "a-rather-long-t");
  EXPECT_TRUE(seen.interrupt_blocked);
  EXPECT_TRUE(seen.fault_open);
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGINT), 0);
}

TEST(Os, WaitAndWake) {
  std::atomic<uint32_t> word{0};
  wait_on(word, 1);  // another value: returns at once
  std::thread sleeper([&] {
    while (word.load() == 0) wait_on(word, 0);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  word = 1;
  wake(word, 1);
  sleeper.join();
}

TEST_F(OsFiles, AtomicWriteReplacesAndLeavesNothingBehind) {
  put("file", "first");
  put("file", "second");
  EXPECT_EQ(read_file(folder_ + "/file", 100).value(), "second");
  put("empty", "");
  EXPECT_EQ(read_file(folder_ + "/empty", 0).value(), "");
  Status failed = write_file_atomically(folder_ + "/missing/file", {});
  EXPECT_EQ(failed.code(), Code::no_such_file);
  EXPECT_NE(failed.message().find("/missing/file"), std::string::npos);
  ASSERT_TRUE(make_folder(folder_ + "/taken").ok());
  EXPECT_FALSE(write_file_atomically(folder_ + "/taken", {}).ok());
  EXPECT_EQ(std::system(("test $(ls " + folder_ + " | wc -l) = 3").c_str()), 0);
}

TEST_F(OsFiles, ReadFileHasALimit) {
  put("file", "0123456789");
  EXPECT_EQ(read_file(folder_ + "/file", 10).value(), "0123456789");
  Status large = read_file(folder_ + "/file", 9).status();
  EXPECT_NE(large.message().find("has 10 bytes, more than the 9 allowed"), std::string::npos);
  EXPECT_FALSE(read_file("/proc/self/status", 10).ok());  // reports size 0, has more
  EXPECT_GT(read_file("/proc/self/status", 100000).value().size(), 100u);
  EXPECT_EQ(read_file(folder_ + "/none", 9).status().code(), Code::no_such_file);
}

TEST_F(OsFiles, KindsAndIdentity) {
  put("file", "x");
  EXPECT_EQ(file_kind(folder_ + "/file"), FileKind::regular);
  EXPECT_EQ(file_kind(folder_), FileKind::directory);
  EXPECT_EQ(file_kind("/dev/null"), FileKind::other);
  EXPECT_EQ(file_kind(folder_ + "/none"), FileKind::none);
  EXPECT_EQ(file_kind(""), FileKind::none);
  EXPECT_EQ(file_identity(folder_ + "/file").value(), file_identity(folder_ + "/./file").value());
  EXPECT_FALSE(file_identity(folder_ + "/none").ok());
  EXPECT_TRUE(make_folder(folder_ + "/new").ok());
  EXPECT_TRUE(make_folder(folder_ + "/new").ok());
  EXPECT_FALSE(make_folder(folder_ + "/file").ok());
  EXPECT_TRUE(remove_file(folder_ + "/file").ok());
  EXPECT_FALSE(remove_file(folder_ + "/file").ok());
}

TEST_F(OsFiles, ReadsPastTheEndAreErrors) {
  put("file", "0123456789");
  File file = File::open(folder_ + "/file").value();
  std::byte buffer[8];
  ASSERT_TRUE(file.read(2, buffer).ok());
  EXPECT_EQ(static_cast<char>(buffer[7]), '9');
  EXPECT_FALSE(file.read(3, buffer).ok());
  EXPECT_FALSE(file.read(UINT64_MAX, buffer).ok());
}

TEST(OsLibrary, LoadsFindsAndCloses) {
  Result<Library> math = Library::open("libm.so.6");
  ASSERT_TRUE(math.ok()) << math.status().message();
  Result<void*> cosine = math->symbol("cos");
  ASSERT_TRUE(cosine.ok());
  EXPECT_EQ(reinterpret_cast<double (*)(double)>(*cosine)(0.0), 1.0);
  Status none = math->symbol("no_such_symbol_here").status();
  EXPECT_EQ(none.code(), Code::not_found);
  EXPECT_NE(none.message().find("no_such_symbol_here"), std::string::npos);
  EXPECT_TRUE(math->close().ok());
  EXPECT_FALSE(math->symbol("cos").ok());
  Status missing = Library::open("/no/such/library.so").status();
  EXPECT_NE(missing.message().find("/no/such/library.so"), std::string::npos);
}

TEST(OsLibrary, KnowsWhereCodeComesFrom) {
  Result<Library> math = Library::open("libm.so.6");
  ASSERT_TRUE(math.ok());
  EXPECT_TRUE(file_of(math->symbol("cos").value()).ends_with("libm.so.6"));
  EXPECT_EQ(canonical(file_of(reinterpret_cast<const void*>(&file_of))).value(), canonical("/proc/self/exe").value());
  const int on_the_stack = 0;
  EXPECT_EQ(file_of(&on_the_stack), "");
}

// A root folder with the files of /proc and /sys that matter.
class OsCpu : public OsFiles {
 protected:
  static constexpr const char* kMounts2 =
      "22 1 8:1 / / rw - ext4 /dev/root rw\n30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
  static constexpr const char* kMounts1 =
      "30 22 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "31 22 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
};

TEST_F(OsCpu, NoFilesNoLimit) { EXPECT_EQ(cpu_quota(folder_), std::nullopt); }

TEST_F(OsCpu, Version2TakesTheTightestOfTheGroupAndThoseAbove) {
  put("proc/self/mountinfo", kMounts2);
  put("proc/self/cgroup", "0::/pod/app\n");
  EXPECT_EQ(cpu_quota(folder_), std::nullopt);
  put("sys/fs/cgroup/pod/app/cpu.max", "max 100000\n");
  EXPECT_EQ(cpu_quota(folder_), std::nullopt);
  put("sys/fs/cgroup/pod/cpu.max", "250000 100000\n");
  EXPECT_EQ(cpu_quota(folder_), 2.5);
  put("sys/fs/cgroup/pod/app/cpu.max", "50000 100000\n");
  EXPECT_EQ(cpu_quota(folder_), 0.5);
  put("sys/fs/cgroup/pod/app/cpu.max", "garbage\n");
  EXPECT_EQ(cpu_quota(folder_), 2.5);
}

TEST_F(OsCpu, InAContainerTheMountIsTheGroup) {
  put("proc/self/mountinfo", "30 22 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  put("proc/self/cgroup", "0::/docker/abc\n");
  put("sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(cpu_quota(folder_), 1.0);
  put("proc/self/cgroup", "0::/../elsewhere\n");
  EXPECT_EQ(cpu_quota(folder_), 1.0);
}

TEST_F(OsCpu, Version1) {
  put("proc/self/mountinfo", kMounts1);
  put("proc/self/cgroup", "12:memory:/m\n4:cpu,cpuacct:/job\n0::/\n");
  put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_quota(folder_), std::nullopt);
  put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(cpu_quota(folder_), 3.0);
}

TEST_F(OsCpu, PhysicalCores) {
  auto core = [&](int cpu, const char* siblings) {
    put("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/core_cpus_list", siblings);
  };
  core(0, "0,2\n");
  core(1, "1,3\n");
  core(2, "0,2\n");
  int all[] = {0, 1, 2}, one_core[] = {0, 2}, unknown[] = {0, 9};
  EXPECT_EQ(physical_cores(all, folder_), 2);
  EXPECT_EQ(physical_cores(one_core, folder_), 1);
  EXPECT_EQ(physical_cores(unknown, folder_), 0);
}

}  // namespace
}  // namespace trunnion::os
