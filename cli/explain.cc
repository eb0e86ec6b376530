// trunnion explain: which provider runs each node, why the others do not, and what goes from one to another.
#include <algorithm>
#include <map>
#include <set>

#include "explain_page.h"
#include "failure.h"
#include "file.h"
#include "providers.h"
#include "session_options.h"
#include "verbs.h"

namespace trunnion::cli {
namespace {

constexpr const char* kFooter =
    R"(The nodes are those of the model after the portable rewrites, before any provider joins some: what a provider is asked
about. --providers is the order of preference; without it the plugins come in the order that they are named, and the CPU
last. Sizes of values that cross are shown where shapes are known: --dim gives free dimensions a size.

  trunnion explain model.onnx --plugin OpenVINOExecutionProvider=PATH --html model.html
  trunnion explain model.onnx --plugin qnn=PATH --providers qnn,cpu --config session.placement=cost)";
constexpr size_t kRowsShown = 40;

struct ExplainChoices {
  LoadChoices load;
  ProviderChoices providers;
  std::string order, html, json;
  bool all = false;
};

std::string text_of(const Json& j, const char* key) { return j.at(key).get<std::string>(); }

std::string label_of(const Json& node) {
  const std::string domain = text_of(node, "domain"), name = text_of(node, "name");
  return fmt::format("{}{}{}{}", domain, domain.empty() ? "" : "::", text_of(node, "op_type"),
                     name.empty() ? "" : " '" + one_line(name) + "'");
}

std::string bytes_of(const Json& value) {
  return value.at("bytes").is_null() ? "size not known" : bytes_text(value.at("bytes").get<double>());
}

// Neighbours of the same provider and region are one row, unless every node is wanted.
std::string nodes_text(const Json& nodes, bool all) {
  std::string text = "nodes\n";
  size_t shown = 0, hidden = 0;
  for (size_t i = 0; i < nodes.size();) {
    const Json& n = nodes[i];
    size_t end = i + 1;
    while (!all && end < nodes.size() && nodes[end].at("provider") == n.at("provider") &&
           nodes[end].value("region", -1) == n.value("region", -1))
      ++end;
    if (!all && shown++ == kRowsShown) {
      hidden = nodes.size() - i;
      break;
    }
    const std::string region = n.contains("region") ? fmt::format(" region {}", n.at("region").dump()) : "";
    if (end - i > 1)
      text += fmt::format("  {:>5}-{:<5} {}{}: {} nodes, {} to {}\n", i + 1, end, short_name(text_of(n, "provider")),
                          region, end - i, label_of(n), label_of(nodes[end - 1]));
    else
      text += fmt::format("  {:>5}       {}{}: {}\n", i + 1, short_name(text_of(n, "provider")), region, label_of(n));
    if (all)
      for (const Json& r : n.at("refused"))
        text += fmt::format("                not {}: {}\n", short_name(text_of(r, "provider")),
                            one_line(text_of(r, "reason")));
    i = end;
  }
  if (hidden) text += fmt::format("  {} more nodes: --all shows every node, --html and --json have them too\n", hidden);
  return text;
}

// Which nodes a provider did not take, by reason and operator.
std::string refusals_text(const Json& nodes) {
  struct Refused {
    size_t count = 0;
    std::map<std::string, size_t> operators;
    std::string examples;
  };
  std::map<std::pair<std::string, std::string>, Refused> all;
  for (const Json& n : nodes)
    for (const Json& r : n.at("refused")) {
      const std::string op = text_of(n, "op_type"), start = op + " is ";
      std::string reason = one_line(text_of(r, "reason"));
      if (reason.starts_with(start)) reason = reason.substr(start.size());
      Refused& at = all[{short_name(text_of(r, "provider")), reason}];
      constexpr size_t kExamples = 3;
      if (const std::string name = one_line(text_of(n, "name")); !name.empty() && at.count < kExamples)
        at.examples += (at.examples.empty() ? "" : ", ") + name;
      ++at.count;
      ++at.operators[op];
    }
  if (all.empty()) return "";
  std::string text = "refused\n";
  for (const auto& [what, at] : all) {
    std::string operators;
    for (const auto& [op, count] : at.operators)
      operators += fmt::format("{}{} {}", operators.empty() ? "" : ", ", count, op);
    text += fmt::format("  {}: {} node{}: {}\n    {}{}\n", what.first, at.count, at.count == 1 ? "" : "s", what.second,
                        operators, at.examples.empty() ? "" : fmt::format(" ({})", at.examples));
  }
  return text;
}

// Providers that took nothing, where free dimensions may be why.
std::string hints_text(const Json& placement) {
  bool open = false;
  for (const Json& c : placement.at("values"))
    open |= c.at("bytes").is_null() && c.at("type").get<std::string>().starts_with("tensor(");
  std::string text;
  for (const Json& p : placement.at("providers"))
    if (p.at("nodes") == 0 && open && text_of(p, "name") != "CPUExecutionProvider")
      text += fmt::format(
          "note: {} took no node. The model has free dimensions, which some providers decline: --dim gives "
          "them a size\n",
          short_name(text_of(p, "name")));
  return text;
}

std::string regions_text(const Json& placement) {
  struct Region {
    std::string provider, first, last;
    size_t nodes = 0;
    std::set<int> made, read;
  };
  std::map<int, Region> regions;
  for (const Json& n : placement.at("nodes")) {
    if (!n.contains("region")) continue;
    Region& r = regions[n.at("region").get<int>()];
    r.provider = short_name(text_of(n, "provider"));
    if (r.nodes++ == 0) r.first = label_of(n);
    r.last = label_of(n);
    for (const Json& v : n.at("inputs")) r.read.insert(v.get<int>());
    for (const Json& v : n.at("outputs")) r.made.insert(v.get<int>());
  }
  if (regions.empty()) return "";
  std::string text = "regions\n";
  for (const auto& [id, r] : regions) {
    const auto inputs = std::ranges::count_if(r.read, [&, &region = r](int v) { return !region.made.contains(v); });
    text += fmt::format("  {:>5} {}: {} node{}, {} input{}, {} to {}\n", id, r.provider, r.nodes,
                        r.nodes == 1 ? "" : "s", inputs, inputs == 1 ? "" : "s", r.first, r.last);
  }
  return text;
}

std::string crossings_text(const Json& placement, bool all) {
  if (!placement.contains("crossings")) return "";
  const Json &crossings = placement.at("crossings"), &values = placement.at("values");
  std::string text = "values that cross\n";
  if (crossings.empty()) return text + "  none\n";
  const auto side = [](const Json& j) {
    return j.is_null() ? std::string("caller") : short_name(j.get<std::string>());
  };
  size_t shown = 0;
  for (const Json& c : crossings) {
    if (!all && shown++ == kRowsShown) return text + fmt::format("  {} more: --all\n", crossings.size() - kRowsShown);
    const Json& v = values.at(c.at("value").get<size_t>());
    std::string shape = dimensions_text(v.at("shape"));
    constexpr size_t kLongest = 60;
    if (shape.size() > kLongest) shape = shape.substr(0, kLongest) + "...";
    text += fmt::format("  {} -> {}: '{}' {} [{}], {}, {}\n", side(c.at("from")), side(c.at("to")),
                        one_line(text_of(v, "name")), text_of(v, "type"), shape, bytes_of(v),
                        c.at("copied").get<bool>() ? "copied" : "handed over in the memory of the host");
  }
  return text;
}

std::string cost_text(const Json& placement) {
  if (!placement.contains("cost")) return "";
  std::string text = "islands, by estimated cost\n";
  for (const Json& v : placement.at("cost"))
    text += fmt::format("  {} {} from {}: {}\n", v.at("kept").get<bool>() ? "kept   " : "refused",
                        short_name(text_of(v, "provider")), one_line(text_of(v, "first")), text_of(v, "text"));
  return text;
}

// What the cache of engines had.
std::string engines_text(const Json& placement) {
  if (!placement.contains("engines")) return "";
  std::string text = "engine cache\n";
  for (const Json& e : placement.at("engines")) {
    std::string regions, reason = text_of(e, "reason");
    for (const Json& r : e.at("regions")) regions += (regions.empty() ? "" : ", ") + r.dump();
    text += fmt::format("  {} region{} {}: {}{}{}\n", short_name(text_of(e, "provider")),
                        e.at("regions").size() == 1 ? "" : "s", regions, text_of(e, "cache"),
                        reason.empty() ? "" : ", " + one_line(reason), e.at("stored").get<bool>() ? "; written" : "");
  }
  return text;
}

std::string fusions_text(const Json& placement) {
  std::map<std::string, std::pair<int, size_t>> kinds;
  std::set<std::string> providers;
  for (const Json& p : placement.at("providers")) providers.insert(text_of(p, "name"));
  for (const Json& f : placement.at("fusions")) {
    if (providers.contains(text_of(f, "domain"))) continue;  // a region, which stands above
    auto& [count, nodes] = kinds[text_of(f, "op_type")];
    ++count;
    nodes += f.at("stands_for").size();
  }
  const Json& run = placement.at("nodes_run");
  std::string text = fmt::format("fusions and rewrites: {} node{} run\n", run.dump(), run == 1 ? "" : "s");
  for (const auto& [op, kind] : kinds) text += fmt::format("  {} {} for {} nodes\n", kind.first, op, kind.second);
  for (const Json& p : placement.at("passes"))
    text += fmt::format("  {}: {} rewrite{}\n", text_of(p, "name"), p.at("changes").dump(),
                        p.at("changes") == 1 ? "" : "s");
  return text;
}

int explain(const ExplainChoices& c) {
  const Engine engine(c.load.verbose);
  c.providers.register_plugins(engine);
  c.load.check_dimensions(engine);
  std::vector<std::string> order = c.order.empty() ? c.providers.all(engine) : split_list(c.order, ',');
  if (order.empty()) bad_usage("--providers {}: it is to be given as A,B,...", c.order);
  for (std::string& name : order) name = c.providers.full_name(engine, name, "--providers " + c.order);
  SessionOptions options = c.load.options();
  options.config("session.record_ep_graph_assignment_info", "1");
  c.providers.append(engine, order, options);
  if (!c.load.verbose)
    check(ort().SetSessionLogSeverityLevel(options.get(), ORT_LOGGING_LEVEL_ERROR));  // the summary is printed below
  const LoadedModel model(engine, c.load.model, options);
  Json placement = parse_json(model.placement_json(), "the engine's report");
  std::string text = one_line(text_of(placement, "summary")) + "\n" + nodes_text(placement.at("nodes"), c.all) +
                     refusals_text(placement.at("nodes")) + regions_text(placement) + crossings_text(placement, c.all) +
                     cost_text(placement) + engines_text(placement) + fusions_text(placement) + hints_text(placement);
  if (!c.html.empty()) {
    write_file(c.html, explain_page(c.load.model, placement));
    text += fmt::format("written to {}\n", c.html);
  }
  if (c.json == "-") {
    text = json_text(placement) + "\n";
  } else if (!c.json.empty()) {
    write_file(c.json, json_text(placement) + "\n");
    text += fmt::format("written to {}\n", c.json);
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kOk;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  CLI::App& verb = *app.add_subcommand("explain", "Shows which provider runs each node, and why");
  const auto c = std::make_shared<ExplainChoices>();
  c->load.add_model(verb);
  c->load.add_rewrites(verb);
  verb.add_option("--providers", c->order, "Providers in order of preference")->type_name("A,B,...");
  c->providers.add_options(verb);
  verb.add_option("--html", c->html, "Write the graph and the table as a page")->type_name("FILE");
  const CLI::Option* json = verb.add_option("--json", c->json, "Print everything as JSON, or write it to a file")
                                ->expected(0, 1)
                                ->type_name("[FILE]");
  verb.add_flag("--all", c->all, "Show every node on a line of its own");
  verb.footer(kFooter);
  verb.callback([c, json, &action] {
    if (json->count() && c->json.empty()) c->json = "-";
    action = [c] { return explain(*c); };
  });
}

}  // namespace trunnion::cli
