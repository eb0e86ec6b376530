// trunnion run: feeds a model from files or random values, runs it, shows or writes what it gives and how long it took.
#include <algorithm>
#include <chrono>

#include "bench_statistics.h"
#include "failure.h"
#include "file.h"
#include "input_options.h"
#include "report.h"
#include "session_options.h"
#include "verbs.h"

namespace trunnion::cli {
namespace {

constexpr const char* kFooter =
    R"(Inputs come from .npy, .npz, .pb (TensorProto, SequenceProto), .json (nested lists) or pictures (png, jpg, bmp, gif,
pnm). NAME= may be left out where the model has one input, and where an .npz or a JSON object names its arrays itself.
Numbers are converted to the input's type, rounded where it is coarser; one outside of its range is an error. A picture
is stretched to the height and width of --shape or of the input and becomes (pixel * scale - mean) / std in the layout
that the shape shows. What no file gives is random; free dimensions that no file, no --shape and no --dim fixes are then
1.

  trunnion run model.onnx --input x=photo.jpg --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225 --top 5 --labels names.txt
  trunnion run model.onnx --input feeds.npz --output results.npz
  trunnion run model.onnx --dim batch=8 --repeat 100 --threads 1)";

struct RunChoices {
  LoadChoices load;
  InputChoices inputs;
  ReportOptions report;
  std::string output, labels, profile;
  int repeat = 0;
  bool json = false;
};

std::vector<std::string> read_labels(const std::string& path) {
  const std::string text = read_file(path);
  std::vector<std::string> labels;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    labels.push_back(text.substr(start, end - start));
    if (!labels.back().empty() && labels.back().back() == '\r') labels.back().pop_back();
    start = end + 1;
  }
  if (labels.empty()) unusable("{} has no labels", path);
  return labels;
}

using Clock = std::chrono::steady_clock;
double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Outcome {
  double load_ms = 0, first_ms = 0, peak_bytes = 0;
  std::vector<double> times;  // of the repeated runs, sorted
  std::vector<Result> results;
  std::vector<std::string> notes;
  std::string profile;
};

void run_model(LoadedModel& model, const std::vector<Feed>& feeds, const RunChoices& choices, Outcome& outcome) {
  const Arguments arguments = arguments_of(feeds);
  const auto begun = Clock::now();
  std::vector<Value> values = run_first(model, feeds);
  outcome.first_ms = milliseconds_since(begun);
  for (int i = 0; i < choices.repeat; ++i) {
    values.clear();
    const auto start = Clock::now();
    values = model.run(arguments.names, arguments.values);
    outcome.times.push_back(milliseconds_since(start));
  }
  std::sort(outcome.times.begin(), outcome.times.end());
  outcome.peak_bytes = peak_memory();
  if (!choices.profile.empty()) outcome.profile = model.end_profiling();
  for (size_t i = 0; i < values.size(); ++i)
    outcome.results.push_back(take_apart(model.outputs()[i].name, std::move(values[i])));
}

void write_results(const RunChoices& choices, Outcome& outcome) {
  Entries entries;
  for (const Result& result : outcome.results) add_entries(result, result.name, entries, outcome.notes);
  write_file(choices.output, write_npz(entries));
}

// What --top or --labels cannot do is said, not passed over.
void note_about_top(const RunChoices& choices, Outcome& outcome) {
  const size_t labels = choices.report.labels.size();
  if (!labels) return;
  for (const Result& r : outcome.results) {
    if (r.kind != ONNX_TYPE_TENSOR || r.array.shape.empty()) continue;
    const auto& shape = r.array.shape;
    const auto last = std::find_if(shape.rbegin(), shape.rend(), [](int64_t d) { return d != 1; });
    if (const int64_t width = last == shape.rend() ? 1 : *last; static_cast<size_t>(width) != labels)
      outcome.notes.push_back(fmt::format("{} has {} labels, the rows of output '{}' have {} values", choices.labels,
                                          labels, r.name, width));
  }
}

std::string text_report(const LoadedModel& model, const std::vector<Feed>& feeds, const RunChoices& choices,
                        const Outcome& o) {
  std::string text = feeds.empty() ? "" : "inputs\n";
  for (const Feed& feed : feeds) text += "  " + describe(feed) + "\n";
  text += "outputs\n";
  for (const Result& result : o.results) text += describe(result, choices.report, "  ");
  if (!choices.output.empty()) text += fmt::format("written to {}\n", choices.output);
  text += fmt::format("load {:.1f} ms, first run {:.3g} ms", o.load_ms, o.first_ms);
  if (!o.times.empty())
    text += fmt::format(", {} runs: min {:.3g}, p50 {:.3g}, p95 {:.3g} ms", o.times.size(), o.times.front(),
                        percentile(o.times, 0.5), percentile(o.times, 0.95));
  text += '\n';
  if (o.peak_bytes > 0) text += fmt::format("peak memory {}\n", bytes_text(o.peak_bytes));
  text += model.placement_summary() + "\n";
  if (!o.profile.empty()) text += fmt::format("profile in {}\n", o.profile);
  for (const std::string& note : o.notes) text += fmt::format("note: {}\n", note);
  return text;
}

