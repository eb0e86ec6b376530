#include "run/executor.h"

#include <algorithm>
#include <mutex>

#include "base/error.h"
#include "base/os.h"
#include "run/control_flow.h"
#include "run/frame.h"

namespace trunnion::run {

Status step_error(const plan::Step& step, const Status& status) {
  if (status.message() == terminated().message()) return status;
  return error(status.code(), "Non-zero status code returned while running {} node. Name:'{}' Status Message: {}",
               step.node->op_type(), step.node->name(), status.message());
}

Status terminated() { return Status(Code::fail, "Exiting due to terminate flag being set to true."); }

Executor::Executor(const plan::Program& program, int threads) : program_(program), threads_(threads) {
  bodies_.resize(program.steps.size());
  for (size_t i = 0; i < program.steps.size(); ++i)
    for (const auto& b : program.steps[i].bodies) bodies_[i].push_back(std::make_unique<Executor>(*b.program, threads));
}

Executor::~Executor() = default;

Result<PlanCache::SegmentPtr> Executor::first_segment(std::span<const Feed> feeds) {
  const auto item = [&](size_t i) -> KeyItem {
    if (feeds[i].view.dtype != DType::undefined) return {&feeds[i].view, 0};
    return {nullptr, feeds[i].value ? static_cast<int>(feeds[i].value->kind()) : 0};
  };
  const KeyItems key{feeds.size(), item};
  if (auto segment = plans_.find(nullptr, key)) return segment;

  std::vector<const Feed*> by_value(program_.values.size(), nullptr);
  std::vector<TensorView> constants(program_.values.size());
  for (size_t i = 0; i < feeds.size(); ++i) by_value[static_cast<size_t>(program_.inputs[i])] = &feeds[i];
  const auto known = [&](int v) -> plan::Known {
    const auto id = static_cast<size_t>(v);
    const Tensor& constant = program_.values[id].constant;
    if (by_value[id])
      return by_value[id]->view.dtype == DType::undefined ? plan::Known{} : plan::Known{&by_value[id]->view, nullptr};
    if (!constant.valid()) return {};
    constants[id] = constant.view();
    return {&constants[id], constant.raw() || constant.count() == 0 ? &constant : nullptr};
  };
  TRN_ASSIGN(auto segment, plan::make_segment(program_, 0, known, threads_));
  return plans_.add(nullptr, key, std::move(segment));
}

Result<PlanCache::SegmentPtr> Executor::next_segment(const PlanCache::SegmentPtr& from, const Frame& frame) {
  const auto& outputs = program_.steps[static_cast<size_t>(from->end)].outputs;
  const auto item = [&](size_t i) -> KeyItem {
    if (outputs[i] < 0) return {};
    const auto v = static_cast<size_t>(outputs[i]);
    if (frame.views[v].dtype != DType::undefined) return {&frame.views[v], 0};
    return {nullptr, static_cast<int>(frame.held[v].kind())};
  };
  const KeyItems key{outputs.size(), item};
  if (auto segment = plans_.find(from.get(), key)) return segment;
  const auto known = [&](int v) { return frame.known(v); };
  TRN_ASSIGN(auto segment, plan::make_segment(program_, from->end + 1, known, threads_));
  return plans_.add(from, key, std::move(segment));
}

std::unique_ptr<Frame> Executor::acquire(const plan::Segment* root) {
  {
    std::lock_guard guard(lock_);
    if (!idle_.empty()) {
      auto it = std::find_if(idle_.rbegin(), idle_.rend(), [&](auto& f) { return f->bound_to(root); });
      auto at = it == idle_.rend() ? std::prev(idle_.end()) : std::prev(it.base());
      auto frame = std::move(*at);
      idle_.erase(at);
      return frame;
    }
  }
  return std::make_unique<Frame>(program_);
}

void Executor::give_back(std::unique_ptr<Frame> frame) {
  frame->end_run();
  std::lock_guard guard(lock_);
  idle_.push_back(std::move(frame));
}

size_t Executor::arena_bytes() const {
  size_t n = 0;
  {
    std::lock_guard guard(lock_);
    for (const auto& f : idle_) n += f->arena_bytes();
  }
  for (const auto& list : bodies_)
    for (const auto& b : list) n += b->arena_bytes();
  return n;
}

void Executor::trim() {
  std::vector<std::unique_ptr<Frame>> gone;  // destroyed after the lock is free
  {
    std::lock_guard guard(lock_);
    gone.swap(idle_);
  }
  for (const auto& list : bodies_)
    for (const auto& b : list) b->trim();
}

namespace {

Status run_planned(const plan::Segment& segment, Frame& frame, const RunEnv& env) {
  for (const auto& planned : segment.steps) {
    if (env.cancelled()) return terminated();
    const plan::Step& step = frame.program.steps[static_cast<size_t>(planned.step)];
    const int64_t begin = env.recorder ? os::monotonic_ns() : 0;
    Status s = planned.executable->run(frame.contexts[static_cast<size_t>(planned.step)]);
    if (env.recorder) frame.record(step, begin, os::monotonic_ns());
    if (!s.ok()) return step_error(step, s);
    if (!frame.task_error.ok()) return step_error(step, frame.task_error);
  }
  return {};
}

}  // namespace

Status Executor::run_segments(Frame& frame, PlanCache::SegmentPtr segment, const RunEnv& env,
                              std::span<trunnion::Value> outputs, std::span<const bool> wanted) {
  const std::span<const bool> given(frame.given.data(), outputs.size());
  for (size_t depth = 0;; ++depth) {
    TRN_TRY(frame.bind(depth, segment, outputs, given));
    TRN_TRY(run_planned(*segment, frame, env));
    if (segment->end == static_cast<int>(program_.steps.size())) break;
    const int index = segment->end;
    const plan::Step& step = program_.steps[static_cast<size_t>(index)];
    if (env.cancelled()) return terminated();
    const int64_t begin = env.recorder ? os::monotonic_ns() : 0;
    Status s =
        step.kind == plan::Step::Kind::kernel ? frame.run_dynamic(index) : run_control_flow(*this, index, frame, env);
    if (s.ok()) s = frame.task_error;
    if (env.recorder) frame.record(step, begin, os::monotonic_ns());
    if (!s.ok()) return step_error(step, s);
    TRN_ASSIGN(segment, next_segment(segment, frame));
    frame.release_before(index + 1);
  }
  return frame.finish(outputs, given, wanted);
}

Status Executor::run(const RunEnv& env, std::span<const Feed> feeds, std::span<trunnion::Value> outputs,
                     std::span<const bool> wanted) {
  TRN_ASSIGN(auto segment, first_segment(feeds));
  auto frame = acquire(segment.get());
  frame->env = &env;
  frame->task_error = {};
  frame->given.resize(outputs.size());
  for (size_t k = 0; k < outputs.size(); ++k) frame->given[k] = outputs[k].has_value();
  for (size_t i = 0; i < feeds.size(); ++i) frame->set_input(program_.inputs[i], feeds[i]);
  Status status = run_segments(*frame, std::move(segment), env, outputs, wanted);
  if (!status.ok())
    for (size_t k = 0; k < outputs.size(); ++k)
      if (!frame->given[k]) outputs[k] = {};
  give_back(std::move(frame));
  return status;
}

}  // namespace trunnion::run
