// The report as text, as markdown and as JSON.
#include <algorithm>

#include "bench_report.h"
#include "failure.h"
#include "file.h"

namespace trunnion::cli {
namespace {

// Columns as wide as their widest cell; what holds a number stands right.
std::string aligned(const Table& table) {
  std::vector<size_t> widths(table[0].size());
  for (const auto& row : table)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string text;
  for (const auto& row : table) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const bool name = c == 0 || table[0][c] == "operator" || table[0][c] == "inputs";
      line += name ? fmt::format("  {:<{}}", row[c], widths[c]) : fmt::format("  {:>{}}", row[c], widths[c]);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + "\n";
  }
  return text;
}

std::string marked_down(const Table& table) {
  std::string text;
  for (size_t r = 0; r < table.size(); ++r) {
    text += '|';
    for (std::string cell : table[r]) {
      for (size_t at = 0; (at = cell.find('|', at)) != cell.npos; at += 2) cell.insert(at, 1, '\\');
      text += " " + cell + " |";
    }
    text += '\n';
    if (r == 0) {
      text += '|';
      for (size_t c = 0; c < table[0].size(); ++c) text += c ? "---:|" : "---|";
      text += '\n';
    }
  }
  return text;
}

std::string head(const BenchReport& r) {
  return fmt::format("{}: trunnion {}, {} thread{}, {}, {}{}", r.model, r.version, r.profile.threads,
                     r.profile.threads == 1 ? "" : "s", precision_text(r), r.profile.cpu,
                     r.cpu.empty() ? "" : " on " + r.cpu);
}

std::string times_line(const BenchReport& r) {
  const Times t = times_of(r.times);
  return fmt::format("{} runs: p50 {} ms, p90 {}, p99 {}, min {}", t.count, ms_text(t.p50), ms_text(t.p90),
                     ms_text(t.p99), ms_text(t.min));
}

std::vector<std::string> summary(const BenchReport& r) {
  const Times t = times_of(r.times);
  std::vector<std::string> lines{
      times_line(r),
      fmt::format("load {} ms, first run {} ms, inputs made in {} ms, outputs copied in {} ms", ms_text(r.load_ms),
                  ms_text(r.first_ms), ms_text(r.around.feed_ms), ms_text(r.around.fetch_ms))};
  if (t.p50 > 0) lines.push_back(fmt::format("one caller: {:.1f} runs a second", 1e3 / t.p50));
  if (r.callers) {
    const Times c = times_of(r.callers->times);
    lines.push_back(fmt::format("{} callers at once: {:.1f} runs a second, p50 {} ms, p90 {}, p99 {}", r.callers->count,
                                r.callers->runs_per_second, ms_text(c.p50), ms_text(c.p90), ms_text(c.p99)));
  }
  if (r.peak_bytes > 0)
    lines.push_back(fmt::format("peak memory {}, of which loading and the first run {}", bytes_text(r.peak_bytes),
                                bytes_text(r.grown_bytes)));
  lines.push_back(r.placement);
  double flops = 0;
  for (const NodeTime& n : r.profile.nodes) flops += n.flops;
  if (r.limit_ms > t.p50 * 1e-3)  // else what takes the time is neither arithmetic nor bytes
    lines.push_back(fmt::format("{} of the roofline: the machine's limit is {} ms; {:.3g} GFLOP a run, {} GFLOP/s",
                                share_text(r.limit_ms, t.p50), ms_text(r.limit_ms), flops * 1e-9,
                                rate_text(flops, t.p50)));
  return lines;
}

void add_notes(const BenchReport& r, const char* mark, std::string& text) {
  for (const PeerResult& p : r.peers)
    if (!p.missing.empty()) text += fmt::format("{}{}: not compared: {}\n", mark, p.engine, one_line(p.missing));
  for (const std::string& note : r.notes) text += fmt::format("{}{}\n", mark, note);
}

Json times_json(const Times& t) {
  return {{"count", t.count}, {"min_ms", t.min}, {"p50_ms", t.p50},
          {"p90_ms", t.p90},  {"p99_ms", t.p99}, {"max_ms", t.max}};
}

Json peer_json(const PeerResult& p) {
  Json json{{"engine", p.engine}};
  if (!p.missing.empty()) {
    json["missing"] = p.missing;
    return json;
  }
  json["version"] = p.version;
  json["load_ms"] = p.load_ms;
  json["first_run_ms"] = p.first_ms;
  json["memory_bytes"] = p.memory_bytes;
  json["runs"] = times_json(p.times);
  json["turns"] = p.turns;
  if (p.engine == "trunnion") return json;
  json["ratio"] = {{"median", p.ratio}, {"low", p.interval.low}, {"high", p.interval.high}, {"noisy", p.noisy}};
  json["difference"] = p.compared ? number_json(p.difference) : Json();
  return json;
}

Json node_json(const NodeTime& n) {
  Json json{{"name", n.name}, {"op", n.op}, {"provider", n.provider}, {"ms", n.ms}, {"calls", n.calls}};
  if (!n.nodes.empty()) json["nodes"] = n.nodes;
  if (n.known) {
    json["flops"] = n.flops;
    json["bytes"] = n.bytes;
    json["weight_bytes"] = n.weight_bytes;
    if (n.flops > 0) json["arithmetic"] = n.arithmetic;
    json["limit_ms"] = n.limit_ms;
  }
  json["inputs"] = n.shapes;
  return json;
}

}  // namespace

