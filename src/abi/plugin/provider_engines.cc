// Engines out of the cache and into it. On a hit the plugin gets nodes that stand for regions, as if the model had been
// written with them.
#include <algorithm>

#include "abi/plugin/provider.h"
#include "abi/slots.h"
#include "base/os.h"
#include "ops/catalog.h"

namespace trunnion::abi {
namespace {

template <class Values>
auto named(const Values& values, const std::string& name) {
  return std::ranges::find(values, name, [](const auto* v) -> const std::string& { return v->name(); });
}

constexpr size_t kLarge = size_t{64} << 10;  // bytes of a text

// Data of engines, which may be hundreds of megabytes: held once, whatever graph shows it.
using LargeAttrs = std::vector<std::shared_ptr<const OrtOpAttr>>;

// The nodes in one graph, in the order of the regions unless one needs another's output; null where they need each
// other.
class EngineGraph {
 public:
  EngineGraph(Engines::Hit& hit, std::span<const ep::Region> regions) : hit_(hit), regions_(regions) {}

  Result<std::unique_ptr<ir::Graph>> make() {
    graph_->name = regions_.front().nodes.front()->graph()->name;
    nodes_.resize(hit_.engine.nodes.size());
    large_.resize(nodes_.size());
    for (size_t left = nodes_.size(); left > 0;) {
      const size_t before = left;
      for (size_t k = 0; k < nodes_.size(); ++k) {
        if (nodes_[k] || !ready(k)) continue;
        TRN_TRY(add(k));
        --left;
      }
      if (left == before) return error(Code::fail, "its nodes need each other's outputs");
    }
    (void)ops::resolve(*graph_);  // for the defaults of attributes; operators of its own have none
    return std::move(graph_);
  }
  const ir::Node* node(size_t k) const { return nodes_[k]; }
  const LargeAttrs& large(size_t k) const { return large_[k]; }

 private:
  const ep::Region& region(size_t k) const { return regions_[hit_.regions[k]]; }
  bool ready(size_t k) const {
    for (const std::string& name : hit_.engine.nodes[k].inputs)
      for (size_t j = 0; j < nodes_.size(); ++j)
        if (j != k && !nodes_[j] &&
            std::ranges::find(hit_.engine.nodes[j].outputs, name) != hit_.engine.nodes[j].outputs.end() &&
            !name.empty())
          return false;
    return true;
  }

  Status add(size_t k) {
    ep::ContextNode& from = hit_.engine.nodes[k];
    std::vector<ir::Value*> inputs;
    for (const std::string& name : from.inputs) {
      if (name.empty()) {
        inputs.push_back(nullptr);
        continue;
      }
      ir::Value* v = graph_->find(name);
      const auto in = named(region(k).inputs, name);
      if (in == region(k).inputs.end()) return error(Code::fail, "it reads '{}', which the region does not", name);
      if (!v)
        v = (*in)->is_constant() ? graph_->add_constant(name, (*in)->constant()) : graph_->add_input(name, (*in)->fact);
      inputs.push_back(v);
    }
    std::erase_if(from.attrs, [&](ir::Attr& a) {
      const auto* text = a.get<std::string>();
      if (!text || text->size() < kLarge) return false;
      large_[k].push_back(std::make_shared<const OrtOpAttr>(OrtOpAttr{std::move(a)}));
      return true;
    });
    const std::vector<std::string_view> outputs(from.outputs.begin(), from.outputs.end());
    ir::Node* made = graph_->add_node(from.op_type, from.domain, 1, inputs, outputs, from.attrs, nullptr, from.name);
    for (const std::string& name : from.outputs) {
      if (name.empty()) continue;
      const auto out = named(region(k).outputs, name);
      if (out == region(k).outputs.end()) return error(Code::fail, "it gives '{}', which the region does not", name);
      ir::Value* v = graph_->find(name);
      v->fact = (*out)->fact;
      graph_->add_output(v);
    }
    for (const ir::Value* v : region(k).outputs)
      if (std::ranges::find(from.outputs, v->name()) == from.outputs.end())
        return error(Code::fail, "it does not give '{}'", v->name());
    nodes_[k] = made;
    return {};
  }

