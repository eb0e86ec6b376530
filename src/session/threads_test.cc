// Concurrency: many threads and shapes on one session, sessions born and dying beside it, forked children, termination;
// and how many threads work at all.
#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "session/test_model.h"

namespace trunnion::session::test {
namespace {

constexpr std::string_view kNet = R"(<opset: "" 17>
net(float[N,3,H,W] x) => (float[N,10] y) {
  float[16,3,3,3] w1 = random(1)
  float[16] b1 = random(2)
  float[10,16] w2 = random(3)
  float[10] b2 = random(4)
  c = Conv<pads=[1,1,1,1]>(x, w1, b1)
  r = Relu(c)
  p = GlobalAveragePool(r)
  f = Flatten(p)
  y = Gemm<transB=1>(f, w2, b2)
})";

constexpr std::string_view kEndless = R"(<opset: "" 17>
g(float[1] x) => (float[1] y) {
  int64[] many = 4611686018427387904
  bool[] go = true
  float[1] one = {1}
  y = Loop<body=step(int64[] i, bool[] c, float[1] v) => (co, w) {
      co = Identity(c)
      w = Add(v, one)
    }>(many, go, x)
})";

Options two_threads() {
  Options o;
  o.intra_op_threads = 2;
  return o;
}

TEST(Threads, ManyThreadsAndShapesGiveTheSameBits) {
  auto s = load(kNet, two_threads());
  ASSERT_TRUE(s.ok()) << s.status().message();
  const std::vector<std::vector<int64_t>> shapes = {{1, 3, 16, 16}, {2, 3, 9, 31}, {3, 3, 24, 8}};
  std::vector<std::vector<float>> expected;
  for (const auto& shape : shapes) {
    auto r = run(**s, {floats(shape, -1, 0.001f)});
    ASSERT_TRUE(r.ok()) << r.status().message();
    expected.push_back(floats_of((*r)[0]));
  }
  std::atomic<int> wrong{0}, failed{0};
  std::atomic<bool> stop{false};
  std::thread other([&] {  // sessions born and dying beside it
    while (!stop) {
      auto t = load(kNet, two_threads());
      if (!t.ok() || !run(**t, {floats({1, 3, 8, 8})}).ok()) ++failed;
    }
  });
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 60; ++i) {
        const size_t k = (t + i) % shapes.size();
        auto r = run(**s, {floats(shapes[k], -1, 0.001f)});
        if (!r.ok())
          ++failed;
        else if (floats_of((*r)[0]) != expected[k])
          ++wrong;
      }
    });
  for (auto& t : threads) t.join();
  stop = true;
  other.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, OneThreadAndTwoGiveTheSameBits) {
  Options one;
  one.intra_op_threads = 1;
  auto a = load(kNet, one), b = load(kNet, two_threads());
  ASSERT_TRUE(a.ok() && b.ok());
  const Value x = floats({2, 3, 40, 33}, -2, 0.0007f);
  EXPECT_EQ(floats_of((*run(**a, {x}))[0]), floats_of((*run(**b, {x}))[0]));
}

