#include "session_options.h"

#include <charconv>
#include <set>

#include "failure.h"
#include "json_array.h"

namespace trunnion::cli {
namespace {

GraphOptimizationLevel level_of(const std::string& name) {
  return name == "none"       ? ORT_DISABLE_ALL
         : name == "basic"    ? ORT_ENABLE_BASIC
         : name == "extended" ? ORT_ENABLE_EXTENDED
                              : ORT_ENABLE_ALL;
}

std::pair<std::string, std::string> split_at(const std::string& text, size_t at, const char* option, const char* form) {
  if (at == text.npos || at == 0) bad_usage("{} {}: it is to be given as {}", option, text, form);
  return {text.substr(0, at), text.substr(at + 1)};
}

std::pair<std::string, int64_t> dimension(const std::string& text) {
  const auto [name, size] = split(text, "--dim");
  int64_t n = 0;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), n);
  if (error != std::errc() || end != size.data() + size.size() || n < 0)
    bad_usage("--dim {}: the size is to be an integer that is not negative", text);
  return {name, n};
}

}  // namespace

std::pair<std::string, std::string> split(const std::string& text, const char* option) {
  return split_at(text, text.rfind('='), option, "NAME=VALUE");
}

std::pair<std::string, std::string> split_first(const std::string& text, const char* option, const char* form) {
  return split_at(text, text.find('='), option, form);
}

void LoadChoices::add_model(CLI::App& verb) {
  verb.add_option("MODEL", model, "The .onnx file")->required()->type_name("");
  verb.add_option("--dim", dimensions,
                  "Size of a free dimension of the inputs (INPUT.AXIS for one without a name); may be repeated")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
  verb.add_flag("--verbose", verbose, "Show what the engine logs on stderr, not only its warnings");
}

std::vector<CLI::Option*> LoadChoices::add_rewrites(CLI::App& verb) {
  return {verb.add_option("--level", level, "How much the graph is rewritten; default all")
              ->check(CLI::IsMember({"none", "basic", "extended", "all"}))
              ->type_name("LEVEL"),
          verb.add_option("--config", config, "A session configuration entry; unknown keys are errors; may be repeated")
              ->type_name("KEY=VALUE")
              ->allow_extra_args(false)};
}

void LoadChoices::add_threads(CLI::App& verb) {
  verb.add_option("--threads", threads, "Threads to use; 0 (default): one for each core that may be used")
      ->check(CLI::Range(0, 4096))
      ->type_name("N");
}

SessionOptions LoadChoices::options() const {
  SessionOptions options;
  options.optimization(level_of(level));
  if (threads > 0) options.threads(threads);
  for (const auto& [name, size] : sizes()) options.dimension(name.c_str(), size);
  options.config("session.strict_config", "1");
  for (const std::string& text : config) {
    const auto [key, value] = split_first(text, "--config", "KEY=VALUE");
    options.config(key.c_str(), value.c_str());
  }
  return options;
}

std::map<std::string, int64_t> LoadChoices::sizes() const {
  std::map<std::string, int64_t> sizes;
  for (const std::string& text : dimensions) sizes.insert_or_assign(dimension(text).first, dimension(text).second);
  return sizes;
}

void LoadChoices::check_dimensions(const Engine& engine) const {
  if (dimensions.empty()) return;
  std::set<std::string> known;
  const Json facts = parse_json(inspect_json(engine, model, SessionOptions()), model);
  for (const Json& input : facts.at("inputs"))
    for (const Json& d : input.at("shape"))
      if (d.is_string()) known.insert(d.get<std::string>());
  for (const auto& [name, size] : sizes())
    if (!known.contains(name))
      unusable("--dim {}={}: the inputs have no free dimension '{}'; they have {}", name, size, name,
               known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
}

}  // namespace trunnion::cli
