// trunnion compare: whether two engines, or two settings of one, give the same, and where they part when they do not.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "bisect.h"
#include "failure.h"
#include "input_options.h"
#include "text.h"
#include "verbs.h"

namespace trunnion::cli {
namespace {

constexpr const char* kFooter =
    R"(An engine is a provider, with settings of it after a colon: optimization (none, basic, extended, all), precision,
rung (baseline, avx2, avx512; in a process of its own), threads, and any key of a session's configuration. Inputs are
given or random as with `trunnion run`.

An element a of the reference may be missed by ATOL + RTOL * |a|. Unless --atol or --rtol is given, both follow from the
type, ATOL as a part of the greatest magnitude of the tensor: float 1e-5 and 1e-3, double 1e-10 and 1e-7, float16 2e-3
and 1e-2, bfloat16 1e-2 and 5e-2; integers, booleans and texts are to be equal. With precision=fast float has 1e-4 and
1e-3. With precision=bf16, and for the providers of plugins, which may compute in fewer bits than the model says, it has
2e-2 and 2e-2.

Exit code 0 when all outputs are equal within that, 1 when one is not. Then the first node whose result differs is
looked for, and the smallest part of the model that shows it is written to a folder, with its inputs and results.

  trunnion compare model.onnx --candidate cpu:optimization=none
  trunnion compare model.onnx --candidate cpu:rung=avx2 --input x.npy
  trunnion compare model.onnx --plugin OpenVINOExecutionProvider=PATH --candidate openvino --dim batch=8)";

struct CompareChoices {
  LoadChoices load;
  InputChoices inputs;
  ProviderChoices providers;
  std::string reference = "cpu", candidate, save;
  double atol = -1, rtol = -1;
  bool json = false, bisect = true;
};

struct Outcome {
  std::vector<std::pair<std::string, Difference>> outputs;
  std::vector<Result> results;
  std::string reference_placement, candidate_placement;
  std::optional<Finding> finding;
  std::vector<std::string> notes;
  bool equal() const {
    return std::ranges::all_of(outputs, [](const auto& o) { return o.second.why.empty(); });
  }
};

std::string not_negative(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool good = !text.empty() && *end == 0 && std::isfinite(value) && value >= 0;
  return good ? "" : fmt::format("{} is no number that is not negative", text);
}

std::optional<Tolerance> tolerance_of(const CompareChoices& c) {
  if (c.atol < 0 && c.rtol < 0) return std::nullopt;
  return Tolerance{std::max(c.atol, 0.0), std::max(c.rtol, 0.0), false};
}

std::string folder_of(const CompareChoices& c) {
  return c.save.empty() ? std::filesystem::path(c.load.model).stem().string() + "-difference" : c.save;
}

void compare_all(const CompareChoices& c, const SpecRunner& reference, const SpecRunner& candidate, Outcome& o,
                 const std::vector<Feed>& feeds) {
  const Rounding rounding = std::max(reference.spec().rounding, candidate.spec().rounding);
  const auto tolerance = tolerance_of(c);
  const std::vector<Result> expected = reference.run(c.load.model, feeds, &o.reference_placement);
  const std::vector<Result> got = candidate.run(c.load.model, feeds, &o.candidate_placement);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (i < got.size() && got[i].name == expected[i].name)
      o.outputs.emplace_back(expected[i].name, compare(expected[i], got[i], rounding, tolerance));
    else
      o.outputs.emplace_back(expected[i].name, Difference{"the candidate does not give it"});
  }
  if (o.equal()) return;
  const std::vector<Result> again = reference.run(c.load.model, feeds);
  for (size_t i = 0; i < expected.size() && i < again.size(); ++i)
    if (!compare(expected[i], again[i], Rounding::order, Tolerance{}).why.empty()) {
      o.notes.push_back(
          fmt::format("output '{}' of the reference differs from run to run: operators that draw random "
                      "numbers need a seed (--config session.random_seed=1)",
                      expected[i].name));
      break;
    }
}

std::string finding_text(const CompareChoices& c, const Finding& f) {
  std::string text = fmt::format("first difference: {}, node {} of {}\n  output '{}': {}\n  {}\n", one_line(f.node),
                                 f.place, f.nodes, one_line(f.value), f.difference.why, describe(f.difference));
  if (f.part_nodes == 0) return text + "  no part of the model alone shows it\n";
  text += fmt::format("smallest part that shows it: {} node{}, {}\n  {}\n", f.part_nodes, f.part_nodes == 1 ? "" : "s",
                      describe(f.part_difference), f.part_difference.why);
  if (f.part_nodes > 4)
    text +=
        "  it adds up over these nodes, and no fewer of them are beyond the tolerance: with a smaller --atol or --rtol "
        "it is found where it begins\n";
  text += fmt::format("written to {}: {}\n", f.folder, fmt::join(f.files, ", "));
  text += fmt::format("  trunnion compare {0}/model.onnx --input {0}/inputs.npz --reference {1} --candidate {2}",
                      shell_word(f.folder), shell_word(c.reference), shell_word(c.candidate));
  for (const std::string& plugin : c.providers.plugins) text += " --plugin " + shell_word(plugin);
  for (const std::string& option : c.providers.options) text += " --provider-option " + shell_word(option);
  for (const std::string& config : c.load.config) text += " --config " + shell_word(config);
  if (c.atol >= 0) text += fmt::format(" --atol {:g}", c.atol);
  if (c.rtol >= 0) text += fmt::format(" --rtol {:g}", c.rtol);
  return text + "\n";
}

