// ForkLock: a mutex that no child of fork finds locked. Whoever forks takes every ForkLock of the process first, so
// that what they guard is whole in the child, and nobody who is gone there holds one.
#pragma once
#include <mutex>

namespace trunnion {

// A leaf: while one is held, no other is taken, made or destroyed, and no callback is called. Lockable, for lock_guard.
class ForkLock {
 public:
  ForkLock();
  ~ForkLock();
  ForkLock(const ForkLock&) = delete;
  ForkLock& operator=(const ForkLock&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Registry;
  std::mutex mutex_;
  ForkLock *previous_ = nullptr, *next_ = nullptr;  // of the registry's list
};

}  // namespace trunnion
