#include "abi/plugin/provider.h"

#include <algorithm>

#include "abi/kernel_handles.h"
#include "abi/plugin/graph_of.h"
#include "abi/slots.h"
#include "base/hash.h"

namespace trunnion::abi {
namespace {

constexpr uint32_t kCompiles = 23, kConcurrency = 24;  // versions of OrtEp that brought these

class FusedKernel final : public ops::Kernel {
 public:
  FusedKernel(const PluginProvider::FusedOp& op, const ir::Node& node)
      : op_(op), context_{op.fused_name}, info_(make_kernel_info(node, op.provider->session())) {}
  ~FusedKernel() override {
    if (created_ && op_.compute->ReleaseState) op_.compute->ReleaseState(op_.compute, state_);
  }

  Status create() {
    const Status s = guarded([&] { return from_ort(op_.compute->CreateState(op_.compute, &context_, &state_)); });
    created_ = s.ok();
    return s.with_context(fmt::format("CreateState of {}", op_.fused_name));
  }

  Status run(ops::KernelContext& run) const override {
    OrtKernelContext context(run, info_);
    std::unique_lock<std::mutex> lock;
    if (std::mutex* one = op_.provider->one_at_a_time()) lock = std::unique_lock(*one);
    TRN_TRY(guarded([&] {
              return from_ort(op_.compute->Compute(op_.compute, state_, &context));
            }).with_context(op_.provider->identity().name));
    for (int k = 0; k < run.outputs(); ++k)
      if (run.has_out(k) && !context.outputs[static_cast<size_t>(k)])
        return error(Code::fail, "{}: the compiled nodes gave no output {}", op_.provider->identity().name, k);
    return {};
  }

