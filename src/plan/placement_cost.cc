#include "plan/placement_cost.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "base/cpu_info.h"
#include "base/edit_distance.h"
#include "base/error.h"
#include "plan/node_work.h"
#include "plan/regions.h"

namespace trunnion::plan {
namespace {

constexpr double kNoCopy = 1e9;  // GB/s

struct Field {
  std::string_view name;
  double Costs::*value;
  bool may_be_zero;
};
constexpr Field kFields[] = {
    {"gflops", &Costs::gflops, false},    {"gb_s", &Costs::gb_s, false},      {"node_us", &Costs::node_us, true},
    {"start_us", &Costs::start_us, true}, {"copy_us", &Costs::copy_us, true}, {"copy_gb_s", &Costs::copy_gb_s, false},
};

double time_us(const Work& work, const Costs& c) {
  const double nodes = static_cast<double>(work.nodes);
  return nodes * c.node_us + std::max(work.flops / (c.gflops * 1e3), work.bytes / (c.gb_s * 1e3));
}

// Which island a node is in, as long as the island stands.
using Members = std::unordered_map<const ir::Node*, size_t>;

class Judge {
 public:
  Judge(const std::vector<ep::Region>& islands, const ep::Identity& identity, const Costs& here, const Costs& cpu)
      : islands_(islands), identity_(identity), here_(here), cpu_(cpu), verdicts_(islands.size()) {
    for (size_t k = 0; k < islands.size(); ++k) {
      Work work;
      for (const ir::Node* n : islands[k].nodes) {
        members_.emplace(n, k);
        add_work(*n, work);
      }
      Verdict& v = verdicts_[k];
      v.nodes = static_cast<int>(work.nodes);
      v.own_memory = identity.own_memory;
      v.first = islands[k].nodes.front()->label();
      v.here_us = here.start_us + time_us(work, here);
      v.there_us = time_us(work, cpu);
      v.free_sizes = work.free_sizes;
      v.unknown_sizes = work.unknown_sizes;
    }
  }

  // What goes makes the values of its neighbours cross, so that these lose more: nothing is ever taken back.
  std::vector<Verdict> run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t k = 0; k < islands_.size(); ++k)
        if (verdicts_[k].kept) count_copies(k);
      for (size_t k = 0; k < islands_.size(); ++k) {
        Verdict& v = verdicts_[k];
        if (!v.kept || v.saves_us() > v.copies_us) continue;
        v.kept = false;
        changed = true;
      }
    }
    return std::move(verdicts_);
  }

 private:
  bool stands(const ir::Node* n) const {
    const auto it = members_.find(n);
    return it != members_.end() && verdicts_[it->second].kept;
  }

  void count_copies(size_t k) {
    Verdict& v = verdicts_[k];
    v.copies = 0;
    v.copied_bytes = v.copies_us = 0;
    const auto add = [&](const ir::Value* value) {
      const auto bytes = bytes_of(value->fact.type, v.free_sizes);
      v.unknown_sizes |= !bytes;
      ++v.copies;
      v.copied_bytes += bytes.value_or(0);
      v.copies_us += here_.copy_us + bytes.value_or(0) / (here_.copy_gb_s * 1e3);
    };
    for (const ir::Value* in : islands_[k].inputs)
      if (!in->is_constant() && !(identity_.own_memory && in->producer() && stands(in->producer()))) add(in);
    for (const ir::Value* out : islands_[k].outputs) {
      const auto outside = [&](const ir::Node* user) { return !stands(user); };
      if (!identity_.own_memory || out->output_uses() > 0 || std::ranges::any_of(out->users(), outside)) add(out);
    }
  }

  const std::vector<ep::Region>& islands_;
  const ep::Identity& identity_;
  const Costs &here_, &cpu_;
  std::vector<Verdict> verdicts_;
  Members members_;
};

std::string_view cut(std::string_view& rest, char by) {
  const auto part = rest.substr(0, rest.find(by));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

}  // namespace

Costs assumed_costs(const ep::Identity& identity, int threads) {
  const double cores = std::max(threads, 1);
  const double core_gflops = active_rung() == Rung::avx512 ? 80 : active_rung() == Rung::avx2 ? 40 : 10;
  Costs c{core_gflops * cores, std::min(10 * cores, 60.0), 1, 0, 0, 10};
  if (identity.device == "GPU")
    c = {5000, 300, 3, 20, 10, 12};
  else if (identity.device == "NPU")
    c = {2000, 50, 1, 50, 10, 8};
  else if (identity.name != "CPUExecutionProvider")  // another library for the same processor saves work between nodes
    c.node_us = 0.5, c.start_us = 5;
  if (!identity.own_memory) {
    c.copy_us = 1;
    c.copy_gb_s = kNoCopy;
  }
  return c;
}

