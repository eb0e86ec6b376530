// One call of a session: names to places, checks of what is fed, the run, results to where the caller wants them.
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/os.h"
#include "session/session.h"

namespace trunnion::session {

Result<int> Session::find_input(std::string_view name) const {
  if (const auto it = feed_index_.find(name); it != feed_index_.end()) return it->second;
  std::vector<std::string_view> names;
  for (const auto& f : feeds_) names.push_back(f.name);
  return invalid_argument("Invalid input name: {} (the model has: {})", name, fmt::join(names, ", "));
}

Status Session::check_feed(int port, const Value& value) const {
  const Port& p = feeds_[static_cast<size_t>(port)];
  const Type& want = p.type;
  if (!value.has_value()) {
    if (want.kind == Type::Kind::optional || want.kind == Type::Kind::unknown) return {};
    return invalid_argument("input '{}' has no value, expected {}", p.name, want.text());
  }
  const Type* expected = want.kind == Type::Kind::optional && want.inner ? want.inner.get() : &want;
  if (value.is_tensor() && expected->is_tensor()) {
    const Tensor& t = value.tensor();
    if (expected->dtype != DType::undefined && t.dtype() != expected->dtype)
      return invalid_argument("Unexpected input data type. Actual: ({}) , expected: ({}) for input '{}'",
                              value.type().text(), expected->text(), p.name);
    if (!expected->shape) return {};
    const SymShape& dims = *expected->shape;
    if (static_cast<size_t>(t.rank()) != dims.size())
      return invalid_argument(
          "Invalid rank for input: {} Got: {} Expected: {} Please fix either the inputs/outputs or the model.", p.name,
          t.rank(), dims.size());
    std::string wrong;
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[i].is_int() && dims[i].value() != t.shape()[i])
        wrong += fmt::format(" index: {} Got: {} Expected: {}\n", i, t.shape()[i], dims[i].value());
    if (!wrong.empty())
      return invalid_argument(
          "Got invalid dimensions for input: {} for the following indices\n{} Please fix either the inputs/outputs or "
          "the model.",
          p.name, wrong);
    return {};
  }
  if (value.is_tensor() && !same_kind(*expected, value.type()))
    return invalid_argument("Input with name: '{}' expected to be of type: {} but received a tensor.", p.name,
                            expected->text());
  if (!same_kind(*expected, value.type()))
    return invalid_argument("Unexpected input data type. Actual: ({}) , expected: ({}) for input '{}'",
                            value.type().text(), expected->text(), p.name);
  return {};
}

Status Session::fill_feeds(Call& call, std::span<const char* const> input_names,
                           std::span<const Value* const> inputs) const {
  call.feeds.resize(feeds_.size());
  call.fed.assign(feeds_.size(), false);
  for (size_t i = 0; i < input_names.size(); ++i) {
    TRN_ASSIGN(const int port, find_input(input_names[i]));
    TRN_TRY(check_feed(port, *inputs[i]));
    call.feeds[static_cast<size_t>(port)] = run::feed_of(*inputs[i]);
    call.fed[static_cast<size_t>(port)] = true;
  }
  for (size_t i = 0; i < feeds_.size(); ++i) {
    if (call.fed[i]) continue;
    if (!defaults_[i].has_value() && feeds_[i].type.kind != Type::Kind::optional)
      return invalid_argument("Missing Input: {} (expected {})", feeds_[i].name, feeds_[i].type.text());
    call.feeds[i] = run::feed_of(defaults_[i]);
  }
  return {};
}

// True when every output is asked for once and in order.
Result<bool> Session::find_outputs(Call& call, std::span<const char* const> output_names) const {
  bool straight = output_names.size() == outputs_.size();
  call.ports.resize(output_names.size());
  for (size_t k = 0; k < output_names.size(); ++k) {
    if (k < outputs_.size() && outputs_[k].name == output_names[k]) {
      call.ports[k] = static_cast<int>(k);
      continue;
    }
    const auto it = output_index_.find(output_names[k]);
    if (it == output_index_.end()) {
      std::vector<std::string_view> names;
      for (const auto& o : outputs_) names.push_back(o.name);
      return invalid_argument("Invalid output name:{} (the model has: {})", output_names[k], fmt::join(names, ", "));
    }
    call.ports[k] = it->second;
    straight = false;
  }
  return straight;
}

Status Session::run_call(Call& call, const RunOptions& options, std::span<const char* const> input_names,
                         std::span<const Value* const> inputs, std::span<const char* const> output_names,
                         std::span<Value> outputs) {
  TRN_TRY(fill_feeds(call, input_names, inputs));
  TRN_ASSIGN(const bool straight, find_outputs(call, output_names));
  run::RunEnv env;
  env.pool = pool_.get();
  env.threads = threads_;
  env.terminate = &options.terminate;
  std::unique_ptr<Profile> own;
  if (options.profiling)
    own =
        std::make_unique<Profile>(options.profile_prefix.empty() ? "onnxruntime_run_profile" : options.profile_prefix);
  auto* profile = own ? own.get() : profile_.get();
  env.recorder = profile;
  const int64_t begin = profile ? os::monotonic_ns() : 0;

  Status status;
  {
    // Workers that have helped once stay awake through the serial parts between two loops.
    std::optional<ThreadPool::KeepAwake> awake;
    if (pool_ && threads_ > 1) awake.emplace(*pool_);
    if (straight) {  // results go straight to the caller's entries
      status = executor_->run(env, call.feeds, outputs);
    } else {
      call.all.assign(outputs_.size(), Value());
      call.wanted.assign(outputs_.size(), false);
      for (size_t k = 0; k < output_names.size(); ++k) {
        const auto port = static_cast<size_t>(call.ports[k]);
        call.wanted[port] = true;
        if (outputs[k].has_value()) call.all[port] = outputs[k];
      }
      status = executor_->run(env, call.feeds, call.all, call.wanted.span());
      if (status.ok())
        for (size_t k = 0; k < output_names.size(); ++k) outputs[k] = call.all[static_cast<size_t>(call.ports[k])];
    }
  }
  if (profile) {
    profile->event("Session", "model_run", begin, os::monotonic_ns());
    if (own) TRN_TRY(own->finish());
  }
  if (options.config.contains("memory.enable_memory_arena_shrinkage")) executor_->trim();
  return status;
}

Status Session::run(const RunOptions& options, std::span<const char* const> input_names,
                    std::span<const Value* const> inputs, std::span<const char* const> output_names,
                    std::span<Value> outputs) {
  if (options.terminate.load(std::memory_order_relaxed)) return run::terminated();
  std::unique_ptr<Call> call;
  {
    std::lock_guard guard(calls_lock_);
    if (!calls_.empty()) {
      call = std::move(calls_.back());
      calls_.pop_back();
    }
  }
  if (!call) call = std::make_unique<Call>();
  Status status = run_call(*call, options, input_names, inputs, output_names, outputs);
  call->feeds.clear();
  call->all.clear();
  std::lock_guard guard(calls_lock_);
  calls_.push_back(std::move(call));
  return status;
}

}  // namespace trunnion::session