Json json_report(const LoadedModel& model, const std::vector<Feed>& feeds, const RunChoices& choices,
                 const Outcome& o) {
  Json json{{"model", choices.load.model}, {"inputs", Json::array()}, {"outputs", Json::array()}};
  for (const Feed& feed : feeds) {
    Json input{{"name", feed.name}, {"type", feed.type}, {"source", feed.source}};
    if (feed.arrays.size() == 1) input["shape"] = feed.shape;
    json["inputs"].push_back(std::move(input));
  }
  for (const Result& result : o.results) json["outputs"].push_back(to_json(result, choices.report));
  if (!choices.output.empty()) json["output_file"] = choices.output;
  json["load_ms"] = o.load_ms;
  json["first_run_ms"] = o.first_ms;
  if (!o.times.empty())
    json["runs"] = {{"count", o.times.size()},
                    {"min_ms", o.times.front()},
                    {"p50_ms", percentile(o.times, 0.5)},
                    {"p95_ms", percentile(o.times, 0.95)}};
  if (o.peak_bytes > 0) json["peak_memory_bytes"] = static_cast<uint64_t>(o.peak_bytes);
  json["memory"] = parse_json(model.memory_json(), "the memory report");
  json["load_steps"] = parse_json(model.load_timings_json(), "the load timings").at("steps");
  json["placement"] = model.placement_summary();
  if (!o.profile.empty()) json["profile"] = o.profile;
  json["notes"] = o.notes;
  return json;
}

int run(RunChoices choices) {
  choices.inputs.finish(choices.load.sizes());
  if (!choices.output.empty() && extension(choices.output) != "npz")
    bad_usage("--output {}: the file is to end in .npz", choices.output);
  SessionOptions options = choices.load.options();
  if (!choices.profile.empty()) options.profile(choices.profile.c_str());
  if (!choices.labels.empty()) {
    choices.report.labels = read_labels(choices.labels);
    if (!choices.report.top) choices.report.top = 5;
  }

  const Engine engine(choices.load.verbose);
  choices.load.check_dimensions(engine);
  Outcome outcome;
  const auto begun = Clock::now();
  LoadedModel model(engine, choices.load.model, options);
  outcome.load_ms = milliseconds_since(begun);
  const std::vector<Feed> feeds = make_feeds(model, choices.inputs.feeds);
  run_model(model, feeds, choices, outcome);
  note_about_top(choices, outcome);
  if (!choices.output.empty()) write_results(choices, outcome);
  const std::string text = choices.json ? json_text(json_report(model, feeds, choices, outcome)) + "\n"
                                        : text_report(model, feeds, choices, outcome);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kOk;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  CLI::App& verb = *app.add_subcommand("run", "Runs a model on files or random values");
  const auto c = std::make_shared<RunChoices>();
  c->load.add_model(verb);
  c->load.add_rewrites(verb);
  c->load.add_threads(verb);
  c->inputs.add_to(verb);
  verb.add_option("--output", c->output, "Write the outputs there")->type_name("FILE.npz");
  verb.add_option("--values", c->report.values, "How many elements of each output are shown; default 8")
      ->check(CLI::Range(0, 1 << 30))
      ->type_name("N");
  verb.add_option("--top", c->report.top, "Show the greatest values of each row of the outputs")
      ->check(CLI::Range(1, 1 << 30))
      ->type_name("K");
  verb.add_option("--labels", c->labels, "Names of the columns, one a line; without --top the best 5 are shown")
      ->type_name("FILE");
  verb.add_option("--repeat", c->repeat, "Time this many runs after the first")
      ->check(CLI::Range(1, 1 << 30))
      ->type_name("N");
  verb.add_option("--profile", c->profile, "Write a trace of the runs to PREFIX_<time>.json")->type_name("PREFIX");
  verb.add_flag("--json", c->json, "Print JSON");
  verb.footer(kFooter);
  verb.callback([c, &action] { action = [c] { return run(*c); }; });
}

}  // namespace trunnion::cli
