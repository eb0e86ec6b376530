// The placement of a session as JSON: who runs what, why the others do not, what is handed over, what became one.
#include "base/error.h"
#include "plan/node_work.h"
#include "session/json.h"
#include "session/session.h"

namespace trunnion::session {
namespace {

std::string numbers(const std::vector<int>& list) {
  return json_list(list, [](int i) { return std::to_string(i); });
}

std::string name_of(const plan::Placement& p, int provider) {
  return provider < 0 ? "null" : json_text(p.providers[static_cast<size_t>(provider)]);
}

// Null where it is not known; sizes with free dimensions are not known either.
std::string bytes_json(const Type& type) {
  bool free_sizes = false;
  const auto bytes = plan::bytes_of(type, free_sizes);
  return bytes && !free_sizes ? fmt::format("{:.0f}", *bytes) : "null";
}

std::string node_json(const plan::Placement& p, const plan::NodePlacement& n) {
  std::string out = fmt::format("{{\"name\":{},\"op_type\":{},\"domain\":{},\"provider\":{}", json_text(n.name),
                                json_text(n.op_type), json_text(n.domain), name_of(p, n.provider));
  if (n.region >= 0) out += fmt::format(",\"region\":{}", n.region);
  if (n.owner >= 0) out += fmt::format(",\"owner\":{}", n.owner);
  if (!p.values.empty()) out += fmt::format(",\"inputs\":{},\"outputs\":{}", numbers(n.inputs), numbers(n.outputs));
  return out + fmt::format(",\"refused\":{}}}", json_list(n.refused, [](const plan::Refusal& r) {
                             return fmt::format("{{\"provider\":{},\"reason\":{}}}", json_text(r.provider),
                                                json_text(r.reason));
                           }));
}

std::string verdict_json(const plan::Placement& p, const plan::Verdict& v) {
  return fmt::format(
      "{{\"provider\":{},\"nodes\":{},\"first\":{},\"provider_us\":{:.3f},\"cpu_us\":{:.3f},\"copies\":{},"
      "\"copies_us\":{:.3f},\"copied_bytes\":{:.0f},\"free_dimensions_as_1\":{},\"kept\":{},\"text\":{}}}",
      name_of(p, v.provider), v.nodes, json_text(v.first), v.here_us, v.there_us, v.copies, v.copies_us, v.copied_bytes,
      v.free_sizes, v.kept, json_text(v.text()));
}

// What the cache of engines had, regions of which the same is to be said together; empty where there is no cache.
std::string engines_json(const plan::Placement& p) {
  std::vector<int> providers(static_cast<size_t>(p.regions), -1);
  for (const auto& n : p.nodes)
    if (n.region >= 0) providers[static_cast<size_t>(n.region)] = n.provider;
  std::string out;
  std::vector<bool> told(p.engines.size());
  for (size_t i = 0; i < p.engines.size(); ++i) {
    const ep::EngineNote& note = p.engines[i];
    if (told[i] || note.cache.empty()) continue;
    std::vector<int> regions;
    for (size_t k = i; k < p.engines.size(); ++k) {
      if (p.engines[k] != note || providers[k] != providers[i]) continue;
      told[k] = true;
      regions.push_back(static_cast<int>(k));
    }
    out += fmt::format("{}{{\"provider\":{},\"regions\":{},\"cache\":{},\"reason\":{},\"stored\":{}}}",
                       out.empty() ? "" : ",", name_of(p, providers[i]), numbers(regions), json_text(note.cache),
                       json_text(note.reason), note.stored);
  }
  return out;
}

// Nodes of the graph as it runs that stand for others.
void add_fusions(const ir::Graph& graph, std::string& out) {
  for (const ir::Node* n = graph.first(); n; n = n->next()) {
    if (n->origins.size() > 1)
      out += fmt::format("{}{{\"op_type\":{},\"domain\":{},\"name\":{},\"stands_for\":{}}}", out.empty() ? "" : ",",
                         json_text(n->op_type()), json_text(n->domain()), json_text(n->name()),
                         json_list(n->origins, json_text));
    for (const ir::Graph* body : n->bodies()) add_fusions(*body, out);
  }
}

}  // namespace

std::string Session::placement_json() const {
  const plan::Placement& p = placement_;
  std::string providers;
  for (size_t i = 0; i < p.providers.size(); ++i)
    providers +=
        fmt::format("{}{{\"name\":{},\"vendor\":{},\"device\":{},\"own_memory\":{},\"nodes\":{}}}", i ? "," : "",
                    json_text(p.providers[i]), json_text(p.identities[i].vendor), json_text(p.identities[i].device),
                    p.identities[i].own_memory, p.count(static_cast<int>(i)));
  std::string out =
      fmt::format("{{\"summary\":{},\"providers\":[{}],\"regions\":{},\"nodes\":{}", json_text(placement_summary()),
                  providers, p.regions, json_list(p.nodes, [&](const auto& n) { return node_json(p, n); }));
  if (!p.values.empty()) {
    out += fmt::format(",\"values\":{}", json_list(p.values, [](const plan::PlacedValue& v) {
                         return fmt::format("{{\"name\":{},\"type\":{},\"shape\":{},\"bytes\":{},\"output\":{}}}",
                                            json_text(v.name), json_text(v.type.text()), json_shape(v.type),
                                            bytes_json(v.type), v.output);
                       }));
    out += fmt::format(",\"crossings\":{}", json_list(p.crossings, [&](const plan::Crossing& c) {
                         return fmt::format("{{\"value\":{},\"from\":{},\"to\":{},\"copied\":{}}}", c.value,
                                            name_of(p, c.from), name_of(p, c.to), c.copied);
                       }));
  }
  if (!p.verdicts.empty())
    out += fmt::format(",\"cost\":{}", json_list(p.verdicts, [&](const auto& v) { return verdict_json(p, v); }));
  if (const std::string engines = engines_json(p); !engines.empty()) out += fmt::format(",\"engines\":[{}]", engines);
  std::string fusions;
  add_fusions(*model_->graph, fusions);
  out += fmt::format(",\"nodes_run\":{},\"fusions\":[{}],\"passes\":[", model_->graph->node_count(), fusions);
  bool first = true;
  for (const auto& r : pass_records_) {
    if (!r.changes) continue;
    out += fmt::format("{}{{\"name\":{},\"changes\":{},\"ms\":{:.3f}}}", first ? "" : ",", json_text(r.name), r.changes,
                       r.milliseconds);
    first = false;
  }
  return out + "]}";
}

}  // namespace trunnion::session
