#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>

#include "base/error.h"
#include "base/os.h"

// ThreadSanitizer refuses threads in the child of a threaded process unless told that this is meant.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() { return "die_after_fork=0"; }

namespace trunnion {
namespace {

using std::chrono::milliseconds;

ThreadPool::Options with_threads(int threads) {
  ThreadPool::Options options;
  options.threads = threads;
  return options;
}

// A body that runs until `threads` threads are in it (or a generous time is over) and notes who they are.
class Gathering {
 public:
  explicit Gathering(size_t threads) : wanted_(threads) {}
  void operator()(int64_t, int64_t) {
    {
      std::lock_guard guard(mutex_);
      ids_.insert(os::thread_id());
    }
    auto end = std::chrono::steady_clock::now() + milliseconds(2000);
    while (count() < wanted_ && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }
  size_t count() {
    std::lock_guard guard(mutex_);
    return ids_.size();
  }

 private:
  const size_t wanted_;
  std::mutex mutex_;
  std::set<uint64_t> ids_;
};

int64_t sum_in_parallel(ThreadPool& pool, int64_t count, int64_t grain) {
  std::atomic<int64_t> sum{0};
  Status status = pool.parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    int64_t part = 0;
    for (int64_t i = begin; i < end; ++i) part += i;
    sum.fetch_add(part);
  });
  return status.ok() ? sum.load() : -1;
}

// Runs the function in a forked child; its return value must fit an exit code. -1 when the child did not exit by
// itself.
template <class F>
int in_child(F&& f) {
  pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a child that hangs shall fail, not stay
    _exit(f());
  }
  int state = 0;
  if (waitpid(child, &state, 0) != child || !WIFEXITED(state)) return -1;
  return WEXITSTATUS(state);
}

TEST(ThreadPool, EveryIndexOnceAndRangesKeepTheGrain) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(with_threads(threads));
    for (int64_t count : {0, 1, 2, 7, 64, 1000, 4099}) {
      for (int64_t grain : {1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> hits(static_cast<size_t>(count));
        std::atomic<int> bad{0};
        Status status = pool.parallel_for(count, grain, [&](int64_t begin, int64_t end) {
          if (begin % grain != 0 || begin >= end || end > count) ++bad;
          if (end != count && end - begin < grain) ++bad;
          for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
        });
        EXPECT_TRUE(status.ok());
        EXPECT_EQ(bad.load(), 0);
        for (auto& h : hits) ASSERT_EQ(h.load(), 1) << threads << ' ' << count << ' ' << grain;
      }
    }
  }
}

TEST(ThreadPool, OddArguments) {
  ThreadPool pool(with_threads(2));
  EXPECT_TRUE(pool.parallel_for(-5, 1, [](int64_t, int64_t) { ADD_FAILURE(); }).ok());
  EXPECT_EQ(sum_in_parallel(pool, 10, 0), 45);
  EXPECT_EQ(sum_in_parallel(pool, 10, -3), 45);
  std::atomic<int64_t> covered{0};
  EXPECT_TRUE(pool.parallel_for(INT64_MAX, INT64_MAX / 5, [&](int64_t b, int64_t e) { covered += e - b; }).ok());
  EXPECT_EQ(covered.load(), INT64_MAX);
}

TEST(ThreadPool, StartsNoThreadBeforeItIsNeeded) {
  ThreadPool one(with_threads(1));
  EXPECT_EQ(sum_in_parallel(one, 100000, 1), 100000 / 2 * int64_t{99999});
  EXPECT_EQ(one.started_workers(), 0);

  ThreadPool four(with_threads(4));
  EXPECT_EQ(four.threads(), 4);
  EXPECT_EQ(sum_in_parallel(four, 100, 100), 4950);
  EXPECT_EQ(four.started_workers(), 0);
  EXPECT_TRUE(four.parallel_for(
                      100, 1, [](int64_t, int64_t) {}, 2)
                  .ok());
  EXPECT_EQ(four.started_workers(), 1);
  EXPECT_EQ(sum_in_parallel(four, 100, 1), 4950);
  EXPECT_EQ(four.started_workers(), 3);
}

