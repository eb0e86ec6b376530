// The execution-provider interface: claim, compile, run. Three kinds of provider share it: kernel providers (a region
// is one node, after their pipeline has fused), compiling providers (a region is a subgraph) and plugins over the C
// ABI. Claims come before fusion: a provider decides on the user's own nodes, at the user's opset.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "ops/op.h"
#include "passes/pass.h"
#include "schema/schema.h"

namespace trunnion::ep {

// What runs a region. A kernel provider's region is one node and its executable the node's kernel, so both are one
// type: prepare() per combination of shapes, run() per step.
using Executable = ops::Kernel;

struct Identity {
  std::string name;  // "CPUExecutionProvider"
  std::string vendor;
  std::string device;       // "CPU", "GPU", "NPU"
  bool own_memory = false;  // values are copied to its device and back; else it works on the memory of the host
};

// Nodes that one executable runs. Kernel providers get one node.
struct Region {
  std::vector<const ir::Node*> nodes;       // in graph order
  bool constants_are_inputs = false;        // whether the fused node gets the constants that the nodes read as inputs
  std::vector<ir::Value*> inputs, outputs;  // of a compiling provider's region; placement fills them
};

// What stands for a region in a file: a node that holds, or names, what was compiled.
struct ContextNode {
  std::string op_type, domain, name;
  std::vector<std::string> inputs, outputs;  // "" where one is left out
  std::vector<ir::Attr> attrs;
};

// What the cache of engines had for a region.
struct EngineNote {
  std::string cache;   // "hit", "miss", "ignored" (an entry that cannot be used), "off"; empty: there is no cache
  std::string reason;  // of everything but a hit
  bool stored = false;
  friend bool operator==(const EngineNote&, const EngineNote&) = default;
};

// What stands for a region once a compiling provider has taken it. Both tables belong to the provider.
struct Fused {
  std::string name;
  const ops::OpDef* def = nullptr;
  const schema::Schema* schema = nullptr;
  std::shared_ptr<const ContextNode> context = nullptr;  // null: it cannot be kept in a file
  EngineNote engine = {};
};

// What a provider answers for the nodes of a graph. Every "no" carries its reason.
class Claims {
 public:
  explicit Claims(int node_id_bound)
      : taken_(static_cast<size_t>(node_id_bound)), reasons_(static_cast<size_t>(node_id_bound)) {}
  void take(const ir::Node* node) { taken_[node->id()] = true; }
  // For compiling providers: these nodes as one region.
  void take_together(Region region) { groups_.push_back(std::move(region)); }
  void refuse(const ir::Node* node, std::string reason) { reasons_[node->id()] = std::move(reason); }
  bool taken(const ir::Node* node) const { return taken_[node->id()]; }
  const std::string& reason(const ir::Node* node) const { return reasons_[node->id()]; }
  std::vector<Region>& groups() { return groups_; }

 private:
  std::vector<Region> groups_;
  std::vector<bool> taken_;
  std::vector<std::string> reasons_;
};

enum class Level : uint8_t { none = 0, basic = 1, extended = 2, layout = 3, all = 99 };  // ORT's optimization levels

// Something that a provider measured, for the session's profile. Times count from the begin of the profile.
struct TraceEvent {
  std::string category, name;  // "Session", "Node", "Kernel", "Api"
  int64_t process = 0, thread = 0;
  int64_t begin_us = 0, duration_us = 0;
  std::vector<std::pair<std::string, std::string>> args;
};

class Provider {
 public:
  virtual ~Provider() = default;
  virtual const Identity& identity() const = 0;
  // Says for every node of this graph (not of bodies: they are asked for on their own) yes, or no and why.
  virtual Status claim(const ir::Graph& graph, Claims& claims) = 0;
  // Its own lowering: run over the graphs whose nodes it holds, after placement.
  virtual std::vector<passes::Pass> pipeline(Level) const { return {}; }
  virtual Result<std::unique_ptr<Executable>> compile(const Region& region) = 0;
  // Compiling providers: what stands for each of these regions, which placement then makes one node of, or why it
  // cannot be: the nodes go to the next provider.
  virtual std::vector<Result<Fused>> compile_regions(const ir::Graph&, std::span<const Region> regions) {
    return std::vector<Result<Fused>>(regions.size(), Status(Code::not_implemented, "the provider compiles nothing"));
  }
  // What a file of compiled nodes says of what they need, for a later check; empty: nothing.
  virtual std::string compatibility_info(const ir::Graph&) const { return {}; }

  // Once the program is made: nothing more is claimed or compiled.
  virtual Status session_ready() { return {}; }

  // Held during every run, where a provider cannot have two at once; sessions that share its device share it.
  virtual std::mutex* one_run() { return nullptr; }
  // Around every run of a session, if it holds nodes. The options are those of the caller, a session::RunOptions.
  virtual Status run_started(const void*) { return {}; }
  virtual Status run_ended(const void*) { return {}; }
  // The session has a profile, which began so long ago; and, when that ends, what the provider has for it.
  virtual Status start_profiling(int64_t) { return {}; }
  virtual Result<std::vector<TraceEvent>> end_profiling() { return std::vector<TraceEvent>(); }
  // Settings that change while the session lives.
  virtual Status set_dynamic_options(std::span<const char* const> keys, std::span<const char* const> values) {
    static_cast<void>(values);
    return keys.empty() ? Status() : Status(Code::invalid_argument, identity().name + " has no dynamic options");
  }
};

}  // namespace trunnion::ep
