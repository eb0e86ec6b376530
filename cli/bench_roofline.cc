#include "bench_roofline.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "bench_statistics.h"
#include "failure.h"
#include "json_array.h"

namespace trunnion::cli {
namespace {

double number(const Json& arguments, const char* key) {
  const auto it = arguments.find(key);
  if (it == arguments.end()) return 0;
  return it->is_string() ? std::strtod(it->get<std::string>().c_str(), nullptr) : it->get<double>();
}

std::string text(const Json& arguments, const char* key) {
  const auto it = arguments.find(key);
  return it != arguments.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// "[1,3,224,224] [64,3,7,7]"
std::string shapes_of(const Json& arguments) {
  const auto it = arguments.find("input_type_shape");
  std::string all;
  if (it == arguments.end()) return all;
  for (const Json& tensor : *it)
    for (const auto& [type, shape] : tensor.items()) all += (all.empty() ? "" : " ") + shape.dump();
  return all;
}

// One node over the runs.
struct Series {
  NodeTime node;
  std::vector<double> ms;  // by run
  double calls = 0, flops = 0, bytes = 0, weights = 0;
};

void add_event(Series& series, const Json& arguments, double microseconds, size_t run) {
  NodeTime& node = series.node;
  if (series.ms.empty()) {
    node.op = text(arguments, "op_name");
    node.provider = text(arguments, "provider");
    node.arithmetic = text(arguments, "arithmetic");
    node.shapes = shapes_of(arguments);
    if (const auto names = arguments.find("nodes"); names != arguments.end())
      node.nodes = names->get<std::vector<std::string>>();
  }
  series.ms.resize(std::max(series.ms.size(), run + 1), 0);
  const double ns = number(arguments, "dur_ns");
  series.ms[run] += ns > 0 ? ns * 1e-6 : microseconds * 1e-3;
  ++series.calls;
  node.known = node.known || arguments.contains("bytes");
  series.flops += number(arguments, "flops");
  series.bytes += number(arguments, "bytes");
  series.weights += std::min(number(arguments, "parameter_size"), number(arguments, "bytes"));
}

}  // namespace

Profile read_profile(const std::string& content, int skipped) {
  Profile profile;
  std::vector<Series> all;
  std::map<std::string, size_t> places;  // by index and name
  int run = -skipped;
  for (const Json& event : parse_json(content, "the profile")) {
    const std::string category = text(event, "cat"), name = text(event, "name");
    const Json& arguments = event.at("args");
    if (name == "model_run") ++run;
    if (name == "session_initialization") {
      profile.precision = text(arguments, "precision");
      profile.cpu = text(arguments, "cpu");
      profile.threads = std::max(1, static_cast<int>(number(arguments, "threads")));
    }
    if (category != "Node" || run < 0) continue;
    const auto [place, fresh] = places.try_emplace(text(arguments, "node_index") + " " + name, all.size());
    if (fresh) {
      all.emplace_back();
      constexpr std::string_view kEnding = "_kernel_time";
      all.back().node.name = name.ends_with(kEnding) ? name.substr(0, name.size() - kEnding.size()) : name;
    }
    add_event(all[place->second], arguments, number(event, "dur"), static_cast<size_t>(run));
  }
  profile.runs = std::max(run, 0);
  for (Series& s : all) {
    const double runs = std::max(profile.runs, 1);
    s.ms.resize(static_cast<size_t>(runs), 0);
    s.node.ms = median(s.ms);
    s.node.calls = s.calls / runs, s.node.flops = s.flops / runs;
    s.node.bytes = s.bytes / runs, s.node.weight_bytes = s.weights / runs;
    profile.nodes.push_back(std::move(s.node));
  }
  return profile;
}

double flop_rate(const NodeTime& node, const std::string& precision, const peak::Rates& rates) {
  if (node.arithmetic == "int8" && rates.int8 > 0) return rates.int8;
  if (node.arithmetic == "float64") return rates.float64;
  return precision == "bf16" && rates.bfloat16 > rates.float32 ? rates.bfloat16 : rates.float32;
}

double set_limits(Profile& profile, const peak::Rates& rates) {
  double all_weights = 0, sum = 0;
  for (const NodeTime& n : profile.nodes) all_weights += n.weight_bytes;
  for (NodeTime& n : profile.nodes) {
    const double calls = std::max(n.calls, 1.0);
    const peak::Work work{n.flops / calls, std::max(0.0, n.bytes - n.weight_bytes) / calls, n.weight_bytes / calls,
                          all_weights};
    n.limit_ms = peak::least_seconds(work, flop_rate(n, profile.precision, rates), rates) * calls * 1e3;
    sum += n.limit_ms;
  }
  return sum;
}

std::vector<OperatorTime> by_operator(const Profile& profile) {
  std::vector<OperatorTime> operators;
  for (const NodeTime& n : profile.nodes) {
    auto it = std::ranges::find(operators, n.op, &OperatorTime::op);
    if (it == operators.end()) it = operators.insert(operators.end(), OperatorTime{n.op});
    ++it->nodes;
    it->ms += n.ms, it->flops += n.flops, it->bytes += n.bytes, it->limit_ms += n.limit_ms;
  }
  std::ranges::stable_sort(operators, [](const auto& a, const auto& b) { return a.ms > b.ms; });
  return operators;
}

}  // namespace trunnion::cli
