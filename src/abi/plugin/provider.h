// An execution provider of a plugin, behind the interface that every provider has. Begin with PluginProvider::claim.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "abi/custom_operators.h"
#include "abi/model_handles.h"
#include "abi/plugin/library.h"
#include "ep/provider.h"

// What a provider says of a graph while it is asked.
struct OrtEpGraphSupportInfo {
  struct Group {
    std::vector<const OrtNode*> nodes;
    bool drop_constants = false;
  };
  const OrtGraph* graph = nullptr;
  std::vector<Group> groups;
  std::vector<const OrtNode*> single;  // to be run by kernels of the provider's registry
};

struct OrtNodeComputeContext {
  std::string name;  // of the fused node
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
  // A node that stands for a region: computed by what the plugin's Compile gave for it.
  struct FusedOp final : ops::OpDef {
    PluginProvider* provider = nullptr;
    OrtNodeComputeInfo* compute = nullptr;
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

  const std::shared_ptr<const CustomSession>& session() const { return session_; }
  // Null when the plugin runs several calls at the same time.
  std::mutex* one_at_a_time() { return concurrent_ ? nullptr : &run_mutex_; }

 private:
  Status check_layout(const ep::Region& region) const;
  using Context = std::shared_ptr<const ep::ContextNode>;
  // Compiles the regions in one call.
  Status compile_together(const ir::Graph& graph, std::span<const ep::Region* const> regions,
                          std::span<OrtNodeComputeInfo*> out, std::span<Context> contexts,
                          std::span<const std::string> names);
  ep::Fused fused(const ep::Region& region, OrtNodeComputeInfo* compute, Context context, std::string name);

  std::shared_ptr<PluginLibrary> library_;
  std::shared_ptr<const OrtSessionOptions> options_;
  const ir::Model& model_;
  std::shared_ptr<const CustomSession> session_;
  std::string user_;  // what the library knows the session by
  ep::Identity identity_;
  OrtEpFactory* factory_ = nullptr;
  OrtEp* ep_ = nullptr;
  bool concurrent_ = true;
  bool channels_last_ = false;  // wants NHWC, which the engine does not convert to for plugins
  std::mutex run_mutex_;
  int compiled_ = 0;
  std::deque<FusedOp> fused_;
};

}  // namespace trunnion::abi