std::string bench_text(const BenchReport& r, const ReportSize& size) {
  std::string text = head(r) + "\n";
  for (const std::string& input : r.inputs) text += "  " + input + "\n";
  for (const std::string& line : summary(r)) text += line + "\n";
  if (r.peers.size() > 1) text += "\n" + aligned(peer_table(r));
  if (!r.profile.nodes.empty()) {
    text += "\n" + aligned(operator_table(r));
    if (size.nodes > 0) text += "\nslowest nodes\n" + aligned(node_table(r, size.nodes));
    text += fmt::format("\nwhat {} thread{} can do at most ({})\n", r.rates.threads, r.rates.threads == 1 ? "" : "s",
                        peak::rung_name(r.rates.rung)) +
            aligned(machine_table(r));
  }
  add_notes(r, "note: ", text);
  return text;
}

std::string bench_markdown(const BenchReport& r, const ReportSize& size) {
  std::string text = fmt::format("## {}\n\n", head(r));
  for (const std::string& input : r.inputs) text += "- " + input + "\n";
  for (const std::string& line : summary(r)) text += "- " + line + "\n";
  if (!r.command.empty()) text += fmt::format("- `{}`\n", r.command);
  if (r.peers.size() > 1) text += "\n" + marked_down(peer_table(r));
  if (!r.profile.nodes.empty()) {
    text += "\n" + marked_down(operator_table(r));
    if (size.nodes > 0) text += "\n" + marked_down(node_table(r, size.nodes));
    text += "\n" + marked_down(machine_table(r));
  }
  std::string notes;
  add_notes(r, "- ", notes);
  return notes.empty() ? text : text + "\n" + notes;
}

Json bench_json(const BenchReport& r) {
  Json json{{"model", r.model},
            {"command", r.command},
            {"version", r.version},
            {"cpu", r.cpu},
            {"rung", r.profile.cpu},
            {"threads", r.profile.threads},
            {"precision", precision_text(r)},
            {"inputs", r.inputs},
            {"load_ms", r.load_ms},
            {"first_run_ms", r.first_ms},
            {"feed_ms", r.around.feed_ms},
            {"fetch_ms", r.around.fetch_ms}};
  json["load_steps"] = Json::array();
  for (const auto& [name, ms] : r.load_steps) json["load_steps"].push_back({{"name", name}, {"ms", ms}});
  const Times t = times_of(r.times);
  json["runs"] = times_json(t);
  json["runs_per_second"] = t.p50 > 0 ? 1e3 / t.p50 : 0;
  if (r.callers) {
    json["callers"] = {{"count", r.callers->count}, {"runs_per_second", r.callers->runs_per_second}};
    json["callers"]["runs"] = times_json(times_of(r.callers->times));
  }
  json["peak_memory_bytes"] = static_cast<uint64_t>(r.peak_bytes);
  json["model_memory_bytes"] = static_cast<uint64_t>(r.grown_bytes);
  json["memory"] = r.memory;
  json["placement"] = r.placement;
  if (!r.profile.nodes.empty()) {
    json["peak"] = {{"rung", peak::rung_name(r.rates.rung)},
                    {"threads", r.rates.threads},
                    {"float32_flops", r.rates.float32},
                    {"int8_ops", r.rates.int8},
                    {"bfloat16_flops", r.rates.bfloat16},
                    {"l1_bytes", r.rates.l1},
                    {"l2_bytes", r.rates.l2},
                    {"l3_bytes", r.rates.l3},
                    {"memory_bytes", r.rates.dram}};
    json["limit_ms"] = r.limit_ms;
    json["fraction_of_limit"] = t.p50 > 0 ? r.limit_ms / t.p50 : 0;
    json["profiled_runs"] = r.profile.runs;
    json["operators"] = Json::array();
    for (const OperatorTime& o : by_operator(r.profile))
      json["operators"].push_back({{"op", o.op},
                                   {"nodes", o.nodes},
                                   {"ms", o.ms},
                                   {"flops", o.flops},
                                   {"bytes", o.bytes},
                                   {"limit_ms", o.limit_ms}});
    json["nodes"] = Json::array();
    for (const NodeTime& n : r.profile.nodes) json["nodes"].push_back(node_json(n));
  }
  if (!r.peers.empty()) {
    json["against"] = Json::array();
    for (const PeerResult& p : r.peers) json["against"].push_back(peer_json(p));
  }
  json["notes"] = r.notes;
  return json;
}

}  // namespace trunnion::cli
