// Frame: the memory and the argument tables of one run. Frames are kept and reused: a run with the shapes of the one
// before finds every pointer in place.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "run/executor.h"
#include "run/loop_times.h"

namespace trunnion::run {

// A block of 64-byte aligned memory that only grows.
class Block {
 public:
  Block() = default;
  Block(Block&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Block();
  Status reserve(size_t bytes);
  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

class Frame final : public ops::KernelHost {
 public:
  explicit Frame(const plan::Program& program);

  // Makes the tables fit segment `s` as the depth-th of this run. Outputs get buffers (the caller's where given[k],
  // else new ones).
  Status bind(size_t depth, std::shared_ptr<const plan::Segment> s, std::span<trunnion::Value> outputs,
              std::span<const bool> given);
  bool bound_to(const plan::Segment* root) const { return !bound_.empty() && bound_[0].segment.get() == root; }
  void set_input(int value, const Feed& feed);
  // Runs one step whose output shapes are not planned (no bodies).
  Status run_dynamic(int step);
  // Moves or copies what the outputs are not yet, after the last segment.
  Status finish(std::span<trunnion::Value> outputs, std::span<const bool> given, std::span<const bool> wanted);
  void end_run();  // drops what the run held: dynamic values, feeds
  size_t arena_bytes() const;

  plan::Known known(int value) const;
  Feed feed(int value);  // what a body captures
  // The value as one that outlives the run: shared where nobody writes it again, else copied.
  trunnion::Value copy_of(int value);
  // Sets a value that a control-flow or dynamic step made.
  void set_value(int value, trunnion::Value v);
  void release_before(int step);  // dynamic values that neither it nor a later step needs
  void record(const plan::Step& step, int64_t begin_ns, int64_t end_ns);  // tells the run's recorder

  // ops::KernelHost
  void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> fn) override;
  int threads() const override { return env->threads; }
  Result<TensorView*> allocate_output(int i, DType dtype, std::span<const int64_t> dims) override;
  void set_output(int i, trunnion::Value value) override;
  trunnion::Value input_value(int i) override;
  bool cancelled() const override { return env->cancelled(); }

  const plan::Program& program;
  const RunEnv* env = nullptr;
  SmallVector<bool, 16> given;               // by output: the caller's buffer
  std::vector<TensorView> views;             // by value id
  std::vector<trunnion::Value> held;         // by value id: values that are no arena tensor
  std::vector<ops::KernelContext> contexts;  // by step
  Status task_error;                         // of parallel_for

 private:
  struct Bound {
    std::shared_ptr<const plan::Segment> segment;
    std::byte* base = nullptr;
    std::vector<std::pair<int, int>> aliases;  // value, root: pointers that may change from run to run
    std::vector<std::pair<int, int>> outputs;  // value, output
  };
  struct Lent {
    int value;
    Block block;
  };
  Status bind_outputs(const Bound& bound, std::span<trunnion::Value> outputs, std::span<const bool> given);
  Result<Block> take_block(size_t bytes);
  void recorded_loop(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> fn);
  Result<Tensor> fresh(DType dtype, std::span<const int64_t> dims) const;  // for what may leave the run
  bool shared_out(int value) const;  // what is held may be handed out: nobody writes it again

  std::vector<const TensorView*> in_;
  std::vector<TensorView*> out_;
  std::vector<const Tensor*> folded_;        // by value id
  std::vector<Block> arenas_;                // by depth
  std::vector<Bound> bound_;                 // by depth
  std::vector<const trunnion::Value*> fed_;  // by value id: owners of inputs
  std::vector<int> dynamic_;                 // values set during this run
  std::vector<Lent> lent_;                   // memory of dynamic values
  std::vector<Block> spare_;                 // the same, free
  Block scratch_;                            // of a dynamic step
  Tensor ignored_;                           // an output that nobody wants, and
  TensorView unwanted_;                      // where its step puts it
  const plan::Step* current_ = nullptr;
  std::unique_ptr<LoopTimes> loops_;  // of the step that runs, in a run that is recorded
};

}  // namespace trunnion::run