std::string report(const CompareChoices& c, const std::vector<Feed>& feeds, const Outcome& o) {
  std::string text = "inputs\n";
  for (const Feed& feed : feeds) text += "  " + describe(feed) + "\n";
  const auto side = [&](const char* what, const std::string& spec, const std::string& placement) {
    text += fmt::format("{} {}{}{}\n", what, spec, placement.empty() ? "" : ": ", placement);
  };
  side("reference", c.reference, o.reference_placement);
  side("candidate", c.candidate, o.candidate_placement);
  text += "outputs\n";
  for (const auto& [name, d] : o.outputs)
    text += d.why.empty() ? fmt::format("  {}  {}\n", one_line(name), describe(d))
                          : fmt::format("  {}  DIFFERS: {}\n    {}\n", one_line(name), d.why, describe(d));
  for (const std::string& note : o.notes) text += fmt::format("note: {}\n", note);
  if (o.finding) {
    for (const std::string& note : o.finding->notes) text += fmt::format("note: {}\n", one_line(note));
    text += finding_text(c, *o.finding);
  } else if (!o.equal() && c.bisect) {
    text += "no inner value differs when it is looked at\n";
  }
  return text + (o.equal() ? "equal\n" : "different\n");
}

Json json_report(const CompareChoices& c, const Outcome& o) {
  Json json{{"model", c.load.model}, {"reference", c.reference}, {"candidate", c.candidate}, {"equal", o.equal()}};
  json["reference_placement"] = o.reference_placement;
  json["candidate_placement"] = o.candidate_placement;
  json["outputs"] = Json::array();
  for (const auto& [name, d] : o.outputs) {
    Json output = to_json(d);
    output["name"] = name;
    json["outputs"].push_back(std::move(output));
  }
  json["notes"] = o.notes;
  if (!o.finding) return json;
  const Finding& f = *o.finding;
  json["first_difference"] = {{"node", f.node},
                              {"place", f.place},
                              {"nodes", f.nodes},
                              {"value", f.value},
                              {"difference", to_json(f.difference)},
                              {"notes", f.notes}};
  if (f.part_nodes)
    json["part"] = {
        {"nodes", f.part_nodes}, {"folder", f.folder}, {"files", f.files}, {"difference", to_json(f.part_difference)}};
  return json;
}

int compare_engines(CompareChoices c) {
  c.inputs.finish(c.load.sizes());
  const Engine engine(c.load.verbose);
  c.providers.register_plugins(engine);
  c.load.check_dimensions(engine);
  const SpecRunner reference(engine, c.providers, c.load,
                             EngineSpec::parse("--reference", c.reference, engine, c.providers));
  const SpecRunner candidate(engine, c.providers, c.load,
                             EngineSpec::parse("--candidate", c.candidate, engine, c.providers));
  std::vector<Feed> feeds;
  {
    const LoadedModel model(engine, c.load.model, c.load.options());
    feeds = make_feeds(model, c.inputs.feeds);
  }
  Outcome o;
  compare_all(c, reference, candidate, o, feeds);
  if (!o.equal() && c.bisect)
    o.finding = Bisection(engine, c.load, reference, candidate, tolerance_of(c)).find(feeds, folder_of(c));
  const std::string text = c.json ? json_text(json_report(c, o)) + "\n" : report(c, feeds, o);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return o.equal() ? kOk : kUnusable;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  CLI::App& verb = *app.add_subcommand("compare", "Tells whether two engines give the same, and where they part");
  const auto c = std::make_shared<CompareChoices>();
  c->load.add_model(verb);
  verb.add_option("--reference", c->reference, "The engine that is right; default cpu")->type_name("ENGINE");
  verb.add_option("--candidate", c->candidate, "The engine to check: openvino, cpu:optimization=none")
      ->required()
      ->type_name("ENGINE");
  c->providers.add_options(verb);
  verb.add_option("--config", c->load.config, "A session configuration entry for both; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  c->inputs.add_to(verb);
  verb.add_option("--atol", c->atol, "Absolute tolerance, for all types")->check(not_negative)->type_name("X");
  verb.add_option("--rtol", c->rtol, "Relative tolerance, for all types")->check(not_negative)->type_name("X");
  verb.add_option("--save", c->save, "Where the smallest differing part goes; default MODEL-difference")
      ->type_name("FOLDER");
  verb.add_flag("!--no-bisect", c->bisect, "Do not look for the node");
  verb.add_flag("--json", c->json, "Print JSON");
  verb.footer(kFooter);
  verb.callback([c, &action] { action = [c] { return compare_engines(*c); }; });
}

}  // namespace trunnion::cli
