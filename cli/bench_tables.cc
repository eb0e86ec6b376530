// The tables that all forms of the report show.
#include <algorithm>
#include <cmath>

#include "bench_report.h"
#include "failure.h"

namespace trunnion::cli {
namespace {

// Limit by time: 100 % is what the machine can do.
std::string limit_share(double limit_ms, double ms) {
  return limit_ms > 0 && ms > 0 ? fmt::format("{:.0f} %", 100 * limit_ms / ms) : "-";
}

std::string shortened(const std::string& text, size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

}  // namespace

Times times_of(const std::vector<double>& sorted) {
  Times t;
  t.count = sorted.size();
  if (sorted.empty()) return t;
  t.min = sorted.front(), t.max = sorted.back();
  t.p50 = percentile(sorted, 0.5), t.p90 = percentile(sorted, 0.9), t.p99 = percentile(sorted, 0.99);
  return t;
}

std::string ms_text(double ms) {
  if (ms >= 99.95) return fmt::format("{:.0f}", ms);
  const int digits = ms > 0 ? std::clamp(2 - static_cast<int>(std::floor(std::log10(ms))), 0, 6) : 2;
  return fmt::format("{:.{}f}", ms, digits);
}

std::string rate_text(double amount, double ms) {
  if (amount <= 0 || ms <= 0) return "-";
  const double rate = amount / ms * 1e-6;
  return rate >= 99.95 ? fmt::format("{:.0f}", rate) : fmt::format("{:.1f}", rate);
}

std::string share_text(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "-";
}

std::string precision_text(const BenchReport& report) {
  const std::string& p = report.profile.precision;
  return p.empty() ? "fp32" : p;
}

Table operator_table(const BenchReport& report) {
  double all = 0;
  for (const NodeTime& n : report.profile.nodes) all += n.ms;
  Table table{{"operator", "nodes", "ms", "of the run", "GFLOP/s", "GB/s", "of the limit"}};
  for (const OperatorTime& o : by_operator(report.profile))
    table.push_back({o.op, std::to_string(o.nodes), ms_text(o.ms), share_text(o.ms, all), rate_text(o.flops, o.ms),
                     rate_text(o.bytes, o.ms), limit_share(o.limit_ms, o.ms)});
  return table;
}

Table node_table(const BenchReport& report, int most) {
  std::vector<const NodeTime*> nodes;
  double all = 0;
  for (const NodeTime& n : report.profile.nodes) nodes.push_back(&n), all += n.ms;
  std::ranges::stable_sort(nodes, [](const NodeTime* a, const NodeTime* b) { return a->ms > b->ms; });
  nodes.resize(std::min(nodes.size(), static_cast<size_t>(std::max(most, 0))));
  Table table{{"node", "operator", "ms", "of the run", "GFLOP/s", "GB/s", "of the limit", "inputs"}};
  for (const NodeTime* n : nodes)
    table.push_back({shortened(one_line(n->name), 36), n->op, ms_text(n->ms), share_text(n->ms, all),
                     rate_text(n->flops, n->ms), rate_text(n->bytes, n->ms), limit_share(n->limit_ms, n->ms),
                     shortened(n->shapes, 48)});
  return table;
}

Table peer_table(const BenchReport& report) {
  Table table{
      {"engine", "p50 ms", "p99 ms", "trunnion is faster by", "95 %", "load ms", "first ms", "memory", "difference"}};
  for (const PeerResult& p : report.peers) {
    const std::string name = p.version.empty() ? p.engine : p.engine + " " + p.version;
    if (!p.missing.empty()) {
      table.push_back({name, "-", "-", "-", "-", "-", "-", "-", "-"});
      continue;
    }
    const bool self = p.engine == "trunnion";
    table.push_back({name, ms_text(p.times.p50), ms_text(p.times.p99),
                     self ? "" : fmt::format("{:.2f}x{}", p.ratio, p.noisy ? " ~" : ""),
                     self ? "" : fmt::format("{:.2f} to {:.2f}", p.interval.low, p.interval.high), ms_text(p.load_ms),
                     ms_text(p.first_ms), p.memory_bytes > 0 ? fmt::format("{:.0f} MB", p.memory_bytes * 1e-6) : "-",
                     self || !p.compared ? "" : fmt::format("{:.0e}", p.difference)});
  }
  return table;
}

Table machine_table(const BenchReport& report) {
  const peak::Rates& r = report.rates;
  const auto giga = [](double rate) { return rate > 0 ? fmt::format("{:.0f}", rate * 1e-9) : std::string("-"); };
  return {{"fp32 GFLOP/s", "int8 GOP/s", "bf16 GFLOP/s", "L1 GB/s", "L2 GB/s", "L3 GB/s", "memory GB/s"},
          {giga(r.float32), giga(r.int8), giga(r.bfloat16), giga(r.l1), giga(r.l2), giga(r.l3), giga(r.dram)}};
}

}  // namespace trunnion::cli
