// How a loop runs: its caller puts a job into a slot, marks the slot open, wakes sleepers if too few workers look for
// work, and then claims ranges like any worker. Each begins with a share of the ranges that is its own in every loop
// (WorkShares): caches stay warm. Workers join a job by taking one of its permits with a compare-exchange
// on the slot's state; slots belong to the pool, so a late worker never touches a caller's stack. The caller closes
// the slot when no range is left and waits for those that joined. A worker only ever waits for work, never for another
// thread, hence no loop can block another.
#include "base/thread_pool.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cstdio>
#include <mutex>
#include <new>
#include <string>

#include "base/checked_math.h"
#include "base/error.h"
#include "base/os.h"
#include "base/os_core.h"
#include "base/work_shares.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace trunnion {
namespace {

constexpr int kSlots = 32;  // loops that can be spread at the same time; one more runs on its caller alone
constexpr int kMaxThreads = 4096;
constexpr int kRangesPerThread = 8;  // finer ranges balance better, coarser ones cost fewer claims
constexpr int kWakeAtOnce = 4;       // woken workers wake further ones
constexpr int kAwakeFactor = 20;     // how much longer workers look for work while a KeepAwake lives
constexpr int kLooksPerClock = 32;   // looks for work between two readings of the clock

// Slot::state: open | caller sleeps | permits (workers that may still join) | active (workers that have joined).
constexpr uint32_t kOpen = 1u << 31;
constexpr uint32_t kCallerSleeps = 1u << 30;
constexpr uint32_t kPermit = 1u << 15;
constexpr uint32_t kPermits = (kCallerSleeps - 1) & ~(kPermit - 1);
constexpr uint32_t kActive = kPermit - 1;
static_assert(kMaxThreads < static_cast<int>(kPermit));

constexpr int64_t kMoveInterval = 1'000'000;  // ns

thread_local bool t_inside_loop = false;
thread_local int64_t t_moved_ns = 0;

class InsideLoop {
 public:
  InsideLoop() { t_inside_loop = true; }
  ~InsideLoop() { t_inside_loop = false; }
};

// Counts the forks that led to this process. Changes under a thread only while that thread itself calls fork.
std::atomic<uint32_t> fork_generation{0};

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace

struct alignas(64) ThreadPool::Slot {
  std::atomic<uint32_t> state{0};
  std::atomic<bool> failed{false};
  // The job: written before the slot opens, constant until all workers have left.
  const Body* body = nullptr;
  int64_t count = 0;
  int64_t chunk = 0;
  int64_t chunks = 0;
  int want = 0;
  WorkShares shares;
  Status error;  // written by the one that set `failed` first
  // Of a pool with work hooks: what `enqueue` gave for each worker that may join, and how many of these are taken.
  std::unique_ptr<void*[]> offers;
  int offered = 0;
  std::atomic<int> taken{0};
};

struct ThreadPool::Worker {
  ThreadPool* pool = nullptr;
  int index = 0;
  os::ThreadHandle thread = 0;
  void* hooked_thread = nullptr;
};

struct ThreadPool::Lock {
  std::mutex mutex;
};

// All pools of the process, for the fork handlers: they hold every lock across the fork, so that no lock of the child
// is held by a thread that does not exist there.
struct ThreadPool::Registry {
  std::mutex mutex;
  std::vector<ThreadPool*> pools;
  std::weak_ptr<ThreadPool> shared;

