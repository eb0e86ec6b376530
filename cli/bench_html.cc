// The report as a page that needs nothing else: tables, a histogram of the run times, bars of the operators.
#include <algorithm>

#include "bench_report.h"
#include "failure.h"
#include "text.h"

namespace trunnion::cli {
namespace {

constexpr const char* kStyle = R"(
body{font:15px/1.45 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.4rem;overflow-wrap:anywhere}h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;display:block;overflow-x:auto}td,th{padding:.2rem .7rem;text-align:right;white-space:nowrap;border-bottom:1px solid #d8dee4}
td:first-child,th:first-child{text-align:left}svg{width:100%;height:auto}text{font:12px system-ui,sans-serif;fill:currentColor}
.a{fill:#2f6fb2}.b{fill:none;stroke:#b4552d;stroke-width:2}.axis{stroke:#8a939c}code{background:#f2f4f6;padding:.1rem .3rem}
@media(prefers-color-scheme:dark){body{color:#e3e7eb;background:#15191d}td,th{border-color:#39424b}.a{fill:#5b9bd8}.b{stroke:#e0916a}code{background:#252b31}}
)";

std::string html_table(const Table& table) {
  std::string text = "<table>\n";
  for (size_t r = 0; r < table.size(); ++r) {
    text += "<tr>";
    for (const std::string& cell : table[r])
      text += r ? "<td>" + html_text(cell) + "</td>" : "<th>" + html_text(cell) + "</th>";
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

std::string label(double x, double y, const char* anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, html_text(text));
}

// How often which time; what is above the 99.5th percentile stands in the last bar.
std::string histogram_svg(const std::vector<double>& sorted) {
  constexpr int kBins = 60, kWidth = 900, kHeight = 220, kBottom = 190, kLeft = 10;
  const Histogram h = histogram(sorted, kBins, percentile(sorted, 0.995));
  const auto most = static_cast<double>(std::max<int64_t>(1, *std::ranges::max_element(h.counts)));
  std::string svg =
      fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"histogram of run times\">\n", kWidth, kHeight);
  const double step = static_cast<double>(kWidth - 2 * kLeft) / kBins;
  for (int i = 0; i < kBins; ++i) {
    const auto count = static_cast<double>(h.counts[static_cast<size_t>(i)]);
    if (count == 0) continue;
    const double height = std::max(1.0, count / most * (kBottom - 10));
    const double from = h.low + (h.high - h.low) * i / kBins;
    svg += fmt::format(
        "<rect class=\"a\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>from {} ms: {} "
        "runs</title>"
        "</rect>\n",
        kLeft + i * step, kBottom - height, step * 0.9, height, ms_text(from), count);
  }
  svg += fmt::format("<line class=\"axis\" x1=\"{0}\" y1=\"{1}\" x2=\"{2}\" y2=\"{1}\"/>\n", kLeft, kBottom,
                     kWidth - kLeft);
  const double range = h.high - h.low;
  for (const auto& [share, name] : {std::pair{0.5, "p50"}, {0.9, "p90"}, {0.99, "p99"}}) {
    const double ms = percentile(sorted, share);
    const double x = kLeft + (range > 0 ? std::min(1.0, (ms - h.low) / range) : 0) * (kWidth - 2 * kLeft);
    svg += fmt::format(
        "<line class=\"b\" x1=\"{0:.1f}\" y1=\"12\" x2=\"{0:.1f}\" y2=\"{1}\"><title>{2} {3} ms</title></line>\n", x,
        kBottom, name, ms_text(ms));
  }
  svg += label(kLeft, kHeight - 8, "start", ms_text(h.low) + " ms");
  svg += label(kWidth - kLeft, kHeight - 8, "end", ms_text(h.high) + " ms");
  svg += label(kWidth / 2, kHeight - 8, "middle", "lines: p50, p90, p99");
  return svg + "</svg>\n";
}

// A bar for each operator: its time, and within it what the machine would need at least.
std::string operators_svg(const BenchReport& r) {
  std::vector<OperatorTime> operators = by_operator(r.profile);
  constexpr size_t kMost = 16;
  if (operators.size() > kMost) {
    OperatorTime rest{fmt::format("{} others", operators.size() - kMost + 1)};
    for (size_t i = kMost - 1; i < operators.size(); ++i)
      rest.ms += operators[i].ms, rest.limit_ms += operators[i].limit_ms;
    operators.resize(kMost - 1);
    operators.push_back(rest);
  }
  constexpr int kWidth = 900, kRow = 22, kNames = 190, kValues = 90;
  double most = 0;
  for (const OperatorTime& o : operators) most = std::max({most, o.ms, o.limit_ms});
  std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"time by operator\">\n", kWidth,
                                kRow * static_cast<int>(operators.size()) + 8);
  for (size_t i = 0; i < operators.size(); ++i) {
    const OperatorTime& o = operators[i];
    const double y = static_cast<double>(i) * kRow + 4, scale = most > 0 ? (kWidth - kNames - kValues) / most : 0;
    svg += label(kNames - 8, y + 15, "end", o.op);
    svg += fmt::format("<rect class=\"a\" x=\"{}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\"/>\n", kNames, y + 2,
                       o.ms * scale, kRow - 6);
    if (o.limit_ms > 0)
      svg += fmt::format(
          "<line class=\"b\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\"><title>limit {3} "
          "ms</title></line>\n",
          kNames + o.limit_ms * scale, y, y + kRow - 2, ms_text(o.limit_ms));
    svg += label(kNames + std::max(o.ms, o.limit_ms) * scale + 6, y + 15, "start", ms_text(o.ms) + " ms");
  }
  return svg + "</svg>\n";
}

}  // namespace

std::string bench_html(const BenchReport& r) {
  const Times t = times_of(r.times);
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>{0}</title><style>{1}</style></head><body>\n<h1>{0}</h1>\n",
      html_text(r.model), kStyle);
  page += fmt::format("<p>trunnion {}, {} thread{}, {}, {}{}</p>\n<ul>\n", html_text(r.version), r.profile.threads,
                      r.profile.threads == 1 ? "" : "s", html_text(precision_text(r)), html_text(r.profile.cpu),
                      html_text(r.cpu.empty() ? "" : " on " + r.cpu));
  for (const std::string& input : r.inputs) page += "<li>" + html_text(input) + "</li>\n";
  page += fmt::format("</ul>\n<p><code>{}</code></p>\n<h2>Runs</h2>\n", html_text(r.command));
  page += html_table({{"", "runs", "p50 ms", "p90 ms", "p99 ms", "min ms", "runs a second"},
                      {"one caller", std::to_string(t.count), ms_text(t.p50), ms_text(t.p90), ms_text(t.p99),
                       ms_text(t.min), t.p50 > 0 ? fmt::format("{:.1f}", 1e3 / t.p50) : "-"}});
  if (r.callers) {
    const Times c = times_of(r.callers->times);
    page += html_table(
        {{"", "runs", "p50 ms", "p90 ms", "p99 ms", "min ms", "runs a second"},
         {fmt::format("{} callers at once", r.callers->count), std::to_string(c.count), ms_text(c.p50), ms_text(c.p90),
          ms_text(c.p99), ms_text(c.min), fmt::format("{:.1f}", r.callers->runs_per_second)}});
  }
  page += histogram_svg(r.times);
  page += fmt::format("<p>Load {} ms, first run {} ms, peak memory {:.0f} MB. {}</p>\n", ms_text(r.load_ms),
                      ms_text(r.first_ms), r.peak_bytes * 1e-6, html_text(r.placement));
  if (r.peers.size() > 1) page += "<h2>Against other engines</h2>\n" + html_table(peer_table(r));
  if (!r.profile.nodes.empty()) {
    page += "<h2>Operators</h2>\n";
    if (r.limit_ms > t.p50 * 1e-3)
      page += fmt::format("<p>{} of the roofline: the machine's limit is {} ms. Bars: time; lines: limit.</p>\n",
                          share_text(r.limit_ms, t.p50), ms_text(r.limit_ms));
    page += operators_svg(r) + html_table(operator_table(r)) + "<h2>Slowest nodes</h2>\n" +
            html_table(node_table(r, 30)) + "<h2>What the machine can do at most</h2>\n" + html_table(machine_table(r));
  }
  std::string notes;
  for (const PeerResult& p : r.peers)
    if (!p.missing.empty())
      notes += fmt::format("<li>{}: not compared: {}</li>\n", html_text(p.engine), html_text(one_line(p.missing)));
  for (const std::string& note : r.notes) notes += "<li>" + html_text(note) + "</li>\n";
  if (!notes.empty()) page += "<h2>Notes</h2>\n<ul>\n" + notes + "</ul>\n";
  return page + "</body></html>\n";
}

}  // namespace trunnion::cli
