#include "bench_against.h"

#include <algorithm>
#include <cmath>

#include "bench_peer.h"
#include "failure.h"
#include "file.h"

namespace trunnion::cli {
namespace {

constexpr int kTurns = 12;
constexpr double kSlow = 1.08;  // a turn whose fixed loop takes that much longer than the best is not counted

// A fixed loop in registers and the first cache: how fast the CPU is at the moment.
double calibrate() {
  static float data[4096];
  const double start = now_seconds();
  for (int pass = 0; pass < 200; ++pass)
    for (float& x : data) x = x * 0.999f + 1e-3f;
  asm volatile("" : : "r"(data) : "memory");
  return now_seconds() - start;
}

struct Contender {
  PeerResult result;
  std::unique_ptr<Peer> peer;  // null: trunnion
  std::function<void()> run;
  int batch = 0;                       // calls that are timed as one; 0: not chosen yet
  std::vector<double> loops, medians;  // by turn
  std::vector<std::vector<double>> times;
};

// A look at the clock is some per cent of the shortest calls: those are timed by the hundred.
int batch_of(const Contender& c) {
  c.run();
  const double start = now_seconds();
  for (int i = 0; i < 3; ++i) c.run();
  return now_seconds() - start < 6e-4 ? 100 : 1;
}

void turn(Contender& c, double seconds) {
  if (c.batch == 0) c.batch = batch_of(c);
  const double before = calibrate();
  const auto calls = [&] {
    for (int i = 0; i < c.batch; ++i) c.run();
  };
  std::vector<double> times = time_calls(calls, seconds, 2, [](double, size_t) {});
  for (double& t : times) t /= c.batch;
  c.loops.push_back(std::max(before, calibrate()));
  c.medians.push_back(median(times));
  c.times.push_back(std::move(times));
}

// Against what trunnion gave: bytes of the same type as its outputs.
void compare_outputs(const std::vector<Array>& ours, const std::vector<std::vector<std::byte>>& theirs,
                     PeerResult& result) {
  for (size_t i = 0; i < ours.size() && i < theirs.size(); ++i) {
    const Array& a = ours[i];
    if (a.count == 0 || theirs[i].size() != storage_bytes(a.type, a.count)) continue;
    const bool integers = is_integer(a.type);
    double worst = 0, greatest = 0;
    for (size_t k = 0; k < a.count; ++k) {
      const double x = number_at(a.type, a.data.get(), k), y = number_at(a.type, theirs[i].data(), k);
      if (std::isnan(x) && std::isnan(y)) continue;
      if (x == y) {
        if (std::isfinite(x)) greatest = std::max(greatest, std::abs(x));
        continue;
      }
      worst = integers ? worst + 1 : std::max(worst, std::isfinite(x - y) ? std::abs(x - y) : INFINITY);
      greatest = std::max(greatest, std::abs(x));
    }
    const double difference = integers ? worst / static_cast<double>(a.count) : worst / (greatest > 0 ? greatest : 1);
    result.difference = std::max(result.difference, difference);
    result.compared = true;
  }
}

std::vector<Array> arrays_of(std::vector<Value> values) {
  std::vector<Array> arrays;
  for (Value& v : values) {
    const bool numbers = v && v.kind() == ONNX_TYPE_TENSOR && element_facts(v.element_type()).bits > 0;
    arrays.push_back(numbers ? from_value(std::make_shared<const Value>(std::move(v))) : Array());
  }
  return arrays;
}

void start_peer(Contender& c, const std::string& model, const std::vector<Feed>& feeds, int threads, bool bf16,
                const PeerChoices& choices, const std::vector<Array>& ours) {
  PeerResult& r = c.result;
  try {
    const bool ort = r.engine == "onnxruntime";
    const std::string library = find_library(r.engine, ort ? choices.onnxruntime : choices.openvino,
                                             choices.python.empty() ? "python3" : choices.python);
    c.peer = ort ? open_onnxruntime(library) : open_openvino(library, bf16);
    r.version = c.peer->version();
    const double before = resident_memory(), start = now_seconds();
    c.peer->load(model, threads, feeds);
    const double loaded = now_seconds();
    c.peer->run();
    r.load_ms = (loaded - start) * 1e3;
    r.first_ms = (now_seconds() - loaded) * 1e3;
    r.memory_bytes = std::max(0.0, resident_memory() - before);
    compare_outputs(ours, c.peer->outputs(), r);
    c.run = [peer = c.peer.get()] { peer->run(); };
  } catch (const Failure& failure) {
    r.missing = failure.what();
    c.peer.reset();
  }
}

// Turns in which both were on a quiet CPU; the quieter half, where those are less than four.
std::vector<size_t> quiet_turns(const Contender& a, const Contender& b, bool& noisy) {
  const double best_a = *std::ranges::min_element(a.loops), best_b = *std::ranges::min_element(b.loops);
  std::vector<std::pair<double, size_t>> turns;
  for (size_t i = 0; i < a.loops.size(); ++i) turns.emplace_back(std::max(a.loops[i] / best_a, b.loops[i] / best_b), i);
  std::ranges::sort(turns);
  size_t kept = 0;
  while (kept < turns.size() && turns[kept].first <= kSlow) ++kept;
  noisy = kept < 4;
  if (noisy) kept = (turns.size() + 1) / 2;
  std::vector<size_t> quiet;
  for (size_t i = 0; i < kept; ++i) quiet.push_back(turns[i].second);
  return quiet;
}

void conclude(const Contender& ours, Contender& c) {
  PeerResult& r = c.result;
  std::vector<double> ratios, pooled;
  for (const size_t i : quiet_turns(ours, c, r.noisy)) {
    ratios.push_back(c.medians[i] / ours.medians[i]);
    pooled.insert(pooled.end(), c.times[i].begin(), c.times[i].end());
  }
  std::ranges::sort(pooled);
  r.times = times_of(pooled);
  r.turns = static_cast<int>(ratios.size());
  r.ratio = median(ratios);
  r.interval = median_interval(ratios);
}

}  // namespace

std::vector<PeerResult> compare_with_peers(const LoadedModel& model, const std::string& path,
                                           const std::vector<Feed>& feeds, int threads, const std::string& precision,
                                           double seconds, const PeerChoices& choices,
                                           const std::function<void(const std::string&)>& tell) {
  const Arguments arguments = arguments_of(feeds);
  const std::vector<Array> ours = arrays_of(model.run(arguments.names, arguments.values));
  std::vector<Contender> all(1);
  all[0].result.engine = "trunnion";
  all[0].run = [&] { static_cast<void>(model.run(arguments.names, arguments.values)); };
  for (const std::string& engine : choices.engines) {
    tell("loading the model with " + engine);
    all.emplace_back().result.engine = engine;
    start_peer(all.back(), path, feeds, threads, precision == "bf16", choices, ours);
  }
  const auto present = [](const Contender& c) { return c.result.missing.empty(); };
  if (std::ranges::count_if(all, present) > 1) {
    for (int t = 0; t < kTurns; ++t) {
      tell(fmt::format("turn {} of {}", t + 1, kTurns));
      for (size_t i = 0; i < all.size(); ++i) {  // the order alternates, so that none always follows the same one
        Contender& c = all[t % 2 ? all.size() - 1 - i : i];
        if (present(c)) turn(c, seconds / kTurns);
      }
    }
    for (Contender& c : all)
      if (present(c)) conclude(all[0], c);
  }
  std::vector<PeerResult> results;
  for (Contender& c : all) results.push_back(std::move(c.result));
  return results;
}

}  // namespace trunnion::cli
