#include "run/executor.h"

#include <algorithm>

#include "base/error.h"
#include "base/os.h"
#include "run/control_flow.h"
#include "run/frame.h"

namespace trunnion::run {

Status step_error(const plan::Step& step, const Status& status) {
  if (status.message() == terminated().message()) return status;
  return error(status.code(), "Non-zero status code returned while running {} node. Name:'{}' Status Message: {}", step.node->op_type(),
               step.node->name(), status.message());
}

Status terminated() { return Status(Code::fail, "Exiting due to terminate flag being set to true."); }

Executor::Executor(const plan::Program& program, int threads) : program_(program), threads_(threads) {
  bodies_.resize(program.steps.size());
  for (size_t i = 0; i < program.steps.size(); ++i)
    for (const auto& b : program.steps[i].bodies) bodies_[i].push_back(std::make_unique<Executor>(*b.program, threads));
}

Executor::~Executor() = default;

Result<std::shared_ptr<const plan::Segment>> Executor::root_segment(std::span<const Feed> feeds) {
  plan::ShapeKey key;
  for (const auto& f : feeds) {
    if (f.view.dtype != DType::undefined)
      plan::append_key(key, f.view);
    else
      plan::append_key_other(key, f.value ? static_cast<int>(f.value->kind()) : 0);
  }
  {
    std::lock_guard lock(mutex_);
    for (size_t i = plans_.size(); i-- > 0;)
      if (plans_[i].key == key) {
        if (i + 1 != plans_.size()) std::rotate(plans_.begin() + static_cast<long>(i), plans_.begin() + static_cast<long>(i) + 1, plans_.end());
        return plans_.back().segment;
      }
  }
  std::vector<const Feed*> by_value(program_.values.size(), nullptr);
  std::vector<TensorView> constants(program_.values.size());
  for (size_t i = 0; i < feeds.size(); ++i) by_value[static_cast<size_t>(program_.inputs[i])] = &feeds[i];
  const auto known = [&](int v) -> plan::Known {
    const auto id = static_cast<size_t>(v);
    const plan::ValueInfo& info = program_.values[id];
    if (by_value[id]) return by_value[id]->view.dtype == DType::undefined ? plan::Known{} : plan::Known{&by_value[id]->view, nullptr};
    if (!info.constant.valid()) return {};
    constants[id] = info.constant.view();
    return {&constants[id], &info.constant};
  };
  TRN_ASSIGN(auto segment, plan::make_segment(program_, 0, known, threads_));
  std::lock_guard lock(mutex_);
  if (plans_.size() >= kMaxPlans) plans_.erase(plans_.begin());
  plans_.push_back({std::move(key), segment});
  return segment;
}

std::unique_ptr<Frame> Executor::acquire(const plan::Segment* root) {
  {
    std::lock_guard lock(mutex_);
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
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(frame));
}

size_t Executor::arena_bytes() const {
  size_t n = 0;
  std::lock_guard lock(mutex_);
  for (const auto& f : idle_) n += f->arena_bytes();
  for (const auto& list : bodies_)
    for (const auto& b : list) n += b->arena_bytes();
  return n;
}

size_t Executor::cached_plans() const {
  std::lock_guard lock(mutex_);
  return plans_.size();
}

void Executor::trim() {
  {
    std::lock_guard lock(mutex_);
    idle_.clear();
  }
  for (const auto& list : bodies_)
    for (const auto& b : list) b->trim();
}

namespace {

Result<std::shared_ptr<const plan::Segment>> next_segment(const plan::Segment& from, const Frame& frame, int threads) {
  constexpr size_t kMaxChildren = 16;
  plan::ShapeKey key;
  frame.append_output_key(key, from.end);
  {
    std::lock_guard lock(from.mutex);
    for (size_t i = from.children.size(); i-- > 0;)
      if (from.children[i].key == key) return from.children[i].segment;
  }
  TRN_ASSIGN(auto segment, plan::make_segment(*from.program, from.end + 1, [&](int v) { return frame.known(v); }, threads));
  std::lock_guard lock(from.mutex);
  if (from.children.size() >= kMaxChildren) from.children.erase(from.children.begin());
  from.children.push_back({std::move(key), segment});
  return segment;
}

Status run_planned(const plan::Segment& segment, Frame& frame, const RunEnv& env) {
  const auto& steps = frame.program.steps;
  if (!env.recorder) {
    for (const auto& planned : segment.steps) {
      if (env.cancelled()) return terminated();
      if (Status s = planned.executable->run(frame.contexts[static_cast<size_t>(planned.step)]); !s.ok())
        return step_error(steps[static_cast<size_t>(planned.step)], s);
    }
  } else {
    for (const auto& planned : segment.steps) {
      if (env.cancelled()) return terminated();
      const int64_t begin = os::monotonic_ns();
      Status s = planned.executable->run(frame.contexts[static_cast<size_t>(planned.step)]);
      env.recorder->step(steps[static_cast<size_t>(planned.step)], begin, os::monotonic_ns());
      if (!s.ok()) return step_error(steps[static_cast<size_t>(planned.step)], s);
    }
  }
  return frame.task_error;
}

}  // namespace

Status Executor::run(const RunEnv& env, std::span<const Feed> feeds, std::span<trunnion::Value> outputs, std::span<const bool> wanted) {
  TRN_ASSIGN(auto segment, root_segment(feeds));
  auto frame = acquire(segment.get());
  frame->env = &env;
  frame->task_error = {};
  SmallVector<bool, 16> given(outputs.size(), false);
  for (size_t k = 0; k < outputs.size(); ++k) given[k] = outputs[k].has_value();
  for (size_t i = 0; i < feeds.size(); ++i) frame->set_input(program_.inputs[i], feeds[i]);

  const auto run_all = [&]() -> Status {
    for (size_t depth = 0;; ++depth) {
      TRN_TRY(frame->bind(depth, segment, outputs, given));
      TRN_TRY(run_planned(*segment, *frame, env));
      if (segment->end == static_cast<int>(program_.steps.size())) break;
      const int index = segment->end;
      const plan::Step& step = program_.steps[static_cast<size_t>(index)];
      if (env.cancelled()) return terminated();
      const int64_t begin = env.recorder ? os::monotonic_ns() : 0;
      Status s = step.kind == plan::Step::Kind::kernel ? frame->run_dynamic(index) : run_control_flow(*this, index, *frame, env);
      if (s.ok()) s = frame->task_error;
      if (env.recorder) env.recorder->step(step, begin, os::monotonic_ns());
      if (!s.ok()) return step_error(step, s);
      TRN_ASSIGN(auto next, next_segment(*segment, *frame, threads_));
      frame->release_before(index + 1);
      segment = std::move(next);
    }
    return frame->finish(outputs, given, wanted);
  };
  Status status = run_all();
  if (!status.ok())
    for (size_t k = 0; k < outputs.size(); ++k)
      if (!given[k]) outputs[k] = {};
  give_back(std::move(frame));
  return status;
}

}  // namespace trunnion::run
