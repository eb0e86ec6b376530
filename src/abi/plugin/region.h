// What a plugin runs as one step of a program: kernels of its registry one after the other, or what its Compile gave.
// Begin with Region::run.
//
// Inputs go to the device once and together, what lies between stays there, outputs come back together; what a kernel
// wants in the host's memory is there. Which is which is known when the region is made.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "abi/kernel_handles.h"
#include "abi/plugin/device_memory.h"
#include "abi/plugin/kernel_registry.h"
#include "abi/plugin/sync_stream.h"
#include "ops/op.h"

struct OrtNodeComputeContext {
  std::string name;  // of the fused node

  TRN_HANDLE(OrtNodeComputeContext);
};

namespace trunnion::abi {

class Region {
 public:
  struct Step {
    std::string label;  // of its nodes
    OrtKernelInfo info;
    OrtKernelImpl* kernel = nullptr;        // of a registry, or
    OrtNodeComputeInfo* compute = nullptr;  // what Compile gave
    void* state = nullptr;
    const OrtKernelDef* def = nullptr;
    std::vector<int> inputs, outputs;  // values; -1: left out
    std::vector<int> over;             // values that no later step reads
  };
  struct Value {
    int input = -1, output = -1;  // of the region
    DType dtype = DType::undefined;
    bool on_device = false;                        // a step reads it there
    std::shared_ptr<const OrtValue> host, device;  // of a constant, where it is read
  };

  Region(std::string provider, OrtEp* ep, const DeviceMemory& memory, OrtEpFactory& factory)
      : provider_(std::move(provider)), ep_(ep), memory_(memory), factory_(factory) {}
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  // Makes the kernels of the graph's nodes; the graph stays with the region. All its nodes must be in the registry.
  Status make_kernels(std::unique_ptr<ir::Graph> graph, std::span<ir::Value* const> inputs,
                      std::span<ir::Value* const> outputs, const OrtKernelRegistry& registry,
                      const std::shared_ptr<const CustomSession>& session);
  // One step over everything. types: of the outputs.
  Status make_compiled(OrtNodeComputeInfo* compute, const std::string& name, std::string label, size_t inputs,
                       std::span<const DType> types, const std::shared_ptr<const CustomSession>& session);

  // The step reads and gives these inputs and outputs of the region in this order.
  void order_ports(std::span<const size_t> inputs, std::span<const size_t> outputs);

  // What one region leaves on the device for another, during a run; keys are values of the model.
  struct Shared {
    OrtValue value;
    bool at_host = false;  // whether the host has the elements too
  };
  using SharedValues = std::unordered_map<const ir::Value*, Shared>;
  // Input or output i of the region is that value, which regions share. at_host: somebody else reads the output.
  void share_input(size_t i, const ir::Value* key, SharedValues& values);
  void share_output(size_t k, const ir::Value* key, bool at_host, SharedValues& values);

  Status run(ops::KernelContext& run) const;

 private:
  class Call;
  Status upload_constants(const std::unordered_map<const ir::Value*, int>& ids);
  Status make_kernel(Step& step, const OrtKernelRegistry::Entry& entry);
  bool host_input(const Step& step, size_t i) const {
    return memory_.on_host() || (step.def && takes_host(*step.def, i));
  }
  bool host_output(const Step& step, size_t k) const {
    return memory_.on_host() || (step.def && gives_host(*step.def, k));
  }
  void find_last_uses();

  std::string provider_;
  OrtEp* ep_;
  const DeviceMemory& memory_;
  OrtEpFactory& factory_;
  std::unique_ptr<ir::Graph> graph_;
  std::unique_ptr<OrtNodeComputeContext> context_;
  std::vector<Step> steps_;
  std::vector<Value> values_;
  std::vector<int> inputs_, outputs_;  // values
  struct Sharing {
    const ir::Value* key = nullptr;  // null: not shared
    bool at_host = true;
  };
  std::vector<Sharing> shared_inputs_, shared_outputs_;
  SharedValues* shared_ = nullptr;
  // Streams that no call uses at the moment.
  mutable std::mutex streams_mutex_;
  mutable std::vector<OrtSyncStream*> streams_;
  bool has_streams_ = false;
};

}  // namespace trunnion::abi