TEST(ThreadPool, UsesAllThreadsAndKeepsTheCap) {
  ThreadPool pool(with_threads(4));
  Gathering all(4);
  EXPECT_TRUE(pool.parallel_for(64, 1, all).ok());
  EXPECT_EQ(all.count(), 4u);
  for (int round = 0; round < 50; ++round) {
    Gathering two(2);
    EXPECT_TRUE(pool.parallel_for(64, 1, two, 2).ok());
    EXPECT_LE(two.count(), 2u);
  }
  EXPECT_EQ(pool.threads_for(64, 1), 4);
  EXPECT_EQ(pool.threads_for(64, 1, 3), 3);
  EXPECT_EQ(pool.threads_for(64, 1, 9), 4);
  EXPECT_EQ(pool.threads_for(64, 32), 2);
  EXPECT_EQ(pool.threads_for(0, 1), 1);
}

TEST(ThreadPool, LoopInsideALoopRunsOnItsThread) {
  ThreadPool pool(with_threads(3));
  std::atomic<int64_t> total{0};
  std::atomic<int> strays{0};
  EXPECT_FALSE(ThreadPool::inside_loop());
  Status status = pool.parallel_for(30, 1, [&](int64_t begin, int64_t end) {
    uint64_t me = os::thread_id();
    if (!ThreadPool::inside_loop() || pool.threads_for(1000, 1) != 1) ++strays;
    for (int64_t i = begin; i < end; ++i) {
      Status inner = pool.parallel_for(100, 1, [&](int64_t b, int64_t e) {
        if (os::thread_id() != me) ++strays;
        total += e - b;
      });
      if (!inner.ok()) ++strays;
    }
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(total.load(), 3000);
  EXPECT_EQ(strays.load(), 0);
  EXPECT_FALSE(ThreadPool::inside_loop());
}

TEST(ThreadPool, FailuresComeBackAsStatus) {
  for (int threads : {1, 3}) {
    ThreadPool pool(with_threads(threads));
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> ran{0};
      Status status = pool.parallel_for(1000, 1, [&](int64_t begin, int64_t end) -> Status {
        ++ran;
        if (begin <= 500 && 500 < end) return invalid_argument("index {} is bad", 500);
        return {};
      });
      EXPECT_EQ(status.code(), Code::invalid_argument);
      EXPECT_EQ(status.message(), "index 500 is bad");
      EXPECT_LE(ran.load(), 1000);
    }
    Status memory = pool.parallel_for(100, 1, [](int64_t, int64_t) { throw std::bad_alloc(); });
    EXPECT_EQ(memory.code(), Code::fail);
    EXPECT_EQ(memory.message(), "out of memory");
    Status text = pool.parallel_for(100, 1, [](int64_t, int64_t) { throw std::runtime_error("boom"); });
    EXPECT_EQ(text.code(), Code::runtime_exception);
    EXPECT_EQ(text.message(), "boom");
    Status other = pool.parallel_for(100, 1, [](int64_t, int64_t) { throw 7; });
    EXPECT_EQ(other.code(), Code::runtime_exception);
    // And the pool is as good as new.
    EXPECT_EQ(sum_in_parallel(pool, 1000, 1), 499500);
  }
}

TEST(ThreadPool, ManyCallersAtOnce) {
  // More callers than the pool has slots: those without one work alone.
  ThreadPool pool(with_threads(3));
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 40; ++c) {
    callers.emplace_back([&, c] {
      for (int round = 0; round < 60; ++round) {
        int64_t count = 1 + (c * 37 + round * 11) % 500;
        if (sum_in_parallel(pool, count, 1 + round % 3) != count * (count - 1) / 2) ++wrong;
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ThreadPool, ACallerWhoseWorkersAreBusyGoesOnAlone) {
  ThreadPool pool(with_threads(3));
  std::atomic<bool> release{false};
  std::atomic<int> inside{0};
  std::thread first([&] {
    Status status = pool.parallel_for(3, 1, [&](int64_t, int64_t) {
      ++inside;
      while (!release.load()) std::this_thread::yield();
    });
    EXPECT_TRUE(status.ok());
  });
  while (inside.load() < 3) std::this_thread::yield();
  EXPECT_EQ(sum_in_parallel(pool, 1000, 1), 499500);
  release = true;
  first.join();
}

TEST(ThreadPool, WorksWithAndWithoutSpinning) {
  for (bool spin : {false, true}) {
    ThreadPool::Options options = with_threads(2);
    options.allow_spinning = spin;
    ThreadPool pool(options);
    for (int round = 0; round < 200; ++round) {
      EXPECT_EQ(sum_in_parallel(pool, 50, 1), 1225);
      if (round % 50 == 0) std::this_thread::sleep_for(milliseconds(2));  // lets the worker fall asleep
    }
  }
}

TEST(ThreadPool, IdleWorkersUseNoProcessorTime) {
  ThreadPool pool(with_threads(4));
  Gathering all(4);
  EXPECT_TRUE(pool.parallel_for(64, 1, all).ok());
  std::this_thread::sleep_for(milliseconds(50));
  auto used = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * int64_t{1000000} + usage.ru_utime.tv_usec +
           usage.ru_stime.tv_usec;
  };
  int64_t before = used();
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_LT(used() - before, 30000);
}

TEST(ThreadPool, KeepAwakeNestsAndEnds) {
  ThreadPool pool(with_threads(2));
  {
    ThreadPool::KeepAwake run(pool);
    for (int round = 0; round < 20; ++round) {
      ThreadPool::KeepAwake other(pool);
      EXPECT_EQ(sum_in_parallel(pool, 50, 1), 1225);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  EXPECT_EQ(sum_in_parallel(pool, 50, 1), 1225);
}

TEST(ThreadPool, ThreadsCarryTheirName) {
  ThreadPool pool(with_threads(2));
  Gathering both(2);
  EXPECT_TRUE(pool.parallel_for(2, 1, both).ok());
  bool found = false;
  for (int n = 0; n < 100 && !found; ++n) {
    std::mutex mutex;
    std::set<std::string> names;
    EXPECT_TRUE(pool.parallel_for(2, 1,
                                  [&](int64_t, int64_t) {
                                    Result<std::string> name =
                                        os::read_file(fmt::format("/proc/self/task/{}/comm", os::thread_id()), 100);
                                    std::lock_guard guard(mutex);
                                    if (name.ok()) names.insert(*name);
                                    std::this_thread::sleep_for(milliseconds(1));
                                  })
                    .ok());
    found = names.count("trunnion-1\n") == 1;
  }
  EXPECT_TRUE(found);
}

TEST(ThreadPool, WorkersKeepToTheirAffinity) {
  std::vector<int> cpus = os::allowed_cpus();
  ASSERT_FALSE(cpus.empty());
  ThreadPool::Options options = with_threads(2);
  options.affinity = {{cpus.back()}};
  ThreadPool pool(options);
  uint64_t caller = os::thread_id();
  std::atomic<int> seen{0}, strays{0};
  for (int round = 0; round < 200 && seen.load() == 0; ++round) {
    EXPECT_TRUE(pool.parallel_for(2, 1,
                                  [&](int64_t, int64_t) {
                                    if (os::thread_id() == caller) {
                                      std::this_thread::sleep_for(milliseconds(1));
                                      return;
                                    }
                                    ++seen;
                                    if (os::allowed_cpus() != std::vector<int>{cpus.back()}) ++strays;
                                  })
                    .ok());
  }
  EXPECT_GT(seen.load(), 0);
  EXPECT_EQ(strays.load(), 0);
}

TEST(ThreadPool, ThreadsOfTheClient) {
  struct Made {
    int created = 0, joined = 0;
  };
  static Made made;
  made = {};
  ThreadPool::Options options = with_threads(3);
  options.hooks.user = &made;
  options.hooks.create = [](void* user, void (*worker)(void*), void* argument) -> void* {
    ++static_cast<Made*>(user)->created;
    return new std::thread(worker, argument);
  };
  options.hooks.join = [](void* thread) {
    static_cast<std::thread*>(thread)->join();
    delete static_cast<std::thread*>(thread);
    ++made.joined;
  };
  {
    ThreadPool pool(options);
    EXPECT_EQ(sum_in_parallel(pool, 1000, 1), 499500);
    EXPECT_EQ(made.created, 2);
  }
  EXPECT_EQ(made.joined, 2);

  options.hooks.create = [](void*, void (*)(void*), void*) -> void* { return nullptr; };
  ThreadPool without(options);
  EXPECT_EQ(sum_in_parallel(without, 1000, 1), 499500);
  EXPECT_EQ(without.started_workers(), 0);
}

// Every offer is taken and given back, or abandoned; what enqueue gave comes along.
TEST(ThreadPool, WorkIsWatched) {
  struct Seen {
    std::atomic<intptr_t> enqueued{0};
    std::atomic<int> started{0}, stopped{0}, abandoned{0}, strange{0};
    std::thread::id caller = std::this_thread::get_id();
    void note(std::atomic<int>& count, void* data, bool at_caller) {
      ++count;
      const auto number = reinterpret_cast<intptr_t>(data);
      if (number < 1 || number > enqueued || (std::this_thread::get_id() == caller) != at_caller) ++strange;
    }
  } seen;
  ThreadPool::Options options = with_threads(3);
  options.work_hooks = {[](void* user) { return reinterpret_cast<void*>(++static_cast<Seen*>(user)->enqueued); },
                        [](void* user, void* data) {
                          auto* s = static_cast<Seen*>(user);
                          s->note(s->started, data, false);
                        },
                        [](void* user, void* data) {
                          auto* s = static_cast<Seen*>(user);
                          s->note(s->stopped, data, false);
                        },
                        [](void* user, void* data) {
                          auto* s = static_cast<Seen*>(user);
                          s->note(s->abandoned, data, true);
                        },
                        &seen};
  ThreadPool pool(options);
  Gathering all(3);
  EXPECT_TRUE(pool.parallel_for(3, 1, all).ok());  // both workers join
  EXPECT_EQ(seen.enqueued, 2);
  EXPECT_EQ(seen.started, 2);
  EXPECT_EQ(seen.stopped, 2);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(sum_in_parallel(pool, 1000, 1), 499500);
  EXPECT_EQ(seen.enqueued, 402);
  EXPECT_EQ(seen.started, seen.stopped);
  EXPECT_EQ(seen.started + seen.abandoned, seen.enqueued);
  EXPECT_FALSE(pool.parallel_for(1000, 1, [](int64_t, int64_t) { return Status(Code::fail, "on purpose"); }).ok());
  EXPECT_EQ(seen.started + seen.abandoned, seen.enqueued);
  EXPECT_EQ(seen.strange, 0);

  options.work_hooks = {nullptr, nullptr, options.work_hooks.stop, nullptr, &seen};  // any may be missing
  seen.enqueued = INTPTR_MAX;
  ThreadPool some(options);
  EXPECT_EQ(sum_in_parallel(some, 1000, 1), 499500);
}

TEST(ThreadPool, SharedPoolLivesAsLongAsItsHolders) {
  std::weak_ptr<ThreadPool> watch;
  {
    std::shared_ptr<ThreadPool> a = ThreadPool::shared(), b = ThreadPool::shared();
    EXPECT_EQ(a, b);
    watch = a;
  }
  EXPECT_TRUE(watch.expired());
  EXPECT_NE(ThreadPool::shared(), nullptr);
}

TEST(ThreadPoolFork, ChildMakesItsOwnWorkers) {
  ThreadPool pool(with_threads(3));
  EXPECT_EQ(sum_in_parallel(pool, 1000, 1), 499500);
  EXPECT_EQ(pool.started_workers(), 2);
  int code = in_child([&] {
    if (pool.started_workers() != 0) return 1;
    for (int round = 0; round < 20; ++round) {
      if (sum_in_parallel(pool, 1000, 1) != 499500) return 2;
    }
    if (pool.started_workers() != 2) return 3;
    Gathering all(3);
    if (!pool.parallel_for(3, 1, all).ok() || all.count() != 3) return 4;
    return in_child([&] { return sum_in_parallel(pool, 1000, 1) == 499500 ? 0 : 5; });
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(sum_in_parallel(pool, 1000, 1), 499500);
}

TEST(ThreadPoolFork, WhileOtherThreadsRunLoops) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's own allocator and thread table do not survive a fork beside running threads";
#endif
  ThreadPool pool(with_threads(3));
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 3; ++c) {
    callers.emplace_back([&] {
      while (!stop.load()) {
        if (sum_in_parallel(pool, 500, 1) != 124750) ++wrong;
        ThreadPool brief(with_threads(2));  // locks the registry, and starts threads
        if (sum_in_parallel(brief, 50, 1) != 1225) ++wrong;
      }
    });
  }
  for (int n = 0; n < 20; ++n) {
    EXPECT_EQ(in_child([&] {
                for (int round = 0; round < 5; ++round) {
                  if (sum_in_parallel(pool, 500, 1) != 124750) return 1;
                }
                ThreadPool own(with_threads(2));
                return sum_in_parallel(own, 500, 1) == 124750 ? 0 : 2;
              }),
              0);
  }
  stop = true;
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ThreadPoolFork, InsideALoopTheChildGetsAnErrorAndTheParentGoesOn) {
  ThreadPool pool(with_threads(2));
  uint64_t caller = os::thread_id();
  pid_t parent = getpid();
  std::atomic<bool> forked{false};
  std::atomic<int64_t> covered{0};
  pid_t child = -1;
  Status status = pool.parallel_for(64, 1, [&](int64_t begin, int64_t end) {
    covered += end - begin;
    if (os::thread_id() == caller && !forked.exchange(true)) child = fork();
  });
  if (getpid() != parent) {
    int code = status.code() == Code::fail && sum_in_parallel(pool, 1000, 1) == 499500 ? 0 : 1;
    _exit(code);
  }
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(covered.load(), 64);
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_TRUE(WIFEXITED(state));
  EXPECT_EQ(WEXITSTATUS(state), 0);
}

TEST(ThreadCount, EnvironmentWinsWhenItIsANumber) {
  setenv("TRUNNION_NUM_THREADS", "7", 1);
  EXPECT_EQ(default_thread_count(), 7);
  for (const char* bad : {"0", "-3", "x", "3x", "", "99999999999"}) {
    setenv("TRUNNION_NUM_THREADS", bad, 1);
    int count = default_thread_count();
    EXPECT_GE(count, 1);
    EXPECT_LE(count, static_cast<int>(os::allowed_cpus().size()));
  }
  unsetenv("TRUNNION_NUM_THREADS");
}

TEST(ThreadCount, OneAllowedProcessorMeansNoSecondThread) {
  int code = in_child([] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(os::allowed_cpus().front(), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) return 1;
    if (default_thread_count() != 1) return 2;
    ThreadPool pool;
    if (sum_in_parallel(pool, 100000, 1) != int64_t{50000} * 99999) return 3;
    return pool.started_workers() == 0 ? 0 : 4;
  });
  EXPECT_EQ(code, 0);
}

TEST(Affinity, ReadsListsAndRanges) {
  Result<AffinityGroups> lists = parse_affinity("1,2;3,4", 2);
  ASSERT_TRUE(lists.ok()) << lists.status().message();
  EXPECT_EQ(*lists, (AffinityGroups{{0, 1}, {2, 3}}));
  Result<AffinityGroups> ranges = parse_affinity(" 1-8 ; 9-10 ", 2);
  ASSERT_TRUE(ranges.ok()) << ranges.status().message();
  EXPECT_EQ(*ranges, (AffinityGroups{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9}}));
  Result<AffinityGroups> mixed = parse_affinity("5,1-2,2", 1);
  ASSERT_TRUE(mixed.ok());
  EXPECT_EQ(*mixed, (AffinityGroups{{0, 1, 4}}));
  Result<AffinityGroups> none = parse_affinity("  ", 3);
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
}

TEST(Affinity, RefusesWithTheReason) {
  auto text = [](std::string_view s, int workers) { return parse_affinity(s, workers).status().message(); };
  EXPECT_NE(text("1;2", 3).find("has 2 group(s), but 3 are needed"), std::string::npos);
  EXPECT_NE(text("1;2;3", 2).find("has 3 group(s), but 2 are needed"), std::string::npos);
  EXPECT_NE(text("1;", 2).find("group 2 is empty"), std::string::npos);
  EXPECT_NE(text("0;1", 2).find("processors count from 1"), std::string::npos);
  EXPECT_NE(text("-1;1", 2).find("processors count from 1"), std::string::npos);
  EXPECT_NE(text("a;1", 2).find("'a' is not a processor number"), std::string::npos);
  EXPECT_NE(text("1-;1", 2).find("is not a processor number"), std::string::npos);
  EXPECT_NE(text("4-2;1", 2).find("'4-2' runs backwards"), std::string::npos);
  EXPECT_NE(text("1,,2;1", 2).find("'' is not a processor number"), std::string::npos);
  EXPECT_NE(text("1,;1", 2).find("ends with a comma"), std::string::npos);
  EXPECT_NE(text("1-999999999", 1).find("is outside 1..65536"), std::string::npos);
  EXPECT_NE(text("99999999999999999999", 1).find("is outside"), std::string::npos);
}

}  // namespace
}  // namespace trunnion
