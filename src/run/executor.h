// Executor: runs a Program. Holds what runs share: plans by input shapes, and frames (one per concurrent run).
#pragma once
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/fork_lock.h"
#include "base/thread_pool.h"
#include "plan/program.h"
#include "run/block_cache.h"
#include "run/plan_cache.h"
#include "tensor/value.h"

namespace trunnion::run {

// What one thread did in the loops of a step.
struct ThreadShare {
  uint64_t thread = 0;  // as the system's tools show it
  int core = -1;        // where it was last; -1: unknown
  int64_t ranges = 0, ns = 0;
};

// An executed step as a profile has it.
struct StepRecord {
  const plan::Program& program;
  const plan::Step& step;
  std::span<const TensorView> values;    // by value id: types and shapes; elements may be gone
  std::span<const int64_t> grains;       // of the loops that were offered to the pool, in order
  std::span<const ThreadShare> threads;  // that took part in them
  int64_t begin_ns = 0, end_ns = 0;
};

// Gets what is executed, for the profile. Called on the thread that runs the program.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void step(const StepRecord& record) = 0;
};

// What one call of a session brings along.
struct RunEnv {
  ThreadPool* pool = nullptr;
  int threads = 1;                               // cap for this session
  const std::atomic<bool>* terminate = nullptr;  // polled between steps and iterations
  Recorder* recorder = nullptr;
  BlockCache* blocks = nullptr;  // null: outputs come from the heap
  bool cancelled() const { return terminate && terminate->load(std::memory_order_relaxed); }
};

// One input of a run. `value` owns the elements (or is null, when only a view exists: captures in an arena).
struct Feed {
  TensorView view;                         // dtype undefined: not a tensor, look at value
  const trunnion::Value* value = nullptr;  // may be null
};
inline Feed feed_of(const trunnion::Value& v) { return v.is_tensor() ? Feed{v.tensor().view(), &v} : Feed{{}, &v}; }

class Frame;

class Executor {
 public:
  explicit Executor(const plan::Program& program, int threads);
  ~Executor();

  // Runs the whole program. Feeds are in the order of Program::inputs. `outputs` has one entry per program output:
  // an entry that holds a tensor is a buffer to be filled (its type and shape must be right), others are replaced.
  // `wanted` (may be empty = all): outputs that nobody asked for are computed but not handed out.
  Status run(const RunEnv& env, std::span<const Feed> feeds, std::span<trunnion::Value> outputs,
             std::span<const bool> wanted = {});

  const plan::Program& program() const { return program_; }
  // Executors of a control-flow step's bodies.
  Executor& body(int step, int i) { return *bodies_[static_cast<size_t>(step)][static_cast<size_t>(i)]; }
  size_t arena_bytes() const;  // memory held by idle frames, bodies included
  const PlanCache& plans() const { return plans_; }
  void trim();  // gives the memory of idle frames back

 private:
  Result<PlanCache::SegmentPtr> first_segment(std::span<const Feed> feeds);
  Result<PlanCache::SegmentPtr> next_segment(const PlanCache::SegmentPtr& from, const Frame& frame);
  Status run_segments(Frame& frame, PlanCache::SegmentPtr segment, const RunEnv& env,
                      std::span<trunnion::Value> outputs, std::span<const bool> wanted);
  std::unique_ptr<Frame> acquire(const plan::Segment* root);
  void give_back(std::unique_ptr<Frame> frame);

  const plan::Program& program_;
  int threads_;
  std::vector<std::vector<std::unique_ptr<Executor>>> bodies_;  // by step
  PlanCache plans_;
  mutable ForkLock lock_;
  std::vector<std::unique_ptr<Frame>> idle_;  // most recently used last
};

// "Non-zero status code returned while running Conv node. Name:'conv1' Status Message: ..." as ONNX Runtime says it.
Status step_error(const plan::Step& step, const Status& status);
Status terminated();

}  // namespace trunnion::run