TEST(Threads, TerminateStopsALoop) {
  auto s = load(kEndless);
  ASSERT_TRUE(s.ok()) << s.status().message();
  RunOptions options;
  Status status;
  std::thread runner([&] { status = run(**s, {floats({1})}, options).status(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  options.terminate = true;
  runner.join();
  EXPECT_EQ(status.code(), Code::fail);
  EXPECT_NE(status.message().find("Exiting due to terminate flag being set to true."), std::string::npos);
  EXPECT_FALSE(run(**s, {floats({1})}, options).ok());  // still set
}

#if !defined(__SANITIZE_THREAD__)  // it does not follow threads into a forked child

// True in a forked child: `fn` returned true there, within a minute.
bool in_child(const std::function<bool()>& fn) {
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    alarm(60);
    _exit(fn() ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Threads, AForkedChildRuns) {
  auto s = load(kNet, two_threads());
  ASSERT_TRUE(s.ok());
  const Value x = floats({2, 3, 32, 32}, -1, 0.001f);
  const auto expected = floats_of((*run(**s, {x}))[0]);
  EXPECT_TRUE(in_child([&] {
    auto r = run(**s, {x});
    return r.ok() && floats_of((*r)[0]) == expected;
  }));
  EXPECT_EQ(floats_of((*run(**s, {x}))[0]), expected);
}

TEST(Threads, ChildrenForkedWhileOthersRun) {
  auto s = load(kNet, two_threads());
  ASSERT_TRUE(s.ok());
  const std::vector<std::vector<int64_t>> shapes = {{1, 3, 8, 8}, {2, 3, 12, 9}};
  std::vector<std::vector<float>> expected;
  for (const auto& shape : shapes) expected.push_back(floats_of((*run(**s, {floats(shape, -1, 0.001f)}))[0]));
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = t; !stop; ++i) {
        auto r = run(**s, {floats(shapes[i % 2], -1, 0.001f)});
        if (!r.ok() || floats_of((*r)[0]) != expected[i % 2]) ++wrong;
        if (i % 8 == 0) (void)load(kNet, two_threads());
      }
    });
  for (int n = 0; n < 12; ++n)
    EXPECT_TRUE(in_child([&] {
      for (size_t k = 0; k < 2; ++k) {
        auto r = run(**s, {floats(shapes[k], -1, 0.001f)});
        if (!r.ok() || floats_of((*r)[0]) != expected[k]) return false;
      }
      auto fresh = load(kNet, two_threads());
      return fresh.ok() && run(**fresh, {floats(shapes[0])}).ok();
    })) << n;
  stop = true;
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

int threads_of_this_process() {
  int n = 0;
  DIR* tasks = opendir("/proc/self/task");
  if (!tasks) return -1;
  while (const dirent* entry = readdir(tasks)) n += entry->d_name[0] != '.';
  closedir(tasks);
  return n;
}

// Loads and runs with the default number of threads: how many threads the process has then.
int threads_after_a_run() {
  auto s = load(kNet);
  if (!s.ok() || !run(**s, {floats({1, 3, 64, 64})}).ok()) return -1;
  return threads_of_this_process();
}

bool onto_one_cpu() {
  cpu_set_t all, one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof all, &all) != 0) return false;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all)) {
      CPU_SET(cpu, &one);
      return sched_setaffinity(0, sizeof one, &one) == 0;
    }
  return false;
}

TEST(Threads, OnOneCpuNoSecondThreadWorks) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer may have a thread of its own";
#endif
  EXPECT_TRUE(in_child([] { return onto_one_cpu() && threads_after_a_run() == 1; }));
}

TEST(Threads, InAControlGroupOfOneCpuNoSecondThreadWorks) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer may have a thread of its own";
#endif
  const auto write = [](const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    return static_cast<bool>(file.flush());
  };
  bool made = false;
  for (const bool v2 : {false, true}) {
    const std::string group = std::string(v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu") + "/trunnion_test_" +
                              std::to_string(os::process_id());
    if (mkdir(group.c_str(), 0755) != 0) continue;
    // Where the folder is no hierarchy of groups, only one of mounts, the new one is empty.
    const bool is_group = access((group + "/cgroup.procs").c_str(), F_OK) == 0;
    if (is_group &&
        (v2 ? write(group + "/cpu.max", "100000 100000")
            : write(group + "/cpu.cfs_period_us", "100000") && write(group + "/cpu.cfs_quota_us", "100000"))) {
      made = true;
      EXPECT_TRUE(in_child([&] {
        return write(group + "/cgroup.procs", std::to_string(os::process_id())) && threads_after_a_run() == 1;
      })) << group;
    }
    for (int i = 0; i < 50 && rmdir(group.c_str()) != 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (!made) GTEST_SKIP() << "this machine lets us make no control group";
}

#endif

TEST(Threads, IdleSessionsCostNothing) {
  auto s = load(kNet, two_threads());
  ASSERT_TRUE(s.ok());
  ASSERT_TRUE(run(**s, {floats({1, 3, 64, 64})}).ok());
  const auto cpu_seconds = [] {
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(cpu_seconds() - before, 0.005);
}

}  // namespace
}  // namespace trunnion::session::test
