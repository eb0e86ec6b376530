// trunnion operators: which operators the engine has, in which versions and for which element types.
#include <algorithm>

#include "failure.h"
#include "json_array.h"
#include "report.h"
#include "verbs.h"

namespace trunnion::cli {
namespace {

constexpr const char* kFooter =
    R"(NAME is an operator or a domain. A version is the opset from which a signature holds. "without" are element types
that ONNX allows and that no kernel takes; an operator that is refused has no provider.

  trunnion operators Conv
  trunnion operators com.microsoft --markdown)";

struct OperatorChoices {
  std::vector<std::string> names;
  bool json = false, markdown = false;
};

std::string joined(const Json& list, const char* by = ", ") {
  std::string text;
  for (const Json& e : list) {
    if (!text.empty()) text += by;
    text += e.is_string() ? e.get<std::string>() : e.dump();
  }
  return text;
}

std::string types_text(const Json& op) {
  if (op.at("provider").is_null()) return "";
  if (op.at("types").is_null()) return "any";
  return joined(op.at("types"));
}

std::string notes(const Json& op) {
  std::vector<std::string> all;
  if (op.at("provider").is_null()) all.push_back("refused: no kernel");
  // A deprecated signature is the last version, and nothing implements a notice.
  const int newest = op.at("newest").get<int>(), last = op.at("versions").back().get<int>();
  if (!op.at("deprecated").is_null())
    all.push_back("deprecated from " + op.at("deprecated").dump());
  else if (!op.at("provider").is_null() && newest < last)
    all.push_back(fmt::format("version {} is refused", last));
  if (!op.at("missing_types").empty()) all.push_back("without " + joined(op.at("missing_types")));
  return fmt::format("{}", fmt::join(all, "; "));
}

std::string provider(const Json& op) { return op.at("provider").is_null() ? "-" : op.at("provider"); }

std::string markdown(const Json& operators) {
  std::string text, domain;
  for (const Json& op : operators) {
    if (op.at("domain") != domain) {
      domain = op.at("domain");
      const auto here = [&](const Json& o) { return o.at("domain") == domain; };
      text += fmt::format(
          "{}## {}\n\n{} operators, {} of them run.\n\n| operator | versions | element types | provider "
          "| notes |\n|---|---|---|---|---|\n",
          text.empty() ? "" : "\n", domain, std::count_if(operators.begin(), operators.end(), here),
          std::count_if(operators.begin(), operators.end(),
                        [&](const Json& o) { return here(o) && !o.at("provider").is_null(); }));
    }
    text += fmt::format("| {} | {} | {} | {} | {} |\n", op.at("operator").get<std::string>(), joined(op.at("versions")),
                        types_text(op), provider(op), notes(op));
  }
  return text;
}

std::string plain(const Json& operators) {
  std::string text;
  for (const Json& op : operators) {
    const std::string types = types_text(op), note = notes(op);
    text += fmt::format("{}::{} {}: {}{}{}{}{}\n", op.at("domain").get<std::string>(),
                        op.at("operator").get<std::string>(), joined(op.at("versions")), provider(op),
                        types.empty() ? "" : ", ", types, note.empty() ? "" : "; ", note);
  }
  return text;
}

int list(const OperatorChoices& choices) {
  const Json all = parse_json(operators_json(), "the engine's list");
  Json wanted = Json::array();
  for (const Json& op : all)
    if (choices.names.empty() || std::any_of(choices.names.begin(), choices.names.end(), [&](const std::string& name) {
          return op.at("operator") == name || op.at("domain") == name;
        }))
      wanted.push_back(op);
  for (const std::string& name : choices.names)
    if (std::none_of(wanted.begin(), wanted.end(),
                     [&](const Json& op) { return op.at("operator") == name || op.at("domain") == name; }))
      bad_usage("'{}' is neither an operator nor a domain that is known", name);
  const std::string text = choices.json       ? json_text(wanted) + "\n"
                           : choices.markdown ? markdown(wanted)
                                              : plain(wanted);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kOk;
}

}  // namespace

void add_operators(CLI::App& app, Action& action) {
  CLI::App& verb = *app.add_subcommand("operators", "Lists the operators that can be run");
  const auto c = std::make_shared<OperatorChoices>();
  verb.add_option("NAME", c->names, "Only these operators, or those of these domains");
  CLI::Option* json = verb.add_flag("--json", c->json, "Print JSON");
  verb.add_flag("--markdown", c->markdown, "Print tables")->excludes(json);
  verb.footer(kFooter);
  verb.callback([c, &action] { action = [c] { return list(*c); }; });
}

}  // namespace trunnion::cli
