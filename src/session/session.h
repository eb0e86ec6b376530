// Session: a model made ready to run. Begin with Session::load, whose body is the journey of a model.
#pragma once
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fork_lock.h"
#include "base/mapped_file.h"
#include "ir/graph.h"
#include "passes/pass.h"
#include "plan/placement.h"
#include "run/executor.h"
#include "session/check_options.h"
#include "session/environment.h"
#include "session/model_cache.h"
#include "session/options.h"
#include "session/ports.h"
#include "session/profile.h"

namespace trunnion::session {

// Where a model comes from: a file, or bytes (with a folder for external data in Options' configuration, if any).
struct ModelSource {
  std::string path;                  // of a file; empty for bytes
  std::span<const std::byte> bytes;  // used when path is empty; copied unless keep_alive is given
  std::shared_ptr<const void> keep_alive;
};

struct Timing {
  std::string stage;
  double milliseconds;
};

class Session {
 public:
  static Result<std::unique_ptr<Session>> load(const Environment& environment, ModelSource source, Options options);
  ~Session();

  // The model as it stands in the file, operators not resolved.
  static Result<std::shared_ptr<ir::Model>> read_model(const Environment& environment, const std::string& path,
                                                       const Options& options);

  std::span<const Port> inputs() const { return inputs_; }
  std::span<const Port> outputs() const { return outputs_; }
  std::span<const Port> overridable_initializers() const { return overridable_; }
  const ir::Model& model() const { return *model_; }
  const Options& options() const { return options_; }
  const Logger& logger() const { return logger_; }

  // Runs the model. inputs[i] is the value of input_names[i]; outputs[k] that of output_names[k]: an entry that already
  // holds a tensor is a buffer to be filled, whose type and shape must be right. Thread-safe.
  Status run(const RunOptions& options, std::span<const char* const> input_names, std::span<const Value* const> inputs,
             std::span<const char* const> output_names, std::span<Value> outputs);

  // Settings that change while the session lives: each provider is told; an error if none takes them.
  Status set_dynamic_options(std::span<const char* const> keys, std::span<const char* const> values);

  // Ends profiling and gives the name of the file written; an error when profiling is off.
  Result<std::string> end_profiling();
  int64_t profiling_start_ns() const;

  const plan::Placement& placement() const { return placement_; }
  std::string placement_json() const;
  std::string placement_summary() const;  // one line
  std::span<const Timing> load_timings() const { return timings_; }
  std::span<const passes::PassRecord> pass_records() const { return pass_records_; }
  std::string graph_text() const;  // the graph as it runs
  struct Memory {
    size_t weights_bytes = 0;  // constants that are not packed, mapped or owned
    size_t arena_bytes = 0;    // held by idle frames
    size_t output_bytes = 0;   // idle blocks for large outputs
    size_t cached_plans = 0;   // sets of input shapes with a plan
  };
  Memory memory() const;

 private:
  Session() = default;
  // `unread`: the model may come out of the cache instead, without being read.
  Status import(ModelSource source, bool unread);
  bool take_unread(const std::string& path, const onnx::ExternalData& external);
  Status read_after_all();
  Status inline_functions();
  Status infer_shapes();
  void seed_random_nodes();
  void list_ports();
  void index_ports();
  Status optimize();
  Status place();
  Status check_fallback(bool cpu_listed) const;
  Status build_program(const Environment& environment);
  Status make_kernels(const Environment& environment);
  void profile_loading();
  void drop_file_pages() const;
  void release_weight(const ir::Value& value) const;
  Status save_optimized_model() const;
  // The tables of one call; kept and reused, so that a call allocates nothing but its outputs.
  struct Call {
    std::vector<run::Feed> feeds;
    std::vector<int> ports;  // by output asked for
    SmallVector<bool, 16> fed, wanted;
    SmallVector<bool, 16> given;  // by output: `all` holds a buffer of the caller
    std::vector<Value> all;       // one entry per output, when the caller's are others
  };
  Status check_call(const RunOptions& options);
  Status run_with_providers(Call& call, const RunOptions& options, std::span<const char* const> input_names,
                            std::span<const Value* const> inputs, std::span<const char* const> output_names,
                            std::span<Value> outputs, size_t concurrent);
  void check_declared(const Call& call, std::span<const Value> outputs);
  Status run_call(Call& call, const RunOptions& options, std::span<const char* const> input_names,
                  std::span<const Value* const> inputs, std::span<const char* const> output_names,
                  std::span<Value> outputs, size_t concurrent);
  Status fill_feeds(Call& call, std::span<const char* const> input_names, std::span<const Value* const> inputs) const;
  Result<bool> find_outputs(Call& call, std::span<const char* const> output_names) const;
  // A result to the entry of the caller that asked for it; one that holds a buffer of its own gets a copy there.
  Status hand_out(int port, const Value& result, bool result_is_callers, Value& to) const;
  Result<int> find_input(std::string_view name) const;
  Status check_feed(int port, const Value& value) const;
  std::optional<Tensor> replacement(std::string_view initializer) const;  // the caller's, for the file's
  // A free dimension of an input without a name goes by input.axis.
  void fix_unnamed_dimensions(ir::Graph& graph, ModelNames& names) const;
  std::optional<int64_t> dimension_override(std::string_view symbol, std::string_view denotation) const;

  Options options_;
  Logger logger_;
  std::shared_ptr<MappedFile> file_;
  std::vector<std::shared_ptr<MappedFile>> data_files_;  // external data, while loading
  std::shared_ptr<ir::Model> model_;
  std::unique_ptr<ModelCache> cache_;    // while loading; null: none is asked for
  bool cached_ = false;                  // while loading: the graph is one out of the cache
  std::unique_ptr<ir::Graph> uncached_;  // while loading: the graph that it stands for; null: that was not read
  std::vector<std::unique_ptr<ep::Provider>> providers_;
  int cpu_ = 0;  // the CPU among them
  plan::Placement placement_;
  std::unique_ptr<plan::Program> program_;
  std::unique_ptr<run::Executor> executor_;
  std::shared_ptr<run::BlockCache> blocks_;  // of outputs; null: they come from the heap
  bool flush_denormals_ = false;             // while it runs
  WorkHooks client_hooks_;                   // what a pool of its own calls
  std::shared_ptr<ThreadPool> pool_;
  int threads_ = 1;
  std::vector<Port> inputs_, outputs_, overridable_;
  std::vector<Port> feeds_;      // every formal input of the graph, in order
  std::vector<Value> defaults_;  // of feeds_: overridable initializers
  std::unordered_map<std::string_view, int> feed_index_, output_index_;
  std::vector<Timing> timings_;
  std::vector<passes::PassRecord> pass_records_;
  std::unique_ptr<Profile> profile_;
  std::vector<std::mutex*> one_run_;  // held during every run, for providers that cannot have two at once
  ForkLock calls_lock_;
  std::vector<std::unique_ptr<Call>> calls_;  // idle
  size_t most_calls_ = 0;                     // that were ever under way at the same time
  // What runs were warned of: keys of their options, outputs of other shapes than declared; under calls_lock_.
  std::set<std::string, std::less<>> told_;
  std::vector<std::optional<SymShape>> declared_;  // by output, where only a run can tell; empty when there is none
};

}  // namespace trunnion::session
