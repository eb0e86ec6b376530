// What a plugin claimed becomes regions: compiled by it, or run by kernels of its registry.
#include <algorithm>
#include <set>

#include "abi/plugin/provider.h"
#include "abi/slots.h"
#include "base/hash.h"
#include "base/os.h"

namespace trunnion::abi {
namespace {

constexpr std::string_view kAlone = "about these nodes alone";

class RegionKernel final : public ops::Kernel {
 public:
  explicit RegionKernel(const PluginProvider::FusedOp& op) : op_(op) {}
  Status run(ops::KernelContext& run) const override {
    PluginProfiler* profiler = op_.provider->profiler();
    if (!profiler) return op_.region->run(run);
    const int64_t begin = os::monotonic_ns();
    const uint64_t id = profiler->begin();
    const Status status = op_.region->run(run);
    profiler->end(id, op_.fused_name, std::string(op_.domain), begin, os::monotonic_ns());
    return status;
  }

 private:
  const PluginProvider::FusedOp& op_;
};

Result<std::unique_ptr<ops::Kernel>> make_fused(const ir::Node& node) {
  return std::unique_ptr<ops::Kernel>(
      std::make_unique<RegionKernel>(static_cast<const PluginProvider::FusedOp&>(*node.def)));
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

// "Conv 'c1', Relu 'r1' and 3 more".
std::string label_of(const ep::Region& region) {
  constexpr size_t kNamed = 3;
  std::string text;
  for (size_t i = 0; i < std::min(region.nodes.size(), kNamed); ++i)
    text += fmt::format("{}{}", i ? ", " : "", region.nodes[i]->label());
  if (region.nodes.size() > kNamed) text += fmt::format(" and {} more", region.nodes.size() - kNamed);
  return text;
}

// Where the values of a region stand that have these names.
std::vector<size_t> places_in(std::span<ir::Value* const> all, std::span<const ir::Value* const> some) {
  std::vector<size_t> places;
  for (const ir::Value* v : some)
    places.push_back(static_cast<size_t>(std::ranges::find(all, v->name(), &ir::Value::name) - all.begin()));
  return places;
}

}  // namespace

// Nodes never come here: what was claimed is a FusedOp, which makes its own kernel.
Result<std::unique_ptr<ep::Executable>> PluginProvider::compile(const ep::Region& region) {
  return make_fused(*region.nodes.front());
}

Result<bool> PluginProvider::wants_channels_last(const ir::Node& n) const {
  constexpr std::string_view kByLayout[] = {
      "AveragePool",  "BatchNormalization",    "Conv",         "ConvInteger",   "ConvTranspose",
      "DepthToSpace", "GlobalAveragePool",     "GlobalLpPool", "GlobalMaxPool", "GridSample",
      "LRN",          "InstanceNormalization", "LpPool",       "MaxPool",       "MaxRoiPool",
      "MaxUnpool",    "QLinearConv",           "Resize",       "SpaceToDepth",  "Upsample"};
  int convert = -1;  // negative: the provider has no opinion
  if (ep_->ShouldConvertDataLayoutForOp)
    TRN_TRY(guarded([&] {
      return from_ort(ep_->ShouldConvertDataLayoutForOp(ep_, n.domain().c_str(), n.op_type().c_str(),
                                                        OrtEpDataLayout_NHWC, &convert));
    }));
  if (convert < 0) convert = n.domain().empty() && std::ranges::find(kByLayout, n.op_type()) != std::end(kByLayout);
  return convert != 0;
}

// Gives the region a graph of its own with channels last, if that makes a difference. A provider that wants it takes
// convolutions as they are too, and computes them wrongly.
Status PluginProvider::convert(Work& work) {
  std::unordered_set<std::string> wanted;
  for (const ir::Node* n : work.region->nodes) {
    TRN_ASSIGN(const bool wants, wants_channels_last(*n));
    if (wants) wanted.insert(n->name());
  }
  if (wanted.empty()) return {};
  TRN_ASSIGN(work.own, subgraph_of(*work.region));
  std::unordered_set<const ir::Node*> nodes;
  for (const ir::Node* n = work.own.graph->first(); n; n = n->next())
    if (wanted.contains(n->name())) nodes.insert(n);
  TRN_ASSIGN(const int converted,
             convert_layout(*work.own.graph, [&](const ir::Node& n) { return nodes.contains(&n); }));
  if (converted < static_cast<int>(nodes.size()))
    return not_implemented("{} wants channels last, and {} of its {} nodes that depend on it cannot be converted",
                           identity_.name, nodes.size() - static_cast<size_t>(converted), nodes.size());
  work.own.outputs.assign(work.own.graph->outputs().begin(), work.own.graph->outputs().end());
  work.parts = whole(*work.own.graph);
  work.parts.inputs.assign(work.own.inputs.begin(), work.own.inputs.end());
  // It may not take what the conversion made of them.
  return ask_again(work, "with channels last");
}

// Asks about the nodes of one region alone. Once claimed is not taken for ever: the form may be another one, and
// providers keep from GetCapability to Compile what they want to know there (the names of inputs and outputs), once.
Status PluginProvider::ask_again(const Work& work, std::string_view how) {
  const auto shown = graph_of(model_, work.graph(), work.parts);
  OrtEpGraphSupportInfo support;
  TRN_TRY(ask(work.graph(), *shown, support).with_context(fmt::format("GetCapability {}", how)));
  std::unordered_set<size_t> taken;
  for (const OrtNode* n : support.single) taken.insert(n->id);
  for (const auto& group : support.groups)
    for (const OrtNode* n : group.nodes) taken.insert(n->id);
  for (const ir::Node* n : work.parts.nodes)
    if (!taken.contains(static_cast<size_t>(n->id())))
      return not_implemented("{}, asked {}, does not take {} ({})", identity_.name, how, n->label(),
                             n->domain().empty() ? "ai.onnx" : n->domain());
  return {};
}

std::string PluginProvider::name_of(const ep::Region& region) {
  uint64_t hash = hash64(model_.path);
  for (const ir::Node* n : region.nodes) hash = hash_combine(hash, hash64(n->op_type() + ":" + n->name()));
  return fmt::format("{}_{}_{}", identity_.name, hash, compiled_++);
}

Status PluginProvider::compile_together(std::span<Work* const> works) {
  std::vector<std::unique_ptr<OrtGraph>> graphs;
  std::vector<std::unique_ptr<OrtNode>> nodes;
  std::vector<const OrtGraph*> graph_pointers;
  std::vector<const OrtNode*> node_pointers;
  for (const Work* work : works) {
    graphs.push_back(graph_of(model_, work->graph(), work->parts));
    if (work->engine) {
      graphs.back()->path = engines_->model_path();
      auto& attributes = graphs.back()->nodes.front()->attributes;
      attributes.insert(attributes.end(), work->large.begin(), work->large.end());
    }
    graph_pointers.push_back(graphs.back().get());
    auto node = std::make_unique<OrtNode>();
    node->op_type = node->name = work->name;
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
  std::vector<OrtNodeComputeInfo*> infos(works.size());
  std::vector<OrtNode*> context_nodes(works.size());
  asked_ = false;
  const Status status = guarded([&] {
    return from_ort(ep_->Compile(ep_, graph_pointers.data(), node_pointers.data(), works.size(), infos.data(),
                                 context_nodes.data()));
  });
  for (size_t k = 0; k < works.size(); ++k) {
    const std::unique_ptr<const OrtNode> n(context_nodes[k]);
    if (!status.ok()) continue;
    if (infos[k]) infos_.push_back(infos[k]);
    works[k]->compute = infos[k];
    if (!n) continue;
    auto context = std::make_shared<ep::ContextNode>();
    *context = {n->op_type, n->domain, n->name, n->inputs, n->outputs, {}};
    for (const auto& a : n->attributes) context->attrs.push_back(a->attr);
    works[k]->context = std::move(context);
  }
  TRN_TRY(status);
  for (const OrtNodeComputeInfo* info : infos) {
    if (!info) return error(Code::fail, "Compile succeeded, but left out what computes a group of nodes");
    TRN_TRY(check_version(info->ort_version_supported, "what computes a group of nodes"));
    if (!info->CreateState || !info->Compute)
      return invalid_argument("what computes a group of nodes lacks a function that all have");
  }
  if (engines_) keep_engines(works);
  return {};
}

Result<ep::Fused> PluginProvider::compiled(Work& work) {
  std::vector<DType> types;
  for (const ir::Value* v : work.region->outputs) types.push_back(v->fact.dtype());
  auto made = std::make_unique<Region>(identity_.name, ep_, memory_, *factory_);
  TRN_TRY(made->make_compiled(work.compute, work.name, label_of(*work.region), work.region->inputs.size(), types,
                              session_));
  if (work.engine)
    made->order_ports(places_in(work.region->inputs, work.parts.inputs),
                      places_in(work.region->outputs, work.parts.outputs));
  ep::Fused result = fused(*work.region, std::move(made), std::move(work.context), std::move(work.name));
  result.engine = std::move(work.note);
  return result;
}

// The region as a graph whose nodes all have kernels: with channels last as far as there are kernels for it.
Result<Subgraph> PluginProvider::graph_for_kernels(const ep::Region& region) const {
  std::set<std::string> second;  // operators that keep their channels where they are
  for (bool convert = channels_last_;;) {
    TRN_ASSIGN(Subgraph own, subgraph_of(region));
    if (!convert) return own;
    Status status;
    const auto wants = [&](const ir::Node& n) {
      if (second.contains(n.op_type())) return false;
      const auto yes = wants_channels_last(n);
      if (!yes.ok()) status = yes.status();
      return yes.ok() && *yes;
    };
    const auto converted = convert_layout(*own.graph, wants);
    TRN_TRY(status);
    convert = converted.ok() && *converted > 0;
    if (!convert && converted.ok()) return own;
    bool whole = convert;
    for (const ir::Node* n = own.graph->first(); n && convert; n = n->next()) {
      if (registry_->find(*n)) continue;
      whole = false;
      convert = n->domain() == kChannelsLast && second.insert(n->op_type()).second;
    }
    if (!whole) continue;
    own.outputs.assign(own.graph->outputs().begin(), own.graph->outputs().end());
    return own;
  }
}

Result<ep::Fused> PluginProvider::run_by_kernels(const ep::Region& region) {
  TRN_ASSIGN(Subgraph own, graph_for_kernels(region));
  auto made = std::make_unique<Region>(identity_.name, ep_, memory_, *factory_);
  TRN_TRY(made->make_kernels(std::move(own.graph), own.inputs, own.outputs, *registry_, session_));
  return fused(region, std::move(made), nullptr, name_of(region));
}

ep::Fused PluginProvider::fused(const ep::Region& region, std::unique_ptr<Region> made, Context context,
                                std::string name) {
  FusedOp& op = fused_.emplace_back();
  op.region = std::move(made);
  op.provider = this;
  op.fused_name = std::move(name);
  for (const ir::Value* v : region.outputs) op.facts.push_back(v->fact);
  op.name = op.fused_name;
  op.domain = identity_.name;
  set_foreign(op, infer_fused, make_fused);
  schema::Schema& s = op.signature;
  s.domain = op.domain;
  s.op = op.name;
  s.since = 1;
  s.inputs = {any("inputs")};
  s.outputs = {any("outputs")};
  s.max_inputs = s.max_outputs = schema::Schema::kUnbounded;
  holds_nodes_ = true;
  return {op.fused_name, &op, &op.signature, std::move(context)};
}

std::vector<Result<ep::Fused>> PluginProvider::compile_regions(const ir::Graph& graph,
                                                               std::span<const ep::Region> regions) {
  Engines::Turn turn = look_for_engines(regions);  // may wait for other sessions, which need the device
  const auto alone = library_->alone();            // another session may run on the same device
  std::vector<Result<ep::Fused>> results(regions.size(), error(Code::fail, "not compiled"));
  if (Status s = use_engines(graph, turn, regions, results); !s.ok()) {
    std::ranges::fill(results, s);
    return results;
  }
  std::deque<Work> works;
  std::vector<Work*> open;
  for (size_t k = 0; k < regions.size(); ++k) {
    if (results[k].ok()) continue;
    const ep::Region& r = regions[k];
    Work& work = works.emplace_back();
    work.region = &r;
    if (by_kernel_.contains(r.nodes.front())) {
      results[k] = run_by_kernels(r);
      continue;
    }
    work.parts = {r.nodes, {r.inputs.begin(), r.inputs.end()}, {r.outputs.begin(), r.outputs.end()}};
    if (channels_last_) {
      if (Status s = convert(work); !s.ok()) {
        results[k] = std::move(s);
        continue;
      }
    }
    work.name = name_of(r);
    if (engines_) work.hash = turn.hashes[k], work.note = turn.notes[k];
    open.push_back(&work);
  }
  const auto result_of = [&](const Work& work) -> Result<ep::Fused>& {
    return results[static_cast<size_t>(work.region - regions.data())];
  };
  // What was claimed is compiled at once; after that, only what the provider takes when it is asked about it alone.
  std::erase_if(open, [&](Work* work) {
    if (asked_) return false;
    const Status s = ask_again(*work, kAlone);
    if (!s.ok()) result_of(*work) = s;
    return !s.ok();
  });
  Status together = open.empty() ? Status() : compile_together(open);
  if (!together.ok() && engines_) together = compile_without_engines(graph, open, std::move(together));
  for (Work* work : open) {
    Status status = together;
    if (!status.ok() && open.size() > 1) {  // which of them was it
      work->name = name_of(*work->region);  // the provider may have kept the other
      status = ask_again(*work, kAlone);
      if (status.ok()) status = compile_together({&work, 1});
    }
    if (status.ok())
      result_of(*work) = compiled(*work);
    else
      result_of(*work) = status.with_context("Compile failed");
  }
  for (size_t k = 0; k < regions.size(); ++k)
    if (!results[k].ok())
      TRN_LOG(session_->log.logger, info, "{} cannot run {}: {}", identity_.name, label_of(regions[k]),
              results[k].status().message());
  return results;
}

}  // namespace trunnion::abi
