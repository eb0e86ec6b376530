// trunnion inspect: what a model file is, what it costs and whether it would run, without running it.
#include <charconv>
#include <cmath>

#include "failure.h"
#include "file.h"
#include "json_array.h"
#include "session_options.h"
#include "verbs.h"

namespace trunnion::cli {
namespace {

constexpr const char* kFooter =
    R"(FLOPs count multiplications and additions of products, convolutions and recurrent layers. Where sizes depend on free
dimensions they are expressions; --dim gives numbers. Exit code 1 when something in the model would not run.

  trunnion inspect model.onnx --dim batch=8
  trunnion inspect model.onnx --graph --level basic)";
constexpr size_t kProblemsShown = 20;

struct InspectChoices {
  LoadChoices load;
  bool json = false, graph = false;
};

std::string plain_shape(const Json& shape) { return shape.is_array() ? " [" + dimensions_text(shape) + "]" : ""; }

std::string ports_text(const Json& ports) {
  std::string text;
  for (const Json& port : ports)
    text += fmt::format("  {}  {}{}\n", one_line(port.at("name").get<std::string>()),
                        port.at("type").get<std::string>(), plain_shape(port.at("shape")));
  return text.empty() ? "  none\n" : text;
}

// "1.23 G" of a text that is a number, then `unit`; an expression stays what it is.
std::string amount(const std::string& text, std::string_view unit, std::string_view meaning) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool known = error == std::errc() && end == text.data() + text.size();
  if (!known && text == "?")
    return "not known: some shapes do not follow from the model, or the number is beyond 64 bits";
  constexpr size_t kLongest = 100;
  if (!known && text.size() > kLongest)
    return "a long expression: sizes given with --dim make it a number (--json has it)";
  std::string shown = text;
  if (known) {
    const char* prefix = "";
    for (const char* larger : {"k", "M", "G", "T", "P"}) {
      if (value < 1000) break;
      value /= 1000;
      prefix = larger;
    }
    shown = *prefix ? fmt::format("{:.3g} {}", value, prefix) : fmt::format("{:.0f} ", value);
  } else if (!unit.empty()) {
    shown += ' ';
  }
  shown += unit;
  if (shown.ends_with(' ')) shown.pop_back();
  return shown.append(meaning);
}

std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (int64_t at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<size_t>(at), ",");
  return text;
}

std::string operators_text(const Json& operators) {
  std::string text;
  size_t width = 0;
  for (const Json& o : operators) {
    const auto domain = o.at("domain").get<std::string>();
    const std::string entry = fmt::format("{}{}{} {}", domain, domain.empty() ? "" : ".",
                                          one_line(o.at("op").get<std::string>()), o.at("count").get<int64_t>());
    constexpr size_t kLine = 100;
    const bool fits = width && width + entry.size() + 2 <= kLine;
    text += width == 0 ? "  " : fits ? ", " : ",\n  ";
    width = (fits ? width + 2 : 0) + entry.size();
    text += entry;
  }
  return text.empty() ? "  none\n" : text + "\n";
}

std::string report(const Json& facts) {
  const auto text_at = [&](const char* key) { return facts.at(key).get<std::string>(); };
  std::string opsets;
  for (const auto& [domain, version] : facts.at("opsets").items())
    opsets += fmt::format("{}{} {}", opsets.empty() ? "" : ", ", domain, version.dump());
  std::string producer = text_at("producer");
  if (const std::string version = text_at("producer_version"); !version.empty()) producer += " " + version;
  std::string text = fmt::format("{}: IR version {}, opset {}{}{}\n", text_at("path"), facts.at("ir_version").dump(),
                                 opsets.empty() ? "none" : opsets, producer.empty() ? "" : ", made by ", producer);
  text += "inputs\n" + ports_text(facts.at("inputs")) + "outputs\n" + ports_text(facts.at("outputs"));
  text += fmt::format("operators: {} node{}\n{}", facts.at("nodes").dump(), facts.at("nodes") == 1 ? "" : "s",
                      operators_text(facts.at("operators")));
  text += fmt::format("parameters  {} ({})\n", grouped(facts.at("parameters").get<int64_t>()),
                      bytes_text(facts.at("parameter_bytes").get<double>()));
  if (facts.at("problems").empty()) {
    text += fmt::format("FLOPs       {}\n", amount(text_at("flops"), "", ""));
    text += fmt::format("results     {}\n", amount(text_at("activation_bytes"), "B", " (of all nodes together)"));
  }
  if (!facts.at("metadata").empty()) {
    text += "metadata\n";
    for (const auto& [key, value] : facts.at("metadata").items()) {
      constexpr size_t kShown = 80;
      const auto all = value.get<std::string>();
      text +=
          fmt::format("  {}: {}{}\n", one_line(key), one_line(all.substr(0, kShown)), all.size() > kShown ? "..." : "");
    }
  }
  const Json& problems = facts.at("problems");
  if (problems.empty()) return text + "no problems\n";
  text += fmt::format("problems: {}\n", problems.size());
  for (size_t i = 0; i < std::min(problems.size(), kProblemsShown); ++i)
    text += fmt::format("  {}\n", one_line(problems[i].get<std::string>()));
  if (problems.size() > kProblemsShown)
    text += fmt::format("  {} more: --json has them all\n", problems.size() - kProblemsShown);
  return text;
}

int inspect(const InspectChoices& choices) {
  const SessionOptions options = choices.load.options();
  const Engine engine(choices.load.verbose);
  choices.load.check_dimensions(engine);
  Json facts = parse_json(inspect_json(engine, choices.load.model, options), "the engine's report");
  const bool runs = facts.at("problems").empty();
  std::string graph;
  if (choices.graph && runs) graph = LoadedModel(engine, choices.load.model, options).graph_text();
  if (choices.json && choices.graph) facts["graph_text"] = runs ? Json(graph) : Json();
  std::string text = choices.json ? json_text(facts) + "\n" : report(facts);
  if (choices.graph && !choices.json && runs)
    text += "the graph as it runs\n" + graph + (graph.ends_with('\n') ? "" : "\n");
  std::fwrite(text.data(), 1, text.size(), stdout);
  return runs ? kOk : kUnusable;
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  CLI::App& verb = *app.add_subcommand("inspect", "Shows what a model is, without running it");
  const auto c = std::make_shared<InspectChoices>();
  c->load.add_model(verb);
  verb.add_flag("--json", c->json, "Print JSON");
  CLI::Option* graph = verb.add_flag("--graph", c->graph, "Print the graph as it runs, after all rewrites");
  for (CLI::Option* option : c->load.add_rewrites(verb)) option->needs(graph);
  verb.footer(kFooter);
  verb.callback([c, &action] { action = [c] { return inspect(*c); }; });
}

}  // namespace trunnion::cli
