// One call of a session: names to places, checks of what is fed, the run, results to where the caller wants them.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include "base/denormals.h"
#include "base/error.h"
#include "base/os.h"
#include "session/check_options.h"
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
    if (dims.empty() && t.count() == 1) return {};  // fill_feeds takes it as the scalar that it stands for
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
    run::Feed& feed = call.feeds[static_cast<size_t>(port)] = run::feed_of(*inputs[i]);
    const Type& type = feeds_[static_cast<size_t>(port)].type;
    // One element for a scalar, as ONNX Runtime lets clients feed it (Silero VAD's sample rate).
    if (feed.view.rank > 0 && type.is_tensor() && type.shape && type.shape->empty()) {
      feed.view.rank = 0;
      feed.value = nullptr;
    }
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

Status Session::hand_out(int port, const Value& result, bool result_is_callers, Value& to) const {
  const bool own = to.has_value();
  if (!result.is_tensor() || (!own && !result_is_callers)) {
    to = result;
    return {};
  }
  const Tensor& from = result.tensor();
  if (own && to.is_tensor() && to.tensor().raw() == from.raw() && to.tensor().shape() == from.shape()) return {};
  if (!own) {  // the result lies in the buffer of another entry, which may go before this one
    TRN_ASSIGN(Tensor t,
               blocks_ ? blocks_->allocate(from.dtype(), from.shape()) : Tensor::allocate(from.dtype(), from.shape()));
    to = std::move(t);
  } else if (!to.is_tensor() || to.tensor().dtype() != from.dtype() || to.tensor().shape() != from.shape()) {
    return invalid_argument("output '{}': the buffer given is {} {}, the result is tensor({}) {}",
                            outputs_[static_cast<size_t>(port)].name, to.type().text(),
                            to.is_tensor() ? shape_text(to.tensor().shape()) : "", dtype_name(from.dtype()),
                            shape_text(from.shape()));
  }
  if (from.dtype() == DType::string)
    std::copy_n(from.data<std::string>(), from.count(), to.tensor().data<std::string>());
  else if (from.bytes())
    std::memcpy(to.tensor().raw(), from.raw(), from.bytes());
  return {};
}

// Once for each output: a service would have a line a run.
void Session::check_declared(const Call& call, std::span<const Value> outputs) {
  for (size_t k = 0; k < outputs.size(); ++k) {
    const auto port = static_cast<size_t>(call.ports[k]);
    if (!declared_[port] || !outputs[k].is_tensor()) continue;
    const SymShape& want = *declared_[port];
    const auto& got = outputs[k].tensor().shape();
    bool same = want.size() == got.size();
    for (size_t i = 0; i < got.size() && same; ++i) same = !want[i].is_int() || want[i].value() == got[i];
    if (same) continue;
    {
      std::lock_guard guard(calls_lock_);
      if (!told_.insert("output " + outputs_[port].name).second) continue;
    }
    TRN_LOG(logger_, warning, "Expected shape from model of {} does not match actual shape of {} for output {}",
            shape_text(want), shape_text(got), outputs_[port].name);
  }
}

