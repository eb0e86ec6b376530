#include "bisect.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "failure.h"
#include "npy.h"

namespace trunnion::cli {
namespace {

Feed feed_of(const std::string& name, const Array& array) {
  Feed feed{name, fmt::format("tensor({})", element_facts(array.type).name), "", array.shape, {array}, {}, {}};
  feed.value = to_value(feed.arrays[0]);
  return feed;
}

void write_values(const std::string& path, const std::vector<Result>& results, std::vector<std::string>& notes) {
  Entries entries;
  for (const Result& r : results) add_entries(r, r.name, entries, notes);
  write_file(path, write_npz(entries));
}

}  // namespace

Difference Bisection::differ(const Result& a, const Result& b) const {
  return compare(a, b, std::max(reference_.spec().rounding, candidate_.spec().rounding), tolerance_);
}

void Bisection::read_nodes() {
  const Json list = parse_json(model_nodes_json(engine_, load_.model, load_.options()), "the engine's report");
  for (const Json& n : list) {
    Node& node = nodes_.emplace_back();
    node.label = n.at("label").get<std::string>();
    node.inputs = n.at("inputs").get<std::vector<std::string>>();
    for (const Json& out : n.at("outputs"))
      if (out.at("type").get<std::string>().starts_with("tensor("))
        node.outputs.push_back(out.at("name").get<std::string>());
  }
}

std::map<std::string, Result> Bisection::inner_values(const SpecRunner& runner, const std::vector<std::string>& names,
                                                      const std::vector<Feed>& feeds) {
  const std::string path = work_.file("inner.onnx");
  extract_model(engine_, load_.model, load_.options(), {}, names, path);
  std::map<std::string, Result> values;
  for (Result& r : runner.run(path, feeds)) {
    const std::string name = r.name;
    values.emplace(name, std::move(r));
  }
  return values;
}

bool Bisection::node_differs(size_t k, const std::map<std::string, Result>& candidate, Finding& finding) const {
  for (const std::string& name : nodes_[k].outputs) {
    const auto a = values_.find(name), b = candidate.find(name);
    if (a == values_.end() || b == candidate.end()) continue;
    Difference d = differ(a->second, b->second);
    if (d.why.empty()) continue;
    finding.node = nodes_[k].label;
    finding.place = k + 1;
    finding.value = name;
    finding.difference = std::move(d);
    return true;
  }
  return false;
}

std::optional<size_t> Bisection::first_difference(const std::map<std::string, Result>& candidate,
                                                  Finding& finding) const {
  for (size_t k = 0; k < nodes_.size(); ++k)
    if (node_differs(k, candidate, finding)) return k;
  return std::nullopt;
}

// With every inner value as an output nothing can be fused, and what only a fusion does wrong is gone: one value is
// asked for at a time, beside the outputs of the model.
std::optional<size_t> Bisection::search(const std::vector<Feed>& feeds, Finding& finding) {
  std::vector<std::string> outputs;
  {
    const LoadedModel model(engine_, load_.model, load_.options());
    for (const Port& port : model.outputs()) outputs.push_back(port.name);
  }
  const auto differs = [&](size_t k, Finding& at) {
    if (nodes_[k].outputs.empty()) return false;
    std::vector<std::string> names = outputs;
    for (const std::string& name : nodes_[k].outputs)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    return node_differs(k, inner_values(candidate_, names, feeds), at);
  };
  // The first difference lies in (below, above]; a difference is taken to stay in what follows.
  size_t below = 0, above = nodes_.size();
  std::optional<size_t> found;
  while (below < above) {
    const size_t k = below + (above - below) / 2;
    Finding at = finding;
    if (differs(k, at)) {
      found = above = k;
      finding = std::move(at);
    } else {
      below = k + 1;
    }
  }
  return found;
}

const Array* Bisection::array_of(const std::string& value, const std::vector<Feed>& feeds) const {
  for (const Feed& feed : feeds)
    if (feed.name == value) return feed.arrays.size() == 1 ? &feed.arrays[0] : nullptr;
  const auto it = values_.find(value);
  return it != values_.end() && it->second.kind == ONNX_TYPE_TENSOR && !it->second.empty ? &it->second.array : nullptr;
}

bool Bisection::part_differs(size_t last, size_t count, const std::vector<Feed>& feeds, Finding& finding, bool save) {
  std::set<std::string> made;
  std::vector<std::string> inputs;
  for (size_t k = last + 1 - count; k <= last; ++k) {
    for (const std::string& name : nodes_[k].inputs)
      if (!made.contains(name) && std::ranges::find(inputs, name) == inputs.end()) inputs.push_back(name);
    made.insert(nodes_[k].outputs.begin(), nodes_[k].outputs.end());
  }
  const std::string path = work_.file("part.onnx");
  std::vector<Result> expected, got;
  std::vector<Feed> part_feeds;
  try {
    extract_model(engine_, load_.model, load_.options(), inputs, nodes_[last].outputs, path);
    {
      const LoadedModel part(engine_, path, parts_.options());
      for (const Port& port : part.inputs()) {
        const Array* array = array_of(port.name, feeds);
        if (!array) return false;
        part_feeds.push_back(feed_of(port.name, *array));
      }
    }
    expected = reference_.run(path, part_feeds);
    got = candidate_.run(path, part_feeds);
  } catch (const Error& error) {
    finding.notes.push_back(fmt::format("a part of {} nodes cannot be run: {}", count, error.what()));
    return false;
  }
  for (size_t i = 0; i < expected.size() && i < got.size(); ++i) {
    Difference d = differ(expected[i], got[i]);
    if (d.why.empty()) continue;
    finding.part_nodes = count;
    finding.part_difference = std::move(d);
    if (!save) return true;
    std::error_code error;
    std::filesystem::create_directories(finding.folder, error);
    if (error) unusable("cannot make the folder {}: {}", finding.folder, error.message());
    std::filesystem::copy_file(path, finding.folder + "/model.onnx", std::filesystem::copy_options::overwrite_existing,
                               error);
    if (error) unusable("cannot write {}/model.onnx: {}", finding.folder, error.message());
    Entries entries;
    for (const Feed& feed : part_feeds) {
      const DataType type = feed.arrays[0].type;
      if (numpy_type(type) != type)
        finding.notes.push_back(fmt::format("input '{}' is stored as {}: numpy has no {}", feed.name,
                                            element_facts(numpy_type(type)).name, element_facts(type).name));
      entries.emplace_back(feed.name, write_npy(feed.arrays[0]));
    }
    write_file(finding.folder + "/inputs.npz", write_npz(entries));
    write_values(finding.folder + "/expected.npz", expected, finding.notes);
    write_values(finding.folder + "/got.npz", got, finding.notes);
    finding.files = {"model.onnx", "inputs.npz", "expected.npz", "got.npz"};
    return true;
  }
  return false;
}

std::optional<Finding> Bisection::find(const std::vector<Feed>& feeds, const std::string& folder) {
  read_nodes();
  Finding finding;
  finding.nodes = nodes_.size();
  finding.folder = folder;
  std::vector<std::string> names;
  for (const Node& n : nodes_) names.insert(names.end(), n.outputs.begin(), n.outputs.end());
  if (names.empty()) return std::nullopt;
  values_ = inner_values(reference_, names, feeds);
  std::optional<size_t> at;
  try {
    at = first_difference(inner_values(candidate_, names, feeds), finding);
  } catch (const Error& error) {
    finding.notes.push_back(fmt::format("with all inner values as outputs the candidate fails: {}", error.what()));
  }
  if (!at) {
    finding.notes.emplace_back(
        "with all inner values as outputs nothing differs, so that some fusion does: values were asked for one by one");
    at = search(feeds, finding);
  }
  if (!at) return std::nullopt;
  // The part grows backwards until it differs, then shrinks again as far as it still does.
  size_t good = 0, bad = 0;
  for (size_t count = 1; !bad; count = std::min(count * 2, *at + 1)) {
    if (part_differs(*at, count, feeds, finding, false))
      bad = count;
    else
      good = count;
    if (count == *at + 1) break;
  }
  while (bad && bad - good > 1) {
    const size_t count = good + (bad - good) / 2;
    (part_differs(*at, count, feeds, finding, false) ? bad : good) = count;
  }
  if (bad) part_differs(*at, bad, feeds, finding, true);
  return finding;
}

}  // namespace trunnion::cli
