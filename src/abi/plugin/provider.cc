#include "abi/plugin/provider.h"

#include <algorithm>
#include <unordered_map>

#include "abi/slots.h"
#include "base/edit_distance.h"
#include "base/os.h"

namespace trunnion::abi {
namespace {

constexpr uint32_t kCompiles = 23, kKernels = 24;  // versions of OrtEp that brought these

// Nodes that one run of kernels can work off: a later group needs something of the host that needs an earlier one.
std::vector<ep::Region> runs_of(const ir::Graph& graph, const std::unordered_set<const ir::Node*>& mine) {
  std::vector<ep::Region> runs;
  std::vector<int> stages(static_cast<size_t>(graph.node_id_bound()));
  for (const ir::Node* n = graph.first(); n; n = n->next()) {
    const bool is_mine = mine.contains(n);
    int stage = is_mine ? 0 : -1;
    const auto after = [&](const ir::Value* v) {
      const ir::Node* p = v ? v->producer() : nullptr;
      if (p) stage = std::max(stage, stages[static_cast<size_t>(p->id())] + (mine.contains(p) != is_mine));
    };
    for (const ir::Value* v : n->inputs()) after(v);
    for (const ir::Graph* body : n->bodies())
      for (const auto& c : body->captures()) after(c.outer);
    stages[static_cast<size_t>(n->id())] = stage;
    if (!is_mine) continue;
    runs.resize(std::max(runs.size(), static_cast<size_t>(stage / 2 + 1)));
    runs[static_cast<size_t>(stage / 2)].nodes.push_back(n);
  }
  std::erase_if(runs, [](const ep::Region& r) { return r.nodes.empty(); });
  return runs;
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
  const auto alone = library_->alone();
  for (FusedOp& op : fused_) op.region.reset();
  close();
  library_->remove_user(user_);
}

void PluginProvider::close() {
  if (ep_ == &gone_) ep_ = nullptr;
  if (!ep_) return;
  if (!infos_.empty() && ep_->ReleaseNodeComputeInfos) ep_->ReleaseNodeComputeInfos(ep_, infos_.data(), infos_.size());
  infos_.clear();
  profiler_.reset();
  memory_.release();
  factory_->ReleaseEp(factory_, std::exchange(ep_, nullptr));
  registry_ = nullptr;
}

Status PluginProvider::start(std::span<const OrtEpDevice* const> devices) {
  const OrtEpDevice& first = *devices.front();
  factory_ = first.factory;
  identity_ = {first.ep_name, first.ep_vendor, kind_of(first)};
  for (const OrtEpDevice* d : devices)
    if (d->factory != factory_) return invalid_argument("the devices are not all of one provider of the plugin");
  devices_.assign(devices.begin(), devices.end());
  engines_ = Engines::of(options_, model_, *library_, devices, session_->log.logger);
  TRN_TRY(open(*options_));
  // Bodies are compiled later than the graph around them: then it is too late for another start.
  bool bodies = false;
  model_.graph->for_each_node_deep([&](const ir::Node* n) { bodies |= !n->bodies().empty(); });
  return bodies ? write_engines(nullptr) : Status();
}

Status PluginProvider::open(const OrtSessionOptions& options) {
  std::vector<const OrtHardwareDevice*> hardware;
  std::vector<const OrtKeyValuePairs*> metadata;
  for (const OrtEpDevice* d : devices_) {
    hardware.push_back(d->device);
    metadata.push_back(&d->metadata);
  }
  TRN_TRY(guarded([&] {
    return from_ort(factory_->CreateEp(factory_, hardware.data(), metadata.data(), hardware.size(), &options,
                                       &session_->log, &ep_));
  }));
  if (!ep_) return error(Code::fail, "CreateEp succeeded, but made no execution provider");
  if (Status s = check_version(ep_->ort_version_supported, "the execution provider"); !s.ok()) {
    ep_ = nullptr;  // nothing in it can be trusted
    return s;
  }
  constexpr uint32_t kCaptures = 26;
  if (has(kCaptures, ep_->IsGraphCaptureEnabled) && ep_->IsGraphCaptureEnabled(ep_))
    return not_implemented(
        "{} is set to capture its work once and to replay it (IsGraphCaptureEnabled), which needs values that lie at "
        "the same addresses in every run; here they do not: leave that option of the provider out",
        identity_.name);
  if (profile_start_ns_)
    if (Status s = start_profiling(os::monotonic_ns() - *profile_start_ns_); !s.ok())
      TRN_LOG(session_->log.logger, warning, "the profile is without what {} measures: {}", identity_.name,
              s.message());
  bool concurrent = true;
  if (has(kKernels, ep_->IsConcurrentRunSupported))
    TRN_TRY(guarded([&] { return from_ort(ep_->IsConcurrentRunSupported(ep_, &concurrent)); }));
  if (!concurrent) library_->run_one_at_a_time();
  if (has(kKernels, ep_->GetKernelRegistry))
    TRN_TRY(guarded([&] { return from_ort(ep_->GetKernelRegistry(ep_, &registry_)); }));
  if (has(kCompiles, ep_->GetPreferredDataLayout)) {
    OrtEpDataLayout layout = OrtEpDataLayout_NCHW;
    TRN_TRY(guarded([&] { return from_ort(ep_->GetPreferredDataLayout(ep_, &layout)); }));
    channels_last_ = layout == OrtEpDataLayout_NHWC;
  }
  TRN_TRY(memory_.start(*library_, *ep_, devices_));
  identity_.own_memory = !memory_.on_host();
  return {};
}

Status PluginProvider::ask(const ir::Graph& graph, OrtGraph& shown, OrtEpGraphSupportInfo& support) {
  if (ep_ == &gone_) return error(Code::fail, "{} could not be started again", identity_.name);
  asked_ = true;
  support.graph = &shown;
  support.registry = registry_;
  support.by_id.resize(static_cast<size_t>(graph.node_id_bound()));
  for (const ir::Node* n = graph.first(); n; n = n->next()) support.by_id[static_cast<size_t>(n->id())] = n;
  return guarded([&] { return from_ort(ep_->GetCapability(ep_, &shown, &support)); });
}

Status PluginProvider::claim(const ir::Graph& graph, ep::Claims& claims) {
  const auto refuse_all = [&](const std::string& reason) {
    for (const ir::Node* n = graph.first(); n; n = n->next()) claims.refuse(n, reason);
    return Status();
  };
  const bool compiles = has(kCompiles, ep_->Compile) && ep_->ReleaseNodeComputeInfos;
  if (!has(kCompiles, ep_->GetCapability)) return refuse_all("the provider cannot say which nodes it runs");
  const auto shown = graph_of(model_, graph, whole(graph));
  OrtNode owner;  // bodies say whose they are
  if (const ir::Node* n = graph.owner()) {
    owner.op_type = n->op_type();
    owner.domain = n->domain();
    owner.name = n->name();
    owner.since = n->since();
    shown->parent = &owner;
  }
  OrtEpGraphSupportInfo support;
  if (const Status status = ask(graph, *shown, support); !status.ok()) {
    TRN_LOG(session_->log.logger, warning, "{}: GetCapability failed: {}", identity_.name, status.message());
    return refuse_all(fmt::format("GetCapability failed: {}", status.message()));
  }
  for (const ir::Node* n = graph.first(); n; n = n->next())
    claims.refuse(n, fmt::format("{} is not supported by {}", n->op_type(), identity_.name));
  std::unordered_set<const ir::Node*> mine;
  for (const OrtNode* single : support.single) {
    const ir::Node* n = support.by_id[single->id];
    if (!registry_ || !registry_->find(*n)) {
      claims.refuse(n, "the provider took it, but has no kernel for it");
    } else if (n->def && n->def->flags.control_flow) {
      claims.take(n);  // the engine runs its bodies, and asks the provider for what is in them
    } else {
      mine.insert(n);
    }
  }
  by_kernel_ = mine;
  for (ep::Region& run : runs_of(graph, mine)) claims.take_together(std::move(run));
  for (const auto& group : support.groups) {
    ep::Region region;
    region.constants_are_inputs = !group.drop_constants;
    for (const OrtNode* n : group.nodes) region.nodes.push_back(support.by_id[n->id]);
    if (compiles) {
      claims.take_together(std::move(region));
    } else {
      for (const ir::Node* n : region.nodes) claims.refuse(n, "the provider took it, but has no Compile");
    }
  }
  return {};
}

Status PluginProvider::session_ready() {
  constexpr uint32_t kInitialized = 27;
  if (has(kInitialized, ep_->OnSessionInitializationEnd))
    TRN_TRY(guarded([&] {
              return from_ort(ep_->OnSessionInitializationEnd(ep_));
            }).with_context(fmt::format("{}: OnSessionInitializationEnd", identity_.name)));
  share_values();
  return check_options();
}

// Values that go from one region to another stay on the device in between, and go to the host only where somebody there
// reads them. Which run a value belongs to is known where there is one at a time.
void PluginProvider::share_values() {
  if (!shares_values()) return;
  std::unordered_map<const ops::OpDef*, Region*> regions;
  for (const FusedOp& op : fused_) regions.emplace(&op, op.region.get());
  const auto region_of = [&](const ir::Node* n) {
    const auto it = regions.find(n->def);
    return it == regions.end() ? nullptr : it->second;
  };
  model_.graph->for_each_node_deep([&](ir::Node* n) {
    Region* from = region_of(n);
    for (size_t k = 0; from && k < n->outputs().size(); ++k) {
      const ir::Value* v = n->outputs()[k];
      if (!v) continue;
      bool shared = false, at_host = v->output_uses() > 0;
      for (const ir::Node* user : v->users()) {
        Region* to = region_of(user);
        bool reads = false;
        for (size_t i = 0; to && i < user->inputs().size(); ++i) {
          if (user->inputs()[i] != v) continue;
          to->share_input(i, v, shared_);
          reads = true;
        }
        shared |= reads;
        at_host |= !reads;
      }
      if (shared) from->share_output(k, v, at_host, shared_);
    }
  });
}

// Options that the provider was given and never looked at: it has none of that name, or no use for it.
Status PluginProvider::check_options() const {
  std::string prefix = "ep." + identity_.name + ".";
  for (char& c : prefix) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::lock_guard lock(options_->asked->mutex);
  if (options_->asked->all) return {};
  std::vector<std::string_view> known;
  for (const std::string& key : options_->asked->keys)
    if (key.starts_with(prefix)) known.push_back(std::string_view(key).substr(prefix.size()));
  for (const auto& [entry, value] : options_->options.config) {
    const std::string_view key = std::string_view(entry).substr(std::min(prefix.size(), entry.size()));
    if (!entry.starts_with(prefix) || std::ranges::find(known, key) != known.end()) continue;
    const std::string text = fmt::format("the option '{}' of {} has no effect: the provider did not look at it{}", key,
                                         identity_.name, did_you_mean(key, known));
    if (options_->options.flag("session.strict_config")) return invalid_argument("{}", text);
    TRN_LOG(session_->log.logger, warning, "{}", text);
  }
  return {};
}

std::string PluginProvider::compatibility_info(const ir::Graph& graph) const {
  if (!has(kCompiles, ep_->GetCompiledModelCompatibilityInfo)) return {};
  const auto shown = graph_of(model_, graph, whole(graph));
  const char* text = ep_->GetCompiledModelCompatibilityInfo(ep_, shown.get());
  return text ? text : "";
}

Status PluginProvider::run_started(const void* options) {
  if (shares_values()) shared_.clear();
  if (!holds_nodes_ || !has(kCompiles, ep_->OnRunStart)) return {};
  return guarded([&] { return from_ort(ep_->OnRunStart(ep_, static_cast<const OrtRunOptions*>(options))); })
      .with_context(fmt::format("{}: OnRunStart", identity_.name));
}

Status PluginProvider::run_ended(const void* options) {
  if (shares_values()) shared_.clear();
  if (!holds_nodes_ || !has(kCompiles, ep_->OnRunEnd)) return {};
  const auto& run = *static_cast<const OrtRunOptions*>(options);
  const bool sync = run.options.entry("disable_synchronize_execution_providers").value_or("0") != "1";
  return guarded([&] { return from_ort(ep_->OnRunEnd(ep_, &run, sync)); })
      .with_context(fmt::format("{}: OnRunEnd", identity_.name));
}

Status PluginProvider::start_profiling(int64_t elapsed_ns) {
  profile_start_ns_ = os::monotonic_ns() - elapsed_ns;
  TRN_ASSIGN(profiler_, PluginProfiler::make(*ep_));
  return profiler_ ? profiler_->start(elapsed_ns) : Status();
}

Result<std::vector<ep::TraceEvent>> PluginProvider::end_profiling() {
  if (!profiler_) return std::vector<ep::TraceEvent>();
  return profiler_->finish();
}

Status PluginProvider::set_dynamic_options(std::span<const char* const> keys, std::span<const char* const> values) {
  if (!has(kCompiles, ep_->SetDynamicOptions))
    return keys.empty() ? Status() : invalid_argument("{} has no dynamic options", identity_.name);
  return guarded([&] { return from_ort(ep_->SetDynamicOptions(ep_, keys.data(), values.data(), keys.size())); })
      .with_context(fmt::format("{}: SetDynamicOptions", identity_.name));
}

}  // namespace trunnion::abi
