// A child of fork finds every ForkLock free, however many threads were taking them.
#include "base/fork_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace trunnion {
namespace {

TEST(ForkLock, IsFreeInAChild) {
  ForkLock locks[3];
  int64_t guarded[3][2] = {};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = t; !stop; i = (i + 1) % 3) {
        std::lock_guard guard(locks[i]);
        ++guarded[i][0];
        ++guarded[i][1];
      }
    });
  for (int n = 0; n < 20; ++n) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);
      bool whole = true;
      for (int i = 0; i < 3; ++i) {
        std::lock_guard guard(locks[i]);
        whole = whole && guarded[i][0] == guarded[i][1];
      }
      _exit(whole ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  stop = true;
  for (auto& t : threads) t.join();
}

TEST(ForkLock, MayBeMadeAndDestroyedInAnyOrder) {
  std::vector<std::unique_ptr<ForkLock>> locks;
  for (int i = 0; i < 4; ++i) locks.push_back(std::make_unique<ForkLock>());
  locks.erase(locks.begin() + 1);
  locks.erase(locks.begin());
  locks.pop_back();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::lock_guard guard(*locks[0]);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace trunnion