  Engines::Hit& hit_;
  std::span<const ep::Region> regions_;
  std::vector<LargeAttrs> large_;  // by node
  std::unique_ptr<ir::Graph> graph_ = std::make_unique<ir::Graph>();
  std::vector<const ir::Node*> nodes_;
};

}  // namespace

Engines::Turn PluginProvider::look_for_engines(std::span<const ep::Region> regions) const {
  if (engines_ && by_kernel_.empty()) return engines_->look(regions);
  ep::EngineNote note;
  if (engines_) note = {"off", "the provider runs other nodes of the graph by kernels, which no engine holds"};
  return {{}, std::vector<std::optional<Hash128>>(regions.size()), std::vector(regions.size(), note), {}};
}

// As if the session had just begun with these options, and the provider had been asked about the graph.
Status PluginProvider::start_again(const OrtSessionOptions& options, const ir::Graph* graph) {
  close();
  asked_ = false;
  if (Status s = open(options); !s.ok()) {
    close();
    ep_ = &gone_;
    return s;
  }
  if (!graph) return {};
  const auto shown = graph_of(model_, *graph, whole(*graph));
  OrtEpGraphSupportInfo support;
  return ask(*graph, *shown, support);
}

// Some providers write what they have read once more, and take longer over that than over reading it. So they are told
// to write only when there is something to be compiled.
Status PluginProvider::write_engines(const ir::Graph* graph) {
  if (!engines_ || !engines_->writing() || writes_engines_ || !fused_.empty()) return {};
  const Status started = start_again(*engines_->writing(), graph);
  writes_engines_ = started.ok();
  if (started.ok()) return {};
  engines_->stop_writing(started);
  return start_again(*options_, graph);
}

Status PluginProvider::use_engines(const ir::Graph& graph, Engines::Turn& turn, std::span<const ep::Region> regions,
                                   std::vector<Result<ep::Fused>>& results) {
  if (!engines_ || !by_kernel_.empty()) return {};
  const auto prepare_for_rest = [&](size_t found) { return found < regions.size() ? write_engines(&graph) : Status(); };
  size_t found = 0;
  for (const Engines::Hit& hit : turn.hits) found += hit.regions.size();
  TRN_TRY(prepare_for_rest(found));
  // A provider may decide by the first graph that it sees whether it reads engines.
  if (found == regions.size() && fused_.empty() && !writes_engines_) TRN_TRY(start_again(*options_, nullptr));
  for (Engines::Hit& hit : turn.hits) {
    const int64_t begin = os::monotonic_ns();
    Status used = engines_->prepare(hit);
    if (used.ok()) used = use_engine(hit, regions, results);
    if (used.ok()) {
      engines_->log_hit(hit, os::monotonic_ns() - begin);
      continue;
    }
    engines_->log_ignored(hit.key, used);
    for (const size_t i : hit.regions) turn.notes[i] = {"ignored", std::string(used.message())};
    found -= hit.regions.size();
    asked_ = false;  // if at all, then about the engine
  }
  return prepare_for_rest(found);
}

Status PluginProvider::use_engine(Engines::Hit& hit, std::span<const ep::Region> regions,
                                  std::vector<Result<ep::Fused>>& results) {
  EngineGraph maker(hit, regions);
  TRN_ASSIGN(const auto graph, maker.make());
  const auto shown = graph_of(model_, *graph, whole(*graph));
  shown->path = engines_->model_path();
  const auto add_large = [](OrtNode& node, const LargeAttrs& large) {
    node.attributes.insert(node.attributes.end(), large.begin(), large.end());
  };
  for (size_t k = 0; k < hit.regions.size(); ++k)
    for (const auto& n : shown->nodes)
      if (n->id == static_cast<size_t>(maker.node(k)->id())) add_large(*n, maker.large(k));
  OrtEpGraphSupportInfo support;
  TRN_TRY(ask(*graph, *shown, support).with_context("GetCapability of the engine"));
  std::vector<bool> taken(static_cast<size_t>(graph->node_id_bound()));
  for (const auto& group : support.groups)
    for (const OrtNode* n : group.nodes) taken[n->id] = true;
  std::deque<Work> works;
  std::vector<Work*> pointers;
  for (size_t k = 0; k < hit.regions.size(); ++k) {
    const ir::Node* node = maker.node(k);
    if (!taken[static_cast<size_t>(node->id())])
      return error(Code::fail, "{} does not take the {} that it wrote", identity_.name, node->label());
    Work& work = works.emplace_back();
    work.region = &regions[hit.regions[k]];
    work.engine = graph.get();
    work.large = maker.large(k);
    work.name = name_of(*work.region);
    work.note.cache = "hit";
    work.parts.nodes = {node};
    for (const ir::Value* v : node->inputs())
      if (v && std::ranges::find(work.parts.inputs, v) == work.parts.inputs.end()) work.parts.inputs.push_back(v);
    for (const ir::Value* v : node->outputs())
      if (v) work.parts.outputs.push_back(v);
    pointers.push_back(&work);
  }
  TRN_TRY(compile_together(pointers).with_context(fmt::format("{} refuses the engine", identity_.name)));
  std::vector<ep::Fused> made;
  for (Work& work : works) {
    work.context.reset();  // some write it once more
    TRN_ASSIGN(ep::Fused fused, compiled(work));
    made.push_back(std::move(fused));
  }
  for (size_t k = 0; k < made.size(); ++k) results[hit.regions[k]] = std::move(made[k]);
  return {};
}

void PluginProvider::keep_engines(std::span<Work* const> works) {
  std::vector<Engines::Made> made;
  if (!by_kernel_.empty()) {  // the notes say so
    for (Work* work : works) work->context.reset();
    return;
  }
  for (Work* work : works) {
    if (work->engine) return;  // they come out of the cache
    Engines::Made& m = made.emplace_back();
    m.region = work->region;
    m.hash = work->hash;
    m.note = &work->note;
    if (work->context) m.node = std::move(*std::const_pointer_cast<ep::ContextNode>(work->context));
    work->context.reset();
  }
  if (!writes_engines_ && engines_->writing()) {
    for (Engines::Made& m : made) m.note->reason += "; not written: other engines of the session were read before";
    return;
  }
  engines_->store(made, engines_->writing() ? compatibility_info(*works.front()->region->nodes.front()->graph()) : "");
}

// What is compiled is not to depend on the cache, and some providers fail to write engines, or are of no more use for
// that once a group of nodes could not be compiled. So the first failure ends it, and all begins as if there were none.
Status PluginProvider::compile_without_engines(const ir::Graph& graph, std::span<Work* const> works, Status failed) {
  if (!writes_engines_ || !fused_.empty()) return failed;
  writes_engines_ = false;
  engines_->stop_writing(failed.with_context("Compile failed"));
  TRN_TRY(start_again(*options_, &graph));
  return compile_together(works);
}

}  // namespace trunnion::abi