Status Session::run_call(Call& call, const RunOptions& options, std::span<const char* const> input_names,
                         std::span<const Value* const> inputs, std::span<const char* const> output_names,
                         std::span<Value> outputs, size_t concurrent) {
  TRN_TRY(fill_feeds(call, input_names, inputs));
  TRN_ASSIGN(const bool straight, find_outputs(call, output_names));
  run::RunEnv env;
  env.pool = pool_.get();
  env.threads = threads_;
  env.terminate = &options.terminate;
  std::unique_ptr<Profile> own;
  if (options.profiling)
    own = std::make_unique<Profile>(options.profile_prefix.empty() ? "onnxruntime_run_profile" : options.profile_prefix,
                                    placement_);
  auto* profile = own ? own.get() : profile_.get();
  env.recorder = profile;
  env.blocks = blocks_.get();
  const int64_t begin = profile ? os::monotonic_ns() : 0;

  Status status;
  {
    // Workers that have helped once stay awake through the serial parts between two loops.
    std::optional<ThreadPool::KeepAwake> awake;
    if (pool_ && threads_ > 1) awake.emplace(*pool_);
    std::optional<FlushDenormals> flush;
    if (flush_denormals_) flush.emplace();
    const int64_t started = profile ? os::monotonic_ns() : 0;
    if (straight) {  // results go straight to the caller's entries
      status = executor_->run(env, call.feeds, outputs);
    } else {
      call.all.assign(outputs_.size(), Value());
      call.wanted.assign(outputs_.size(), false);
      call.given.assign(outputs_.size(), false);
      for (size_t k = 0; k < output_names.size(); ++k) {
        const auto port = static_cast<size_t>(call.ports[k]);
        call.wanted[port] = true;
        if (!outputs[k].has_value() || call.all[port].has_value()) continue;
        call.all[port] = outputs[k];
        call.given[port] = true;
      }
      status = executor_->run(env, call.feeds, call.all, call.wanted.span());
      for (size_t k = 0; k < output_names.size() && status.ok(); ++k) {
        const auto port = static_cast<size_t>(call.ports[k]);
        status = hand_out(call.ports[k], call.all[port], call.given[port], outputs[k]);
      }
    }
    if (profile) profile->event("Session", "SequentialExecutor::Execute", started, os::monotonic_ns());
  }
  if (status.ok() && !declared_.empty()) check_declared(call, outputs);
  if (blocks_) {
    size_t bytes = 0;
    for (const Value& v : outputs)
      if (v.is_tensor() && v.tensor().bytes() >= run::BlockCache::kLeastBytes) bytes += v.tensor().bytes();
    blocks_->run_ended(bytes, concurrent);
  }
  if (profile) {
    profile->event("Session", "model_run", begin, os::monotonic_ns());
    if (own) TRN_TRY(own->finish());
  }
  if (options.config.contains("memory.enable_memory_arena_shrinkage")) {
    executor_->trim();
    if (blocks_) blocks_->clear();
  }
  return status;
}

// Every provider that was told of the beginning is told of the end.
Status Session::run_with_providers(Call& call, const RunOptions& options, std::span<const char* const> input_names,
                                   std::span<const Value* const> inputs, std::span<const char* const> output_names,
                                   std::span<Value> outputs, size_t concurrent) {
  if (providers_.size() == 1) return run_call(call, options, input_names, inputs, output_names, outputs, concurrent);
  std::vector<std::unique_lock<std::mutex>> alone;
  for (std::mutex* one : one_run_) alone.emplace_back(*one);
  Status status;
  size_t started = 0;
  for (; started < providers_.size() && status.ok(); ++started) status = providers_[started]->run_started(&options);
  if (status.ok()) status = run_call(call, options, input_names, inputs, output_names, outputs, concurrent);
  for (size_t i = 0; i < started; ++i)
    if (Status s = providers_[i]->run_ended(&options); !s.ok() && status.ok()) status = std::move(s);
  return status;
}

Status Session::set_dynamic_options(std::span<const char* const> keys, std::span<const char* const> values) {
  Status status;
  bool taken = keys.empty() || providers_.size() == 1;
  for (size_t i = 0; i < providers_.size(); ++i) {
    if (static_cast<int>(i) == cpu_) continue;
    Status s = providers_[i]->set_dynamic_options(keys, values);
    taken = taken || s.ok();
    if (status.ok()) status = std::move(s);
  }
  return taken ? Status() : status;
}

Status Session::check_call(const RunOptions& options) {
  std::vector<std::string> lines;
  {
    std::lock_guard guard(calls_lock_);
    TRN_ASSIGN(lines, check_run_options(options, options_.flag("session.strict_config"), told_));
  }
  for (const auto& line : lines) TRN_LOG(logger_, warning, "{}", line);  // without the lock: a sink may run the session
  return {};
}

Status Session::run(const RunOptions& options, std::span<const char* const> input_names,
                    std::span<const Value* const> inputs, std::span<const char* const> output_names,
                    std::span<Value> outputs) {
  if (options.terminate.load(std::memory_order_relaxed)) return run::terminated();
  if (!options.config.empty() || options.log_severity != -1) TRN_TRY(check_call(options));
  std::unique_ptr<Call> call;
  size_t concurrent;
  {
    std::lock_guard guard(calls_lock_);
    if (!calls_.empty()) {
      call = std::move(calls_.back());
      calls_.pop_back();
    } else {
      ++most_calls_;
    }
    concurrent = most_calls_;
  }
  if (!call) call = std::make_unique<Call>();
  Status status = run_with_providers(*call, options, input_names, inputs, output_names, outputs, concurrent);
  call->feeds.clear();
  call->all.clear();
  std::lock_guard guard(calls_lock_);
  calls_.push_back(std::move(call));
  return status;
}

}  // namespace trunnion::session