  static Registry& get() {
    static Registry* registry = [] {
      auto* made = new Registry;  // never destroyed: pools may outlive static objects
      (void)os::on_fork(before_fork, after_fork_in_parent, after_fork_in_child);
      return made;
    }();
    return *registry;
  }
  static void before_fork() {
    get().mutex.lock();
    for (ThreadPool* pool : get().pools) pool->lock_->mutex.lock();
  }
  static void after_fork_in_parent() {
    for (ThreadPool* pool : get().pools) pool->lock_->mutex.unlock();
    get().mutex.unlock();
  }
  static void after_fork_in_child() {
    fork_generation.fetch_add(1);
    for (ThreadPool* pool : get().pools) pool->reset_in_child();
    after_fork_in_parent();
  }
};

ThreadPool::ThreadPool(Options options)
    : threads_(std::clamp(options.threads > 0 ? options.threads : default_thread_count(), 1, kMaxThreads)),
      affinity_(std::move(options.affinity)),
      hooks_(options.hooks),
      work_hooks_(options.work_hooks),
      watched_(options.work_hooks),
      out_of_memory_(Code::fail, "out of memory"),
      workers_(new Worker[static_cast<size_t>(threads_ - 1)]),
      slots_(new Slot[kSlots]),
      lock_(new Lock),
      free_slots_((uint64_t{1} << kSlots) - 1) {
  // With more threads than processors a spinning thread takes the processor of one that works.
  int cpus = static_cast<int>(os::allowed_cpus().size());
  bool spin = options.allow_spinning && (cpus == 0 || threads_ <= cpus);
  spin_ns_ = spin ? std::max(options.spin_microseconds, 0) * int64_t{1000} : 0;
  for (int i = 0; watched_ && i < kSlots; ++i) slots_[i].offers.reset(new void*[static_cast<size_t>(threads_ - 1)]);
  Registry& registry = Registry::get();
  std::lock_guard guard(registry.mutex);
  registry.pools.push_back(this);
}

ThreadPool::~ThreadPool() {
  {
    Registry& registry = Registry::get();
    std::lock_guard guard(registry.mutex);
    std::erase(registry.pools, this);
  }
  stopping_.store(true);
  wake_word_.fetch_add(1);
  os::wake(wake_word_, INT_MAX);
  for (int i = 0; i < started_.load(); ++i) {
    Worker& worker = workers_[i];
    if (!hooks_.create) {
      os::join_thread(worker.thread);
    } else if (hooks_.join) {
      hooks_.join(worker.hooked_thread);
    }
  }
}

std::shared_ptr<ThreadPool> ThreadPool::shared() {
  Registry& registry = Registry::get();
  {
    std::lock_guard guard(registry.mutex);
    if (auto pool = registry.shared.lock()) return pool;
  }
  auto made = std::make_shared<ThreadPool>();  // outside the lock, which its constructor takes
  std::lock_guard guard(registry.mutex);
  if (auto pool = registry.shared.lock()) {
    // Another thread was faster. `made` was declared before the guard, so it is destroyed after the lock is free.
    return pool;
  }
  registry.shared = made;
  return made;
}

bool ThreadPool::inside_loop() { return t_inside_loop; }

int ThreadPool::threads_for(int64_t count, int64_t grain, int max_threads) const {
  if (count <= 0 || t_inside_loop) return 1;
  int64_t most = max_threads > 0 ? std::min(max_threads, threads_) : threads_;
  return static_cast<int>(std::min(most, ceil_div(count, std::max<int64_t>(grain, 1))));
}

Status ThreadPool::call(Body body, int64_t begin, int64_t end) const noexcept {
#if defined(__cpp_exceptions)
  try {
    return body(begin, end);
  } catch (const std::bad_alloc&) {
    return out_of_memory_;
  } catch (const std::exception& e) {
    try {
      return Status(Code::runtime_exception, e.what());
    } catch (...) {
      return out_of_memory_;
    }
  } catch (...) {
    try {
      return Status(Code::runtime_exception, "unknown exception");
    } catch (...) {
      return out_of_memory_;
    }
  }
#else
  return body(begin, end);
#endif
}

Status ThreadPool::run(int64_t count, int64_t grain, Body body, int max_threads) {
  if (count <= 0) return {};
  grain = std::max<int64_t>(grain, 1);
  int want = threads_for(count, grain, max_threads);
  if (want <= 1) return call(body, 0, count);

  if (started_.load(std::memory_order_acquire) < want - 1) start_workers(want - 1);
  uint64_t free = free_slots_.load(std::memory_order_relaxed);
  while (free != 0 && !free_slots_.compare_exchange_weak(free, free & (free - 1), std::memory_order_acquire,
                                                         std::memory_order_relaxed)) {
  }
  if (free == 0) return call(body, 0, count);
  uint64_t slot_bit = free & (~free + 1);
  int64_t grains_per_range = std::max<int64_t>(ceil_div(count, grain) / (int64_t{want} * kRangesPerThread), 1);
  InsideLoop inside;
  return run_shared(slots_[std::countr_zero(slot_bit)], slot_bit, count, grain * grains_per_range, body, want);
}

Status ThreadPool::run_shared(Slot& slot, uint64_t slot_bit, int64_t count, int64_t chunk, Body body, int want) {
  const uint32_t generation = fork_generation.load(std::memory_order_relaxed);
  slot.body = &body;
  slot.count = count;
  slot.chunk = chunk;
  slot.chunks = ceil_div(count, chunk);
  slot.failed.store(false, std::memory_order_relaxed);
  slot.want = want;
  slot.shares.reset(slot.chunks, want);
  if (watched_) offer_work(slot, want - 1);
  slot.state.store(kOpen | kPermit * static_cast<uint32_t>(want - 1), std::memory_order_release);
  if (spin_ns_ > 0) {
    const int cpu = os::current_core();
    if (cpu != caller_cpu_.load(std::memory_order_relaxed)) caller_cpu_.store(cpu, std::memory_order_relaxed);
  }
  // Sequentially consistent with the worker's "parked, then look again": one of the two sees the other.
  open_slots_.fetch_or(slot_bit);
  wake_workers(want - 1);

  if (!claim_ranges(slot, 0, generation)) {
    // This is a child of fork now: the workers are gone, and what they had claimed stays undone. The slot is not ours.
    return error(Code::fail, "the process was forked inside a parallel loop, which cannot be continued in the child");
  }

  slot.state.fetch_and(~(kOpen | kPermits));
  open_slots_.fetch_and(~slot_bit, std::memory_order_relaxed);
  wait_for_workers(slot);
  if (watched_) abandon_work(slot);
  Status status = std::exchange(slot.error, Status{});
  free_slots_.fetch_or(slot_bit, std::memory_order_release);
  return status;
}

void ThreadPool::offer_work(Slot& slot, int count) const {
  slot.offered = count;
  slot.taken.store(0, std::memory_order_relaxed);
  for (int i = 0; i < count; ++i)
    slot.offers[i] = work_hooks_.enqueue ? work_hooks_.enqueue(work_hooks_.user) : nullptr;
}

// By a worker that has joined. No more join than there were offers.
void* ThreadPool::take_work(Slot& slot) const {
  void* data = slot.offers[slot.taken.fetch_add(1, std::memory_order_relaxed)];
  if (work_hooks_.start) work_hooks_.start(work_hooks_.user, data);
  return data;
}

// When nobody can join any more and all have left.
void ThreadPool::abandon_work(Slot& slot) const {
  if (!work_hooks_.abandon) return;
  for (int i = slot.taken.load(std::memory_order_relaxed); i < slot.offered; ++i)
    work_hooks_.abandon(work_hooks_.user, slot.offers[i]);
}

// Runs ranges until none is left or one has failed. False in a child process that the body forked.
bool ThreadPool::claim_ranges(Slot& slot, int share, uint32_t generation) {
  const Body body = *slot.body;
  const int64_t count = slot.count, chunk = slot.chunk, chunks = slot.chunks;
  while (!slot.failed.load(std::memory_order_relaxed)) {
    const int64_t i = slot.shares.take(share);
    if (i < 0) break;
    int64_t begin = i * chunk;
    Status status = call(body, begin, i + 1 == chunks ? count : begin + chunk);
    if (fork_generation.load(std::memory_order_relaxed) != generation) return false;
    if (!status.ok() && !slot.failed.exchange(true)) slot.error = std::move(status);
  }
  return true;
}

void ThreadPool::wait_for_workers(Slot& slot) {
  uint32_t state = slot.state.load(std::memory_order_acquire);
  if ((state & kActive) != 0 && spin_ns_ > 0) {
    int64_t deadline = 0;
    for (int looks = 1;; ++looks) {
      relax();
      state = slot.state.load(std::memory_order_acquire);
      if ((state & kActive) == 0) break;
      if (looks % kLooksPerClock != 0) continue;
      int64_t now = os::monotonic_ns();
      if (deadline == 0) deadline = now + spin_ns_;
      if (now >= deadline) break;
    }
  }
  while ((state & kActive) != 0) {
    if ((state & kCallerSleeps) == 0) {
      if (!slot.state.compare_exchange_weak(state, state | kCallerSleeps, std::memory_order_acquire)) continue;
      state |= kCallerSleeps;
    }
    os::wait_on(slot.state, state);
    state = slot.state.load(std::memory_order_acquire);
  }
}

void ThreadPool::wake_workers(int wanted) {
  int parked = parked_.load();
  int missing = wanted - spinning_.load();
  int count = std::min({missing, parked, kWakeAtOnce});
  if (count <= 0) return;
  wake_word_.fetch_add(1);
  os::wake(wake_word_, count);
}

void ThreadPool::start_workers(int wanted) {
  std::lock_guard guard(lock_->mutex);
  while (started_.load(std::memory_order_relaxed) < wanted && !start_failed_) {
    int index = started_.load(std::memory_order_relaxed);
    Worker& worker = workers_[index];
    worker.pool = this;
    worker.index = index;
    if (hooks_.create) {
      worker.hooked_thread = hooks_.create(hooks_.user, worker_main, &worker);
      start_failed_ = worker.hooked_thread == nullptr;
    } else {
      char name[32];
      std::snprintf(name, sizeof name, "trunnion-%d", index + 1);
      std::span<const int> cpus;
      if (static_cast<size_t>(index) < affinity_.size()) cpus = affinity_[index];
      Result<os::ThreadHandle> thread = os::start_thread({name, cpus, worker_main, &worker});
      start_failed_ = !thread.ok();  // the loops run with those that there are
      if (thread.ok()) worker.thread = *thread;
    }
    if (!start_failed_) started_.store(index + 1, std::memory_order_release);
  }
}

void ThreadPool::worker_main(void* worker) {
  auto* self = static_cast<Worker*>(worker);
  self->pool->work(self->index);
}

void ThreadPool::work(int index) {
  InsideLoop inside;
  const uint32_t generation = fork_generation.load(std::memory_order_relaxed);
  while (!stopping_.load()) {
    Slot* slot = join_open_job(index % kSlots);
    if (!slot) slot = wait_for_job(index % kSlots);
    if (!slot) continue;
    uint32_t permits = (slot->state.load(std::memory_order_relaxed) & kPermits) / kPermit;
    if (permits > 0) wake_workers(static_cast<int>(permits));
    void* const work = watched_ ? take_work(*slot) : nullptr;
    if (!claim_ranges(*slot, 1 + index % (slot->want - 1), generation))
      return;  // in a child of fork: the pool has forgotten this thread
    if (watched_ && work_hooks_.stop) work_hooks_.stop(work_hooks_.user, work);
    uint32_t before = slot->state.fetch_sub(1);
    if ((before & kActive) == 1 && (before & kCallerSleeps) != 0) os::wake(slot->state, 1);
  }
}

// A worker that wakes while the other processors are busy may be put on its caller's, and stays there for milliseconds
// although they become free: there are as many processors as threads, but these two would take turns on one.
void ThreadPool::keep_off_caller() {
  if (!affinity_.empty() || hooks_.create) return;
  const int cpu = os::current_core();
  if (cpu < 0 || cpu != caller_cpu_.load(std::memory_order_relaxed)) return;
  const int64_t now = os::monotonic_ns();
  if (now - t_moved_ns < kMoveInterval) return;  // with several callers there may be no processor without one
  t_moved_ns = now;
  os::leave_core(cpu);
}

// Looks for a job for a while, then sleeps until something happens. Null: nothing joined, look again.
ThreadPool::Slot* ThreadPool::wait_for_job(int first_slot) {
  if (spin_ns_ > 0) {
    spinning_.fetch_add(1);
    Slot* slot = nullptr;
    const int64_t begin = os::monotonic_ns();
    for (int looks = 1; !(slot = join_open_job(first_slot)) && !stopping_.load(); ++looks) {
      relax();
      if (looks % kLooksPerClock != 0) continue;
      keep_off_caller();
      int64_t patience = awake_scopes_.load(std::memory_order_relaxed) > 0 ? kAwakeFactor * spin_ns_ : spin_ns_;
      if (os::monotonic_ns() - begin >= patience) break;
    }
    spinning_.fetch_sub(1);
    if (slot) return slot;
  }
  uint32_t word = wake_word_.load();
  parked_.fetch_add(1);
  if (!stopping_.load() && !has_joinable_job()) os::wait_on(wake_word_, word);
  parked_.fetch_sub(1);
  if (spin_ns_ > 0) keep_off_caller();
  return nullptr;
}

// Takes a permit of an open job, beginning the search at a slot of the worker's own so that workers spread over jobs.
ThreadPool::Slot* ThreadPool::join_open_job(int first_slot) {
  uint64_t open = open_slots_.load();
  if (open == 0) return nullptr;
  for (int n = 0; n < kSlots; ++n) {
    int i = (first_slot + n) % kSlots;
    if ((open >> i & 1) == 0) continue;
    uint32_t state = slots_[i].state.load(std::memory_order_relaxed);
    while ((state & kOpen) != 0 && (state & kPermits) != 0) {
      if (slots_[i].state.compare_exchange_weak(state, state - kPermit + 1, std::memory_order_acquire,
                                                std::memory_order_relaxed)) {
        return &slots_[i];
      }
    }
  }
  return nullptr;
}

bool ThreadPool::has_joinable_job() const {
  uint64_t open = open_slots_.load();
  for (int i = 0; i < kSlots; ++i) {
    if ((open >> i & 1) == 0) continue;
    uint32_t state = slots_[i].state.load();
    if ((state & kOpen) != 0 && (state & kPermits) != 0) return true;
  }
  return false;
}

// One thread exists and holds lock_. Jobs of threads that are gone are forgotten; workers start anew at the next loop.
void ThreadPool::reset_in_child() {
  for (int i = 0; i < kSlots; ++i) slots_[i].state.store(0);
  open_slots_.store(0);
  free_slots_.store((uint64_t{1} << kSlots) - 1);
  spinning_.store(0);
  parked_.store(0);
  started_.store(0);
  awake_scopes_.store(0);
  forks_.fetch_add(1);
  start_failed_ = false;
}

}  // namespace trunnion
