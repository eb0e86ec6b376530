// trunnion bench: how long a model takes to load and to run, where the time goes, what the machine would allow, and how
// other engines compare.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench_against.h"
#include "bench_peer.h"
#include "bench_report.h"
#include "failure.h"
#include "file.h"
#include "input_options.h"
#include "session_options.h"
#include "text.h"
#include "verbs.h"

namespace trunnion::cli {
namespace {

constexpr const char* kFooter =
    R"(Times are of this process: the model is loaded and run, inputs are files or random values as for `trunnion run`.
"of the limit" compares a node with the least time in which the machine could do its arithmetic and move its bytes; the
peaks are measured first. A faster algorithm (Winograd) can be above 100 %. Nodes are timed in runs of their own.
Other engines are called through their C libraries, in turns with trunnion: --against says what is missing if there is
none. "faster by" is the median over the turns of their time by trunnion's, with its 95 % interval.

  trunnion bench model.onnx --threads 1 --dim batch=8
  trunnion bench model.onnx --callers 4 --seconds 10
  trunnion bench model.onnx --against onnxruntime,openvino --python venv/bin/python --html report.html)";

struct BenchChoices {
  LoadChoices load;
  InputChoices inputs;
  std::string precision, html, markdown;
  double seconds = 2;
  int callers = 0;
  bool json = false, no_nodes = false;
  ReportSize size;
  PeerChoices peers;
  std::string command;  // as it was called
};

// The words of the call, ready for a shell; empty where the system does not tell.
std::string command_line() {
  std::FILE* file = std::fopen("/proc/self/cmdline", "rb");
  if (!file) return {};
  std::vector<std::string> words(1);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
    if (c)
      words.back() += static_cast<char>(c);
    else
      words.emplace_back();
  std::fclose(file);
  std::string text = "trunnion";
  for (size_t i = 1; i + 1 < words.size(); ++i) text += " " + shell_word(words[i]);
  return text;
}

SessionOptions options_of(const BenchChoices& choices) {
  SessionOptions options = choices.load.options();
  if (!choices.precision.empty()) options.config("precision", choices.precision.c_str());
  return options;
}

// What is said of other engines is about engines that are compared with.
void check_peers(const PeerChoices& peers) {
  for (const std::string& name : peers.engines) check_engine(name);
  const auto among = [&](std::string_view name) {
    return std::ranges::find(peers.engines, name) != peers.engines.end();
  };
  if (!peers.onnxruntime.empty() && !among("onnxruntime"))
    bad_usage("--onnxruntime {}: it has a meaning only with --against onnxruntime", peers.onnxruntime);
  if (!peers.openvino.empty() && !among("openvino"))
    bad_usage("--openvino {}: it has a meaning only with --against openvino", peers.openvino);
  if (!peers.python.empty() && !peers.any())
    bad_usage("--python {}: it has a meaning only with --against", peers.python);
}

// The nodes' times, from a second session, so that the first one's are those of a session without a profile.
Profile profile_nodes(const Engine& engine, const BenchChoices& choices, const std::vector<Feed>& feeds, double run_ms,
                      Progress& progress) {
  constexpr int kSkipped = 2, kMostRuns = 100, kMostEvents = 100'000;
  const TemporaryFolder folder;
  SessionOptions options = options_of(choices);
  options.profile(folder.file("profile").c_str());
  progress.stage("profiling the nodes");
  LoadedModel model(engine, choices.load.model, options);
  const Arguments arguments = arguments_of(feeds);
  const double time = std::clamp(choices.seconds / 2, 0.05, 2.0) * 1e3;
  const int nodes = std::max(1, std::atoi(model.placement_summary().c_str()));  // a profile has a line for each
  const int most = std::clamp(kMostEvents / nodes, 3, kMostRuns);
  const int runs = std::clamp(static_cast<int>(time / std::max(run_ms, 1e-3)), 3, most);
  for (int i = 0; i < kSkipped + runs; ++i) static_cast<void>(model.run(arguments.names, arguments.values));
  return read_profile(read_file(model.end_profiling()), kSkipped);
}

void measure_nodes(const Engine& engine, const BenchChoices& choices, const std::vector<Feed>& feeds,
                   BenchReport& report, Progress& progress) {
  report.profile = profile_nodes(engine, choices, feeds, median(report.times), progress);
  report.rates = peak::rates(peak::rung_of_name(report.profile.cpu), report.profile.threads,
                             [&](const char* what) { progress.stage(std::string("measuring ") + what); });
  report.limit_ms = set_limits(report.profile, report.rates);
  double unknown = 0, all = 0;
  for (const NodeTime& n : report.profile.nodes) all += n.ms, unknown += n.known ? 0 : n.ms;
  if (unknown > 0.01 * all)
    report.notes.push_back(
        fmt::format("{} of the nodes' time is of nodes whose work cannot be told: the limit is without them",
                    share_text(unknown, all)));
}

void measure(const Engine& engine, LoadedModel& model, const std::vector<Feed>& feeds, const BenchChoices& choices,
             BenchReport& report, Progress& progress) {
  const Arguments arguments = arguments_of(feeds);
  const auto run = [&] { static_cast<void>(model.run(arguments.names, arguments.values)); };
  progress.stage("first run");
  const double begun = now_seconds();
  run_first(model, feeds);
  report.first_ms = (now_seconds() - begun) * 1e3;
  report.grown_bytes = std::max(0.0, resident_memory() + report.grown_bytes);
  report.times = time_calls(run, choices.seconds, 5, [&](double share, size_t calls) {
    progress.show(fmt::format("{} runs, {:.0f} %", calls, std::min(100.0, share * 100)));
  });
  std::ranges::sort(report.times);
  report.around = around_a_run(model, feeds);
  if (choices.callers > 0) {
    progress.stage(fmt::format("{} callers at once", choices.callers));
    report.callers = many_callers(model, arguments, choices.callers, choices.seconds);
  }
  report.peak_bytes = peak_memory();
  report.memory = parse_json(model.memory_json(), "the memory report");
  if (!choices.no_nodes) measure_nodes(engine, choices, feeds, report, progress);
}

void print(const BenchReport& report, const BenchChoices& choices) {
  if (!choices.html.empty()) write_file(choices.html, bench_html(report));
  if (!choices.markdown.empty() && choices.markdown != "-")
    write_file(choices.markdown, bench_markdown(report, choices.size));
  std::string text = choices.json              ? json_text(bench_json(report)) + "\n"
                     : choices.markdown == "-" ? bench_markdown(report, choices.size)
                                               : bench_text(report, choices.size);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

int bench(BenchChoices choices) {
  choices.inputs.finish(choices.load.sizes());
  check_peers(choices.peers);
  for (const std::string& path : {choices.html, choices.markdown})
    if (!path.empty() && path != "-") check_writable(path);  // not after all that measuring
  BenchReport report;
  report.model = choices.load.model;
  report.version = extras().Version();
  report.cpu = peak::cpu_name();
  report.command = choices.command;
  const Engine engine(choices.load.verbose);
  choices.load.check_dimensions(engine);
  {
    Progress progress;
    progress.stage("loading");
    report.grown_bytes = -resident_memory();  // what was there before
    const double begun = now_seconds();
    LoadedModel model(engine, choices.load.model, options_of(choices));
    report.load_ms = (now_seconds() - begun) * 1e3;
    const Json timings = parse_json(model.load_timings_json(), "the load timings");
    for (const Json& step : timings.at("steps"))
      report.load_steps.emplace_back(step.at("name").get<std::string>(), step.at("ms").get<double>());
    report.placement = model.placement_summary();
    const std::vector<Feed> feeds = make_feeds(model, choices.inputs.feeds);
    for (const Feed& feed : feeds) report.inputs.push_back(describe(feed));
    report.profile.threads = std::max(1, choices.load.threads);
    report.profile.precision = choices.precision;
    report.profile.cpu = peak::rung_name(peak::best_rung());
    measure(engine, model, feeds, choices, report, progress);
    if (choices.peers.any()) {
      report.peers =
          compare_with_peers(model, choices.load.model, feeds, report.profile.threads, precision_text(report),
                             choices.seconds, choices.peers, [&](const std::string& t) { progress.stage(t); });
      report.peers[0].version = report.version;
      report.peers[0].load_ms = report.load_ms, report.peers[0].first_ms = report.first_ms;
      report.peers[0].memory_bytes = report.grown_bytes;
    }
  }
  print(report, choices);
  return kOk;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App& verb = *app.add_subcommand("bench", "Measures a model: times, memory, operators, other engines");
  const auto c = std::make_shared<BenchChoices>();
  c->load.add_model(verb);
  c->load.add_rewrites(verb);
  c->inputs.add_to(verb);
  verb.add_option("--seconds", c->seconds, "How long runs are timed, each time that they are; default 2")
      ->check(CLI::Range(0.01, 86400.0))
      ->type_name("S");
  c->load.add_threads(verb);
  verb.add_option("--callers", c->callers, "Also let so many threads call the one session at once")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  verb.add_option("--precision", c->precision, "Of the arithmetic; default fp32")
      ->check(CLI::IsMember({"strict", "fp32", "fast", "bf16"}))
      ->type_name("strict|fp32|fast|bf16");
  verb.add_option("--against", c->peers.engines, "Other engines to compare with: onnxruntime, openvino")
      ->delimiter(',')
      ->type_name("ENGINE,...")
      ->allow_extra_args(false);
  verb.add_option("--onnxruntime", c->peers.onnxruntime, "Its shared library; default: of the Python package")
      ->type_name("PATH");
  verb.add_option("--openvino", c->peers.openvino, "Its libopenvino_c.so; default: of the Python package")
      ->type_name("PATH");
  verb.add_option("--python", c->peers.python, "The interpreter whose packages are looked for; default python3")
      ->type_name("PROGRAM");
  verb.add_option("--nodes", c->size.nodes, "How many of the slowest nodes are shown; default 12")
      ->check(CLI::Range(0, 1 << 20))
      ->type_name("N");
  verb.add_flag("--no-profile", c->no_nodes, "Neither the nodes' times nor the machine's peaks");
  verb.add_flag("--json", c->json, "Print JSON");
  verb.add_option("--markdown", c->markdown, "Write markdown there; - prints it")->type_name("FILE");
  verb.add_option("--html", c->html, "Write a page with plots there")->type_name("FILE");
  verb.footer(kFooter);
  verb.callback([c, &action] {
    c->command = command_line();
    action = [c] { return bench(*c); };
  });
}

}  // namespace trunnion::cli
