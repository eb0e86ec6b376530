// ThreadPool: fork-join loops over index ranges. Begin with parallel_for.
// One pool serves any number of sessions and calling threads at once; workers are started when first needed.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/function_ref.h"
#include "base/status.h"

namespace trunnion {

// One group of 0-based logical processors per worker thread.
using AffinityGroups = std::vector<std::vector<int>>;

// Reads "1,2;3,4" or "1-8;9-16": 1-based logical processors, groups separated by ';', one group per worker thread.
// The number of groups must be `workers`, which is the number of threads less the caller. Empty text gives no groups.
Result<AffinityGroups> parse_affinity(std::string_view text, int workers);

// TRUNNION_NUM_THREADS when it is a number >= 1; else the smallest of the CPUs that the affinity mask allows, the CPU
// quota of the control groups (rounded up) and the physical cores; at least 1.
int default_thread_count();

// How to make threads another way (the ORT API lets clients bring their own). `create` returns null on failure and must
// run worker(argument) on a new thread.
struct ThreadHooks {
  void* (*create)(void* user, void (*worker)(void*), void* argument) = nullptr;
  void (*join)(void* thread) = nullptr;
  void* user = nullptr;
};

// Whom to tell of the work that a loop offers to workers (the ORT API lets clients watch it). Any may be null.
struct WorkHooks {
  void* (*enqueue)(void* user) = nullptr;             // on the caller, before a worker can join; once for each that may
  void (*start)(void* user, void* data) = nullptr;    // on a worker that joined, with what enqueue gave
  void (*stop)(void* user, void* data) = nullptr;     // on it too, when it leaves
  void (*abandon)(void* user, void* data) = nullptr;  // on the caller, at the end, for each that did not join
  void* user = nullptr;

  explicit operator bool() const { return enqueue || start || stop || abandon; }
};

class ThreadPool {
 public:
  struct Options {
    int threads = 0;             // including the caller; 0 = default_thread_count()
    AffinityGroups affinity;     // empty, or one group per worker
    int spin_microseconds = 30;  // how long an idle worker looks for work before it sleeps
    bool allow_spinning = true;  // false: idle workers sleep at once
    ThreadHooks hooks;           // when set, affinity is the creator's business
    WorkHooks work_hooks;
  };

  explicit ThreadPool(Options options);
  ThreadPool() : ThreadPool(Options{}) {}
  // No call of parallel_for may be under way.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // The pool that sessions share by default: made at the first call, gone with its last holder.
  static std::shared_ptr<ThreadPool> shared();

  // How many threads a loop may use at most, the caller included.
  int threads() const { return threads_; }

  // Runs fn(begin, end) over disjoint ranges that together cover [0, count), on the caller and on workers; returns when
  // all are done. fn returns void or Status. Every begin is a multiple of grain and every range at least grain long,
  // but for the last. Which ranges are formed depends on the number of threads: results must not depend on it.
  // max_threads caps the threads including the caller (0 = all).
  // A spread loop costs about 0.3 us when workers are awake and 2 to 10 us when one must be woken: choose the grain so
  // that a range takes longer than that. Inside a loop that was spread over threads, another loop runs on its own
  // thread, as one range. The first failure (a Status or an exception of fn) is returned; ranges not yet begun are then
  // skipped.
  template <class F>
  Status parallel_for(int64_t count, int64_t grain, F&& fn, int max_threads = 0) {
    if constexpr (std::is_same_v<std::invoke_result_t<F&, int64_t, int64_t>, Status>) {
      return run(count, grain, Body(fn), max_threads);
    } else {
      auto with_status = [&fn](int64_t begin, int64_t end) {
        fn(begin, end);
        return Status{};
      };
      return run(count, grain, Body(with_status), max_threads);
    }
  }

  // While one lives, idle workers look for work twenty times longer before they sleep, so that the short serial parts
  // of a run do not cost a wake-up each. Held for the length of a run, by any number of runs at once.
  class KeepAwake {
   public:
    explicit KeepAwake(ThreadPool& pool) : pool_(pool), forks_(pool.forks_.load(std::memory_order_relaxed)) {
      pool_.awake_scopes_.fetch_add(1, std::memory_order_relaxed);
    }
    ~KeepAwake() {  // a child of fork has forgotten the scopes of its parent
      if (forks_ == pool_.forks_.load(std::memory_order_relaxed)) {
        pool_.awake_scopes_.fetch_sub(1, std::memory_order_relaxed);
      }
    }
    KeepAwake(const KeepAwake&) = delete;
    KeepAwake& operator=(const KeepAwake&) = delete;

   private:
    ThreadPool& pool_;
    const uint32_t forks_;
  };

  // How many threads such a loop would use at most: for choosing a blocking. 1 inside a loop.
  int threads_for(int64_t count, int64_t grain, int max_threads = 0) const;

  // Worker threads that exist now; for tests and reports.
  int started_workers() const { return started_.load(std::memory_order_relaxed); }

  // True on a thread that is running the body of a loop that was spread, and on workers.
  static bool inside_loop();

 private:
  using Body = FunctionRef<Status(int64_t, int64_t)>;
  struct Slot;
  struct Worker;
  struct Registry;

  Status run(int64_t count, int64_t grain, Body body, int max_threads);
  Status run_shared(Slot& slot, uint64_t slot_bit, int64_t count, int64_t chunk, Body body, int want);
  Status call(Body body, int64_t begin, int64_t end) const noexcept;
  void offer_work(Slot& slot, int count) const;
  void* take_work(Slot& slot) const;
  void abandon_work(Slot& slot) const;
  void start_workers(int wanted);
  void wake_workers(int wanted);
  void work(int index);
  void keep_off_caller();
  bool claim_ranges(Slot& slot, int share, uint32_t generation);
  void wait_for_workers(Slot& slot);
  Slot* join_open_job(int first_slot);
  Slot* wait_for_job(int first_slot);
  bool has_joinable_job() const;
  void reset_in_child();
  static void worker_main(void* worker);

  int threads_;
  int64_t spin_ns_;
  AffinityGroups affinity_;
  ThreadHooks hooks_;
  WorkHooks work_hooks_;
  const bool watched_;    // any of work_hooks_
  Status out_of_memory_;  // made ahead: there may be no memory to make it later
  std::unique_ptr<Worker[]> workers_;
  std::unique_ptr<Slot[]> slots_;

  struct Lock;  // guards starting workers; held across fork
  std::unique_ptr<Lock> lock_;
  bool start_failed_ = false;
  std::atomic<int> started_{0};

  alignas(64) std::atomic<uint64_t> open_slots_{0};  // slots that hold a job workers may join
  alignas(64) std::atomic<uint64_t> free_slots_;
  alignas(64) std::atomic<int> spinning_{0};  // idle workers that look at open_slots_
  std::atomic<int> parked_{0};                // idle workers that sleep on wake_word_
  std::atomic<uint32_t> wake_word_{0};
  std::atomic<int> awake_scopes_{0};
  std::atomic<int> caller_cpu_{-1};  // of the last loop
  std::atomic<uint32_t> forks_{0};   // forks that this pool has lived through as the child
  std::atomic<bool> stopping_{false};
};

}  // namespace trunnion
