// An execution provider of a plugin, behind the interface that every provider has. Begin with PluginProvider::claim.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "abi/custom_operators.h"
#include "abi/model_handles.h"
#include "abi/plugin/engines.h"
#include "abi/plugin/graph_of.h"
#include "abi/plugin/kernel_registry.h"
#include "abi/plugin/library.h"
#include "abi/plugin/profiler.h"
#include "abi/plugin/region.h"
#include "abi/plugin/subgraph.h"
#include "ep/provider.h"

// What a provider says of a graph while it is asked.
struct OrtEpGraphSupportInfo {
  struct Group {
    std::vector<const OrtNode*> nodes;
    bool drop_constants = false;
  };
  const OrtGraph* graph = nullptr;
  const OrtKernelRegistry* registry = nullptr;   // null: the provider has none
  std::vector<const trunnion::ir::Node*> by_id;  // what the nodes of `graph` stand for
  std::vector<Group> groups;
  std::vector<const OrtNode*> single;  // to be run by kernels of the provider's registry

  TRN_HANDLE(OrtEpGraphSupportInfo);
};

namespace trunnion::abi {

// Makes the provider for each session that chose its devices.
class PluginSource final : public session::ProviderSource {
 public:
  PluginSource(std::shared_ptr<PluginLibrary> library, std::vector<const OrtEpDevice*> devices,
               std::shared_ptr<const OrtSessionOptions> options)
      : library_(std::move(library)), devices_(std::move(devices)), options_(std::move(options)) {}
  Result<std::unique_ptr<ep::Provider>> make(const ir::Model& model, const Logger& logger) override;

 private:
  std::shared_ptr<PluginLibrary> library_;
  std::vector<const OrtEpDevice*> devices_;
  std::shared_ptr<const OrtSessionOptions> options_;
};

class PluginProvider final : public ep::Provider {
 public:
  // A node that stands for a region.
  struct FusedOp final : ops::OpDef {
    std::unique_ptr<Region> region;
    const PluginProvider* provider = nullptr;
    std::string fused_name;
    std::vector<ir::Fact> facts;  // of the outputs
    schema::Schema signature;
  };

  PluginProvider(std::shared_ptr<PluginLibrary> library, std::shared_ptr<const OrtSessionOptions> options,
                 const ir::Model& model, const Logger& logger);
  ~PluginProvider() override;
  Status start(std::span<const OrtEpDevice* const> devices);

  const ep::Identity& identity() const override { return identity_; }
  Status claim(const ir::Graph& graph, ep::Claims& claims) override;
  Result<std::unique_ptr<ep::Executable>> compile(const ep::Region& region) override;
  std::vector<Result<ep::Fused>> compile_regions(const ir::Graph& graph, std::span<const ep::Region> regions) override;
  std::string compatibility_info(const ir::Graph& graph) const override;
  Status session_ready() override;
  std::mutex* one_run() override { return library_->one_run(); }
  Status run_started(const void* options) override;
  Status run_ended(const void* options) override;
  Status start_profiling(int64_t elapsed_ns) override;
  Result<std::vector<ep::TraceEvent>> end_profiling() override;
  Status set_dynamic_options(std::span<const char* const> keys, std::span<const char* const> values) override;

  PluginProfiler* profiler() const { return profiler_.get(); }

 private:
  using Context = std::shared_ptr<const ep::ContextNode>;
  // A region on its way: as it stands in the model, or as a graph of its own with channels last.
  struct Work {
    const ep::Region* region = nullptr;
    Subgraph own;
    GraphParts parts;
    std::string name;
    OrtNodeComputeInfo* compute = nullptr;
    Context context = nullptr;
    // With a cache of engines; `engine` is the graph with the node that stands for the region, if there is one.
    const ir::Graph* engine = nullptr;
    std::vector<std::shared_ptr<const OrtOpAttr>> large = {};  // attributes of that node which the graph leaves out
    std::optional<Hash128> hash = std::nullopt;
    ep::EngineNote note = {};
    const ir::Graph& graph() const {
      return engine ? *engine : own.graph ? *own.graph : *region->nodes.front()->graph();
    }
  };
  // Whether the plugin has this function of OrtEp, which came with that version.
  template <class F>
  bool has(uint32_t version, F* function) const {
    return ep_->ort_version_supported >= version && function;
  }
  // Whether regions leave values on the device for each other.
  bool shares_values() const { return !memory_.on_host() && library_->one_run(); }
  Status open(const OrtSessionOptions& options);
  void close();
  Status check_options() const;
  void share_values();
  Status ask(const ir::Graph& graph, OrtGraph& shown, OrtEpGraphSupportInfo& support);
  Status ask_again(const Work& work, std::string_view how);
  Result<bool> wants_channels_last(const ir::Node& node) const;
  Status convert(Work& work);
  Result<Subgraph> graph_for_kernels(const ep::Region& region) const;
  Result<ep::Fused> run_by_kernels(const ep::Region& region);
  Status compile_together(std::span<Work* const> works);
  Result<ep::Fused> compiled(Work& work);
  // provider_engines.cc
  Engines::Turn look_for_engines(std::span<const ep::Region> regions) const;
  Status start_again(const OrtSessionOptions& options, const ir::Graph* graph);
  Status write_engines(const ir::Graph* graph);
  Status use_engines(const ir::Graph& graph, Engines::Turn& turn, std::span<const ep::Region> regions,
                     std::vector<Result<ep::Fused>>& results);
  Status use_engine(Engines::Hit& hit, std::span<const ep::Region> regions, std::vector<Result<ep::Fused>>& results);
  void keep_engines(std::span<Work* const> works);
  Status compile_without_engines(const ir::Graph& graph, std::span<Work* const> works, Status failed);
  ep::Fused fused(const ep::Region& region, std::unique_ptr<Region> made, Context context, std::string name);
  std::string name_of(const ep::Region& region);

  std::shared_ptr<PluginLibrary> library_;
  std::shared_ptr<const OrtSessionOptions> options_;
  const ir::Model& model_;
  std::shared_ptr<const CustomSession> session_;
  std::string user_;  // what the library knows the session by
  std::vector<const OrtEpDevice*> devices_;
  std::unique_ptr<Engines> engines_;  // null: there is no cache of them
  bool writes_engines_ = false;
  ep::Identity identity_;
  OrtEpFactory* factory_ = nullptr;
  OrtEp* ep_ = nullptr;
  OrtEp gone_ = {};  // has no function; in place of one that could not be made again
  const OrtKernelRegistry* registry_ = nullptr;
  DeviceMemory memory_;
  bool channels_last_ = false;
  bool holds_nodes_ = false;
  bool asked_ = false;                             // GetCapability was called since the last Compile
  std::unordered_set<const ir::Node*> by_kernel_;  // nodes that it took one by one
  int compiled_ = 0;
  std::vector<OrtNodeComputeInfo*> infos_;
  std::deque<FusedOp> fused_;
  Region::SharedValues shared_;  // of the run that is on
  std::unique_ptr<PluginProfiler> profiler_;
  std::optional<int64_t> profile_start_ns_;
};

}  // namespace trunnion::abi
