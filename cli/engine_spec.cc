#include "engine_spec.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "failure.h"
#include "file.h"
#include "npy.h"
#include "text.h"

namespace trunnion::cli {
namespace {

namespace fs = std::filesystem;

// The inputs as an .npz, which has tensors only.
std::string feeds_file(const std::vector<Feed>& feeds) {
  Entries entries;
  for (const Feed& feed : feeds) {
    if (feed.arrays.size() != 1 || numpy_type(feed.arrays[0].type) != feed.arrays[0].type)
      unusable("input '{}' is a {}, which a process of its own cannot be given: leave out rung=", feed.name, feed.type);
    entries.emplace_back(feed.name, write_npy(feed.arrays[0]));
  }
  return write_npz(entries);
}

}  // namespace

EngineSpec EngineSpec::parse(const char* option, const std::string& text, const Engine& engine,
                             const ProviderChoices& providers) {
  EngineSpec spec;
  spec.text = text;
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  if (name.empty()) bad_usage("{} '{}': it is to be given as PROVIDER or PROVIDER:KEY=VALUE,...", option, text);
  spec.provider = providers.full_name(engine, name, fmt::format("{} {}", option, text));
  if (spec.provider != "CPUExecutionProvider") spec.rounding = Rounding::fewer_bits;
  for (const std::string& part : split_list(colon == text.npos ? "" : text.substr(colon + 1), ',')) {
    const size_t equals = part.find('=');
    if (equals == part.npos || equals == 0 || equals + 1 == part.size())
      bad_usage("{} '{}': '{}' is to be given as KEY=VALUE", option, text, part);
    const std::string key = part.substr(0, equals), value = part.substr(equals + 1);
    if (key == "optimization") {
      if (value != "none" && value != "basic" && value != "extended" && value != "all")
        bad_usage("{} '{}': optimization may be none, basic, extended or all", option, text);
      spec.level = value;
    } else if (key == "rung") {
      if (value != "baseline" && value != "avx2" && value != "avx512")
        bad_usage("{} '{}': rung may be baseline, avx2 or avx512", option, text);
      if (spec.provider != "CPUExecutionProvider") bad_usage("{} '{}': only the CPU provider has rungs", option, text);
      spec.rung = value;
    } else if (key == "threads") {
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), spec.threads);
      if (error != std::errc() || end != value.data() + value.size() || spec.threads < 1 || spec.threads > 4096)
        bad_usage("{} '{}': threads is to be a number from 1 to 4096", option, text);
    } else if (key == "precision") {
      if (value == "fast") spec.rounding = std::max(spec.rounding, Rounding::shortcuts);
      if (value == "bf16") spec.rounding = Rounding::fewer_bits;
      spec.config.emplace_back("precision", value);
    } else if (key.find('.') != key.npos) {
      spec.config.emplace_back(key, value);
    } else {
      bad_usage(
          "{} '{}': '{}' is none of optimization, precision, rung, threads, and no key of a session's configuration",
          option, text, key);
    }
  }
  return spec;
}

SessionOptions SpecRunner::options() const {
  LoadChoices load = load_;
  load.level = spec_.level;
  load.threads = spec_.threads;
  SessionOptions options = load.options();
  for (const auto& [key, value] : spec_.config) options.config(key.c_str(), value.c_str());
  providers_.append(engine_, {spec_.provider}, options);
  // Many sessions are made while a difference is looked for, and each would tell its placement.
  if (!load_.verbose) check(ort().SetSessionLogSeverityLevel(options.get(), ORT_LOGGING_LEVEL_ERROR));
  return options;
}

std::vector<Result> SpecRunner::run(const std::string& model, const std::vector<Feed>& feeds,
                                    std::string* placement) const {
  if (!spec_.rung.empty()) return run_apart(model, feeds);
  const SessionOptions options = this->options();
  const LoadedModel loaded(engine_, model, options);
  if (placement) *placement = loaded.placement_summary();
  const Arguments arguments = arguments_of(feeds);
  std::vector<Value> values = loaded.run(arguments.names, arguments.values);
  std::vector<Result> results;
  for (size_t i = 0; i < values.size(); ++i)
    results.push_back(take_apart(loaded.outputs()[i].name, std::move(values[i])));
  return results;
}

// The rung is chosen once a process.
std::vector<Result> SpecRunner::run_apart(const std::string& model, const std::vector<Feed>& feeds) const {
  const TemporaryFolder folder;
  write_file(folder.file("in.npz"), feeds_file(feeds));
  std::string command = fmt::format("TRUNNION_CPU={} {} run {} --level {} --threads {} --output {}", spec_.rung,
                                    shell_quoted(fs::read_symlink("/proc/self/exe").string()), shell_quoted(model),
                                    spec_.level, spec_.threads, shell_quoted(folder.file("out.npz")));
  if (!feeds.empty()) command += " --input " + shell_quoted(folder.file("in.npz"));
  for (const auto& [key, value] : spec_.config) command += " --config " + shell_quoted(key + "=" + value);
  for (const std::string& text : load_.config) command += " --config " + shell_quoted(text);
  for (const std::string& text : load_.dimensions) command += " --dim " + shell_quoted(text);
  command += fmt::format(" >{} 2>&1", shell_quoted(folder.file("log")));
  if (std::system(command.c_str()) != 0) {
    const std::string log = read_file(folder.file("log"));
    unusable("{}: {}", spec_.text, log.starts_with("trunnion: ") ? log.substr(10) : log);
  }
  const LoadedModel loaded(engine_, model, load_.options());
  const Entries entries = read_npz(read_file(folder.file("out.npz")), spec_.text);
  std::vector<Result> results;
  for (const Port& port : loaded.outputs())
    for (const auto& [name, bytes] : entries)
      if (name == port.name) {
        Result& r = results.emplace_back();
        r.name = name;
        r.kind = ONNX_TYPE_TENSOR;
        r.array = convert(read_npy(bytes, port.type.element, name), port.type.element, name);
      }
  if (results.size() != loaded.outputs().size())
    unusable("{}: a process of its own can give tensors only: leave out rung=", spec_.text);
  return results;
}

}  // namespace trunnion::cli