Status read_costs(std::string_view text, std::span<const std::string> providers, std::span<Costs> costs) {
  constexpr const char* kKey = "session.placement_costs";
  while (!text.empty()) {
    std::string_view entry = cut(text, ';');
    if (entry.empty()) continue;
    const std::string_view name = cut(entry, ':');
    const auto at = std::ranges::find(providers, name);
    if (at == providers.end())
      return invalid_argument("{}: there is no provider '{}', only {}", kKey, name, fmt::join(providers, ", "));
    while (!entry.empty()) {
      std::string_view value = cut(entry, ',');
      const std::string_view key = cut(value, '=');
      const auto field = std::ranges::find(kFields, key, &Field::name);
      if (field == std::end(kFields)) {
        std::vector<std::string_view> names;
        for (const Field& f : kFields) names.push_back(f.name);
        return invalid_argument("{}: '{}' of {} is none of {}{}", kKey, key, name, fmt::join(names, ", "),
                                did_you_mean(key, names));
      }
      double number = 0;
      const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
      const bool good = failed == std::errc() && end == value.data() + value.size() && number >= 0 && number <= 1e12;
      if (!good || (number == 0 && !field->may_be_zero))
        return invalid_argument("{}: {} of {} is '{}', it is to be a number {} 0", kKey, key, name, value,
                                field->may_be_zero ? ">=" : ">");
      costs[static_cast<size_t>(at - providers.begin())].*(field->value) = number;
    }
  }
  return {};
}

std::vector<Verdict> judge(std::vector<ep::Region>& islands, const ep::Identity& identity, const Costs& here,
                           const Costs& cpu) {
  std::vector<Verdict> verdicts = Judge(islands, identity, here, cpu).run();
  std::vector<ep::Region> kept;
  for (size_t k = 0; k < islands.size(); ++k)
    if (verdicts[k].kept) kept.push_back(std::move(islands[k]));
  islands = std::move(kept);
  return verdicts;
}

std::vector<ep::Region> islands_of(const ir::Graph& graph, const std::unordered_set<const ir::Node*>& nodes) {
  std::unordered_map<const ir::Node*, size_t> island;
  std::vector<ep::Region> islands;
  for (const ir::Node* n = graph.first(); n; n = n->next()) {
    if (!nodes.contains(n) || island.contains(n)) continue;
    islands.emplace_back();
    std::vector<const ir::Node*> open{n};
    island.emplace(n, islands.size() - 1);
    const auto visit = [&](const ir::Node* other) {
      if (other && nodes.contains(other) && island.emplace(other, islands.size() - 1).second) open.push_back(other);
    };
    while (!open.empty()) {
      const ir::Node* at = open.back();
      open.pop_back();
      islands.back().nodes.push_back(at);
      for (const ir::Value* v : at->inputs())
        if (v) visit(v->producer());
      for (const ir::Value* v : at->outputs())
        if (v)
          for (const ir::Node* user : v->users()) visit(user);
    }
  }
  return islands;
}

std::string time_text(double us) {
  const double size = us < 0 ? -us : us;
  if (size < 999.5) return fmt::format("{:.3g} us", us);
  return size < 999.5e3 ? fmt::format("{:.3g} ms", us / 1e3) : fmt::format("{:.3g} s", us / 1e6);
}

std::string size_text(double bytes) {
  const char* unit = "B";
  for (const char* larger : {"kB", "MB", "GB", "TB"}) {
    if (bytes < 999.5) break;
    bytes /= 1000;
    unit = larger;
  }
  return fmt::format("{:.3g} {}", bytes, unit);
}

std::string Verdict::text() const {
  const double saved = saves_us();
  return fmt::format("island of {} node{}: {} {}, {} {} ({} value{}, {}{})", nodes, nodes == 1 ? "" : "s",
                     saved < 0 ? "loses" : "saves", time_text(saved < 0 ? -saved : saved),
                     own_memory ? "copies cost" : "handing over costs", time_text(copies_us), copies,
                     copies == 1 ? "" : "s", size_text(copied_bytes),
                     unknown_sizes ? ", some sizes are not known"
                     : free_sizes  ? ", free dimensions taken as 1"
                                   : "");
}

}  // namespace trunnion::plan
