// What `trunnion bench` found, and its forms: a text for people, markdown, JSON, and a page with plots.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bench_measure.h"
#include "bench_roofline.h"
#include "bench_statistics.h"
#include "json_array.h"

namespace trunnion::cli {

struct Times {  // in milliseconds
  size_t count = 0;
  double min = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;
};
Times times_of(const std::vector<double>& sorted);

struct PeerResult {
  std::string engine, version, missing;  // missing: why there are no figures
  double load_ms = 0, first_ms = 0, memory_bytes = 0;
  Times times;
  double ratio = 0;  // its time by ours, median over the turns: above 1, trunnion is faster
  Interval interval;
  int turns = 0;
  bool noisy = false;     // too few quiet turns
  double difference = 0;  // greatest of |theirs - ours| by greatest of |ours|; of integers the share that differs
  bool compared = false;  // the outputs could be
};

struct BenchReport {
  std::string model, version, cpu, command, placement;
  std::vector<std::string> inputs;  // "x  tensor(float) [1,3,224,224] random in 0:1, seed 0"

  double load_ms = 0, first_ms = 0;
  std::vector<std::pair<std::string, double>> load_steps;
  Around around;
  std::vector<double> times;               // of the runs, sorted
  double peak_bytes = 0, grown_bytes = 0;  // of the process at most; by loading and the first run
  Json memory;
  std::optional<Callers> callers;

  Profile profile;
  peak::Rates rates;
  double limit_ms = 0;  // of the whole model; 0 where it is not known

  std::vector<PeerResult> peers;
  std::vector<std::string> notes;
};

struct ReportSize {
  int nodes = 12;  // slowest that are shown; 0: none
};

std::string bench_text(const BenchReport& report, const ReportSize& size);
std::string bench_markdown(const BenchReport& report, const ReportSize& size);
Json bench_json(const BenchReport& report);
std::string bench_html(const BenchReport& report);

// Figures that the forms share.
std::string ms_text(double ms);                     // three digits: "0.0123", "12.3"
std::string rate_text(double amount, double ms);    // in units of 1e9 a second; "-" where there is none
std::string share_text(double part, double whole);  // "12.3 %"
std::string precision_text(const BenchReport& report);

// A row of cells for each line, the first line being the head.
using Table = std::vector<std::vector<std::string>>;
Table operator_table(const BenchReport& report);
Table node_table(const BenchReport& report, int most);
Table peer_table(const BenchReport& report);
Table machine_table(const BenchReport& report);

}  // namespace trunnion::cli