 private:
  const PluginProvider::FusedOp& op_;
  mutable OrtNodeComputeContext context_;
  OrtKernelInfo info_;
  void* state_ = nullptr;
  bool created_ = false;
};

Result<std::unique_ptr<ops::Kernel>> make_fused(const ir::Node& node) {
  auto kernel = std::make_unique<FusedKernel>(static_cast<const PluginProvider::FusedOp&>(*node.def), node);
  TRN_TRY(kernel->create());
  return std::unique_ptr<ops::Kernel>(std::move(kernel));
}

// What was known of the outputs before the nodes became one.
Status infer_fused(const ir::Node& node, ir::Facts& facts) {
  const auto& op = static_cast<const PluginProvider::FusedOp&>(*node.def);
  for (size_t k = 0; k < op.facts.size() && k < node.outputs().size(); ++k)
    facts.out(static_cast<int>(k)) = op.facts[k];
  return {};
}

schema::Param any(std::string_view name) {
  schema::Param p;
  p.name = name;
  p.kind = schema::Param::Kind::variadic;
  p.homogeneous = false;
  p.min_arity = 0;
  p.types = kAllTypes;
  return p;
}

}  // namespace

Result<std::unique_ptr<ep::Provider>> PluginSource::make(const ir::Model& model, const Logger& logger) {
  auto provider = std::make_unique<PluginProvider>(library_, options_, model, logger);
  TRN_TRY(provider->start(devices_));
  return std::unique_ptr<ep::Provider>(std::move(provider));
}

PluginProvider::PluginProvider(std::shared_ptr<PluginLibrary> library, std::shared_ptr<const OrtSessionOptions> options,
                               const ir::Model& model, const Logger& logger)
    : library_(std::move(library)),
      options_(std::move(options)),
      model_(model),
      session_(std::make_shared<const CustomSession>(CustomSession{{logger}, options_->options.config})),
      user_(model.path.empty() ? fmt::format("'{}'", model.graph->name) : model.path) {
  library_->add_user(user_);
}

PluginProvider::~PluginProvider() {
  if (ep_) {
    std::vector<OrtNodeComputeInfo*> infos;
    for (const FusedOp& op : fused_) infos.push_back(op.compute);
    if (!infos.empty() && ep_->ReleaseNodeComputeInfos) ep_->ReleaseNodeComputeInfos(ep_, infos.data(), infos.size());
    factory_->ReleaseEp(factory_, ep_);
  }
  library_->remove_user(user_);
}

Status PluginProvider::start(std::span<const OrtEpDevice* const> devices) {
  const OrtEpDevice& first = *devices.front();
  factory_ = first.factory;
  identity_ = {first.ep_name, first.ep_vendor, first.device ? first.device->vendor : ""};
  std::vector<const OrtHardwareDevice*> hardware;
  std::vector<const OrtKeyValuePairs*> metadata;
  for (const OrtEpDevice* d : devices) {
    if (d->factory != factory_) return invalid_argument("the devices are not all of one provider of the plugin");
    hardware.push_back(d->device);
    metadata.push_back(&d->metadata);
  }
  TRN_TRY(guarded([&] {
    return from_ort(factory_->CreateEp(factory_, hardware.data(), metadata.data(), hardware.size(), options_.get(),
                                       &session_->log, &ep_));
  }));
  if (!ep_) return error(Code::fail, "CreateEp succeeded, but made no execution provider");
  if (Status s = check_version(ep_->ort_version_supported, "the execution provider"); !s.ok()) {
    ep_ = nullptr;  // nothing in it can be trusted
    return s;
  }
  const uint32_t version = ep_->ort_version_supported;
  if (version >= kConcurrency && ep_->IsConcurrentRunSupported)
    TRN_TRY(guarded([&] { return from_ort(ep_->IsConcurrentRunSupported(ep_, &concurrent_)); }));
  if (version >= kCompiles && ep_->GetPreferredDataLayout) {
    OrtEpDataLayout layout = OrtEpDataLayout_NCHW;
    TRN_TRY(guarded([&] { return from_ort(ep_->GetPreferredDataLayout(ep_, &layout)); }));
    channels_last_ = layout == OrtEpDataLayout_NHWC;
  }
  return {};
}

Status PluginProvider::claim(const ir::Graph& graph, ep::Claims& claims) {
  const auto refuse_all = [&](const std::string& reason) {
    for (const ir::Node* n = graph.first(); n; n = n->next()) claims.refuse(n, reason);
    return Status();
  };
  if (ep_->ort_version_supported < kCompiles || !ep_->GetCapability || !ep_->Compile || !ep_->ReleaseNodeComputeInfos)
    return refuse_all("the provider brings kernels instead of compiling, which is not supported yet");
  const auto shown = graph_of(model_, graph, whole(graph));
  OrtNode owner;  // bodies say whose they are
  if (const ir::Node* n = graph.owner()) {
    owner.op_type = n->op_type();
    owner.domain = n->domain();
    owner.name = n->name();
    owner.since = n->since();
    shown->parent = &owner;
  }
  OrtEpGraphSupportInfo support{shown.get(), {}, {}};
  const Status status = guarded([&] { return from_ort(ep_->GetCapability(ep_, shown.get(), &support)); });
  if (!status.ok()) {
    TRN_LOG(session_->log.logger, warning, "{}: GetCapability failed: {}", identity_.name, status.message());
    return refuse_all(fmt::format("GetCapability failed: {}", status.message()));
  }
  std::vector<const ir::Node*> by_id(static_cast<size_t>(graph.node_id_bound()));
  for (const ir::Node* n = graph.first(); n; n = n->next()) {
    by_id[static_cast<size_t>(n->id())] = n;
    claims.refuse(n, fmt::format("{} is not supported by {}", n->op_type(), identity_.name));
  }
  for (const OrtNode* n : support.single)
    claims.refuse(by_id[n->id], "the provider has a kernel instead of compiling it, which is not supported yet");
  for (const auto& group : support.groups) {
    ep::Region region;
    region.constants_are_inputs = !group.drop_constants;
    for (const OrtNode* n : group.nodes) region.nodes.push_back(by_id[n->id]);
    claims.take_together(std::move(region));
  }
  return {};
}

// Nodes never come here: what was claimed is a FusedOp, which makes its own kernel.
Result<std::unique_ptr<ep::Executable>> PluginProvider::compile(const ep::Region& region) {
  return make_fused(*region.nodes.front());
}

// A provider that wants channels last takes convolutions as they are, and computes them wrongly.
Status PluginProvider::check_layout(const ep::Region& region) const {
  if (!channels_last_) return {};
  constexpr std::string_view kByLayout[] = {
      "AveragePool",  "BatchNormalization",    "Conv",         "ConvInteger",   "ConvTranspose",
      "DepthToSpace", "GlobalAveragePool",     "GlobalLpPool", "GlobalMaxPool", "GridSample",
      "LRN",          "InstanceNormalization", "LpPool",       "MaxPool",       "MaxRoiPool",
      "MaxUnpool",    "QLinearConv",           "Resize",       "SpaceToDepth",  "Upsample"};
  for (const ir::Node* n : region.nodes) {
    int convert = -1;  // negative: the provider has no opinion
    if (ep_->ShouldConvertDataLayoutForOp)
      TRN_TRY(guarded([&] {
        return from_ort(ep_->ShouldConvertDataLayoutForOp(ep_, n->domain().c_str(), n->op_type().c_str(),
                                                          OrtEpDataLayout_NHWC, &convert));
      }));
    if (convert < 0) convert = std::ranges::find(kByLayout, n->op_type()) != std::end(kByLayout);
    if (convert)
      return not_implemented("{} wants {} with channels last, which the model is not converted to", identity_.name,
                             n->label());
  }
  return {};
}

Status PluginProvider::compile_together(const ir::Graph& graph, std::span<const ep::Region* const> regions,
                                        std::span<OrtNodeComputeInfo*> out, std::span<Context> contexts,
                                        std::span<const std::string> names) {
  std::vector<std::unique_ptr<OrtGraph>> graphs;
  std::vector<std::unique_ptr<OrtNode>> nodes;
  std::vector<const OrtGraph*> graph_pointers;
  std::vector<const OrtNode*> node_pointers;
  for (size_t k = 0; k < regions.size(); ++k) {
    const ep::Region& r = *regions[k];
    graphs.push_back(
        graph_of(model_, graph, {r.nodes, {r.inputs.begin(), r.inputs.end()}, {r.outputs.begin(), r.outputs.end()}}));
    graph_pointers.push_back(graphs.back().get());
    auto node = std::make_unique<OrtNode>();
    node->op_type = node->name = names[k];
    node->provider = identity_.name;
    node->since = 1;
    node->graph = graphs.back().get();
    for (const auto& v : graphs.back()->inputs) {
      node->inputs.push_back(v->name);
      node->input_infos.push_back(v.get());
    }
    for (const auto& v : graphs.back()->outputs) {
      node->outputs.push_back(v->name);
      node->output_infos.push_back(v.get());
    }
    node_pointers.push_back(node.get());
    nodes.push_back(std::move(node));
  }
  std::vector<OrtNode*> context_nodes(regions.size());
  const Status status = guarded([&] {
    return from_ort(ep_->Compile(ep_, graph_pointers.data(), node_pointers.data(), regions.size(), out.data(),
                                 context_nodes.data()));
  });
  for (size_t k = 0; k < context_nodes.size(); ++k) {
    const std::unique_ptr<const OrtNode> n(context_nodes[k]);
    if (!n || !status.ok()) continue;
    auto context = std::make_shared<ep::ContextNode>();
    *context = {n->op_type, n->domain, n->name, n->inputs, n->outputs, {}};
    for (const auto& a : n->attributes) context->attrs.push_back(a->attr);
    contexts[k] = std::move(context);
  }
  TRN_TRY(status);
  for (const OrtNodeComputeInfo* info : out) {
    if (!info) return error(Code::fail, "Compile succeeded, but left out what computes a group of nodes");
    TRN_TRY(check_version(info->ort_version_supported, "what computes a group of nodes"));
    if (!info->CreateState || !info->Compute)
      return invalid_argument("what computes a group of nodes lacks a function that all have");
  }
  return {};
}

ep::Fused PluginProvider::fused(const ep::Region& region, OrtNodeComputeInfo* compute, Context context,
                                std::string name) {
  FusedOp& op = fused_.emplace_back();
  op.provider = this;
  op.compute = compute;
  op.fused_name = std::move(name);
  for (const ir::Value* v : region.outputs) op.facts.push_back(v->fact);
  op.name = op.fused_name;
  op.domain = identity_.name;
  op.infer = infer_fused;
  op.kernel = {kAllTypes, make_fused, -1};
  op.flags.reviewed = INT_MAX;
  op.flags.dynamic = true;
  op.flags.random = true;  // what it does is not known: every run calls it
  schema::Schema& s = op.signature;
  s.domain = op.domain;
  s.op = op.name;
  s.since = 1;
  s.inputs = {any("inputs")};
  s.outputs = {any("outputs")};
  s.max_inputs = s.max_outputs = schema::Schema::kUnbounded;
  return {op.fused_name, &op, &op.signature, std::move(context)};
}

std::vector<Result<ep::Fused>> PluginProvider::compile_regions(const ir::Graph& graph,
                                                               std::span<const ep::Region> regions) {
  std::vector<Result<ep::Fused>> results;
  std::vector<const ep::Region*> open;
  std::vector<size_t> places;
  std::vector<std::string> names;
  for (const ep::Region& r : regions) {
    Status s = check_layout(r);
    results.emplace_back(s.ok() ? error(Code::fail, "not compiled") : s);
    if (!s.ok()) continue;
    uint64_t hash = hash64(model_.path);
    for (const ir::Node* n : r.nodes) hash = hash_combine(hash, hash64(n->op_type() + ":" + n->name()));
    open.push_back(&r);
    places.push_back(results.size() - 1);
    names.push_back(fmt::format("{}_{}_{}", identity_.name, hash, compiled_++));
  }
  if (open.empty()) return results;
  std::vector<OrtNodeComputeInfo*> infos(open.size());
  std::vector<Context> contexts(open.size());
  Status status = compile_together(graph, open, infos, contexts, names);
  for (size_t k = 0; k < open.size(); ++k) {
    if (!status.ok() && open.size() > 1) {  // which of them was it
      infos[k] = nullptr;
      const Status one = compile_together(graph, {&open[k], 1}, {&infos[k], 1}, {&contexts[k], 1}, {&names[k], 1});
      if (one.ok()) {
        results[places[k]] = fused(*open[k], infos[k], contexts[k], names[k]);
        continue;
      }
      results[places[k]] = one.with_context("Compile failed");
    } else if (status.ok()) {
      results[places[k]] = fused(*open[k], infos[k], contexts[k], names[k]);
      continue;
    } else {
      results[places[k]] = status.with_context("Compile failed");
    }
    TRN_LOG(session_->log.logger, warning, "{}: {} nodes from {} on go to the next provider: {}", identity_.name,
            open[k]->nodes.size(), open[k]->nodes.front()->label(), results[places[k]].status().message());
  }
  return results;
}

}  // namespace trunnion::abi
