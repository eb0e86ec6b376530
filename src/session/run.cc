// One call of a session: names to places, checks of what is fed, the run, results to where the caller wants them.
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
      return invalid_argument("Unexpected input data type. Actual: ({}) , expected: ({}) for input '{}'", value.type().text(), expected->text(), p.name);
    if (!expected->shape) return {};
    const SymShape& dims = *expected->shape;
    if (static_cast<size_t>(t.rank()) != dims.size())
      return invalid_argument("Invalid rank for input: {} Got: {} Expected: {} Please fix either the inputs/outputs or the model.", p.name, t.rank(), dims.size());
    std::string wrong;
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[i].is_int() && dims[i].value() != t.shape()[i]) wrong += fmt::format(" index: {} Got: {} Expected: {}\n", i, t.shape()[i], dims[i].value());
    if (!wrong.empty())
      return invalid_argument("Got invalid dimensions for input: {} for the following indices\n{} Please fix either the inputs/outputs or the model.", p.name, wrong);
    return {};
  }
  if (!same_kind(*expected, value.type()))
    return invalid_argument("Unexpected input data type. Actual: ({}) , expected: ({}) for input '{}'", value.type().text(), expected->text(), p.name);
  return {};
}

Status Session::run(const RunOptions& options, std::span<const char* const> input_names, std::span<const Value* const> inputs,
                    std::span<const char* const> output_names, std::span<Value> outputs) {
  if (options.terminate.load(std::memory_order_relaxed)) return run::terminated();
  SmallVector<run::Feed, 8> feeds(feeds_.size());
  SmallVector<bool, 16> fed(feeds_.size(), false);
  for (size_t i = 0; i < input_names.size(); ++i) {
    TRN_ASSIGN(const int port, find_input(input_names[i]));
    TRN_TRY(check_feed(port, *inputs[i]));
    feeds[static_cast<size_t>(port)] = run::feed_of(*inputs[i]);
    fed[static_cast<size_t>(port)] = true;
  }
  for (size_t i = 0; i < feeds_.size(); ++i) {
    if (fed[i]) continue;
    if (defaults_[i].has_value())
      feeds[i] = run::feed_of(defaults_[i]);
    else if (feeds_[i].type.kind == Type::Kind::optional)
      feeds[i] = run::feed_of(defaults_[i]);
    else
      return invalid_argument("Missing Input: {} (expected {})", feeds_[i].name, feeds_[i].type.text());
  }
  // Results go straight to the caller's entries when every output is asked for once and in order.
  bool straight = output_names.size() == outputs_.size();
  SmallVector<int, 16> ports(output_names.size());
  for (size_t k = 0; k < output_names.size(); ++k) {
    if (k < outputs_.size() && outputs_[k].name == output_names[k]) {
      ports[k] = static_cast<int>(k);
      continue;
    }
    const auto it = output_index_.find(output_names[k]);
    if (it == output_index_.end()) {
      std::vector<std::string_view> names;
      for (const auto& o : outputs_) names.push_back(o.name);
      return invalid_argument("Invalid output name:{} (the model has: {})", output_names[k], fmt::join(names, ", "));
    }
    ports[k] = it->second;
    straight = false;
  }
  run::RunEnv env;
  env.pool = pool_.get();
  env.threads = threads_;
  env.terminate = &options.terminate;
  std::unique_ptr<Profile> own;
  if (options.profiling) own = std::make_unique<Profile>(options.profile_prefix.empty() ? "onnxruntime_run_profile" : options.profile_prefix);
  env.recorder = own ? own.get() : profile_.get();
  const int64_t begin = env.recorder ? os::monotonic_ns() : 0;

  const std::span<const run::Feed> fed_values(feeds.data(), feeds.size());
  Status status;
  if (straight) {
    status = executor_->run(env, fed_values, outputs);
  } else {
    std::vector<Value> all(outputs_.size());
    SmallVector<bool, 16> wanted(outputs_.size(), false);
    for (size_t k = 0; k < ports.size(); ++k) {
      wanted[static_cast<size_t>(ports[k])] = true;
      if (outputs[k].has_value()) all[static_cast<size_t>(ports[k])] = outputs[k];
    }
    status = executor_->run(env, fed_values, all, wanted);
    if (status.ok())
      for (size_t k = 0; k < ports.size(); ++k) outputs[k] = all[static_cast<size_t>(ports[k])];
  }
  if (env.recorder) {
    auto* profile = own ? own.get() : profile_.get();
    profile->event("Session", "model_run", begin, os::monotonic_ns());
    if (own) TRN_TRY(own->finish());
  }
  if (options.config.contains("memory.enable_memory_arena_shrinkage")) executor_->trim();
  return status;
}

}  // namespace trunnion::session
