// From the attributes of tree ensembles to the arrays that tree_detail.cc walks.
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/hash.h"
#include "base/large_pages.h"
#include "kernels/convert.h"
#include "ops/dispatch.h"
#include "ops/ml/tree_detail.h"

namespace trunnion::ops {
namespace {

constexpr int64_t kMaxNodes = int64_t{1} << 30;

Result<TreeMode> mode_of(std::string_view name) {
  constexpr std::string_view kNames[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                         "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i] == name && kNames[i] != "BRANCH_MEMBER") return static_cast<TreeMode>(i);
  return invalid_argument("attribute nodes_modes has an entry '{}'", name);
}

// Elements of a numeric tensor as doubles.
Result<std::vector<double>> doubles(const Tensor& t) {
  std::vector<double> out(static_cast<size_t>(t.count()));
  const auto fn = kernels::convert(elem(t.dtype()), kernels::Elem::f64);
  if (!fn) return not_implemented("an attribute of type {}", dtype_name(t.dtype()));
  fn(t.raw(), out.data(), out.size(), {});
  return out;
}

Status same_size(size_t have, size_t want, const char* name) {
  if (have == want) return {};
  return invalid_argument("attribute {} has {} entries, {} are expected", name, have, want);
}

// The list of an attribute, which the node keeps; empty when it is left out.
template <class List>
const List& list_of(const ir::Node& n, std::string_view name) {
  static const List kNone;
  const ir::Attr* a = n.find_attr(name);
  const List* list = a ? a->get<List>() : nullptr;
  return list ? *list : kNone;
}
const ir::Attr::Ints& ints_of(const ir::Node& n, std::string_view name) { return list_of<ir::Attr::Ints>(n, name); }

Result<int32_t> feature_of(int64_t feature) {
  if (feature < 0 || feature > INT32_MAX) return invalid_argument("a node looks at feature {}", feature);
  return static_cast<int32_t>(feature);
}

Status same_votes(size_t count) {
  if (count <= static_cast<size_t>(kMaxNodes)) return {};
  return invalid_argument("{} votes of leaves are too many", count);
}

// Where node (tree, id) stands. Ids of a tree usually count up from some number, tree after tree.
class NodeIndex {
 public:
  NodeIndex(const std::vector<int64_t>& trees, const std::vector<int64_t>& ids) : trees_(trees), ids_(ids) {
    bool sorted = true;
    for (size_t i = 1; i < ids.size() && sorted; ++i)
      sorted = trees[i - 1] != trees[i] ? trees[i - 1] < trees[i] : ids[i - 1] <= ids[i];
    if (sorted) return;
    order_.resize(ids.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
      return trees_[a] != trees_[b] ? trees_[a] < trees_[b] : ids_[a] != ids_[b] ? ids_[a] < ids_[b] : a < b;
    });
  }
  // -1 when there is none.
  int64_t find(int64_t tree, int64_t id, size_t near) const {
    // Ids without gaps: as far from `near` as the ids are.
    if (near < ids_.size() && trees_[near] == tree) {
      const size_t guess = near + (static_cast<size_t>(id) - static_cast<size_t>(ids_[near]));  // may wrap
      if (guess < ids_.size() && matches(guess, tree, id)) return static_cast<int64_t>(guess);
    }
    size_t low = 0, high = ids_.size();
    while (low < high) {
      const size_t middle = (low + high) / 2, i = at(middle);
      const bool before = trees_[i] != tree ? trees_[i] < tree : ids_[i] < id;
      (before ? low : high) = before ? middle + 1 : middle;
    }
    return low < ids_.size() && matches(at(low), tree, id) ? static_cast<int64_t>(at(low)) : -1;
  }
  bool has_duplicates() const {
    for (size_t i = 1; i < ids_.size(); ++i)
      if (matches(at(i), trees_[at(i - 1)], ids_[at(i - 1)])) return true;
    return false;
  }

 private:
  size_t at(size_t i) const { return order_.empty() ? i : order_[i]; }
  bool matches(size_t i, int64_t tree, int64_t id) const { return trees_[i] == tree && ids_[i] == id; }
  const std::vector<int64_t>&trees_, &ids_;
  std::vector<size_t> order_;  // empty: sorted as they are
};

// Where the arrays of an image begin, and behind the last one its end.
struct ImageLayout {
  uint64_t begin[9];
  uint64_t size = 0;
};

template <class Header>
Result<ImageLayout> layout_of(const Header& h, size_t value, size_t vote) {
  const uint64_t counts[] = {h.slots, h.slots, h.trees, h.trees, h.values, h.leaves, h.vote_begins, h.votes};
  const uint64_t sizes[] = {value, h.narrow ? uint64_t{4} : uint64_t{8}, 4, 4, value, 4, 4, vote};
  ImageLayout out;
  uint64_t at = (sizeof(Header) + 63) / 64 * 64;
  for (int i = 0; i < 8; ++i) {
    if (counts[i] > static_cast<uint64_t>(kMaxNodes) * 4)
      return error(Code::fail, "trees with a list of {} entries", counts[i]);
    out.begin[i] = at;
    at += (counts[i] * sizes[i] + 63) / 64 * 64;
  }
  out.begin[8] = out.size = at;
  return out;
}

// The largest T that is <= v (below: < v). NaN when there is none.
template <class T>
T at_most(double v) {
  const T t = static_cast<T>(v);
  return static_cast<double>(t) > v ? std::nextafter(t, -std::numeric_limits<T>::infinity()) : t;
}
template <class T>
T below(double v) {
  const T t = at_most<T>(v);
  if (static_cast<double>(t) < v || std::isnan(t)) return t;
  if (t == -std::numeric_limits<T>::infinity()) return std::numeric_limits<T>::quiet_NaN();
  return std::nextafter(t, -std::numeric_limits<T>::infinity());
}

}  // namespace

Result<std::vector<double>> read_tree_values(const ir::Node& n, const std::string& name) {
  if (const Tensor* t = n.tensor_attr(name + "_as_tensor"); t && t->count() > 0) return doubles(*t);
  const auto& floats = list_of<ir::Attr::Floats>(n, name);
  return std::vector<double>(floats.begin(), floats.end());
}

Result<TreeSpec> read_trees(const ir::Node& n, const std::string& votes) {
  TreeSpec s;
  const auto &trees = ints_of(n, "nodes_treeids"), &ids = ints_of(n, "nodes_nodeids"),
             &features = ints_of(n, "nodes_featureids"), &yes = ints_of(n, "nodes_truenodeids"),
             &no = ints_of(n, "nodes_falsenodeids"), &missing = ints_of(n, "nodes_missing_value_tracks_true");
  const auto& modes = list_of<ir::Attr::Strings>(n, "nodes_modes");
  TRN_ASSIGN(const auto values, read_tree_values(n, "nodes_values"));
  const size_t count = ids.size();
  if (static_cast<int64_t>(count) > kMaxNodes) return invalid_argument("{} tree nodes are too many", count);
  TRN_TRY(same_size(trees.size(), count, "nodes_treeids"));
  TRN_TRY(same_size(features.size(), count, "nodes_featureids"));
  TRN_TRY(same_size(yes.size(), count, "nodes_truenodeids"));
  TRN_TRY(same_size(no.size(), count, "nodes_falsenodeids"));
  TRN_TRY(same_size(modes.size(), count, "nodes_modes"));
  TRN_TRY(same_size(values.size(), count, "nodes_values"));
  if (!missing.empty()) TRN_TRY(same_size(missing.size(), count, "nodes_missing_value_tracks_true"));
  const NodeIndex index(trees, ids);
  if (index.has_duplicates()) return invalid_argument("attributes nodes_treeids and nodes_nodeids name one node twice");
  reserve_by_large_pages(s.nodes, count);
  std::vector<uint8_t> is_child(count, 0);
  std::string_view last = "LEAF";  // modes mostly repeat: most forests have two
  TreeMode last_mode = TreeMode::leaf;
  for (size_t i = 0; i < count; ++i) {
    TreeSpec::Node& node = s.nodes.emplace_back();
    if (modes[i] == "LEAF") continue;
    if (modes[i] != last) {
      TRN_ASSIGN(last_mode, mode_of(modes[i]));
      last = modes[i];
    }
    node.mode = last_mode;
    TRN_ASSIGN(node.feature, feature_of(features[i]));
    node.value = values[i];
    node.missing_true = !missing.empty() && missing[i] != 0;
    node.yes = static_cast<int32_t>(index.find(trees[i], yes[i], i));
    node.no = static_cast<int32_t>(index.find(trees[i], no[i], i));
    if (node.yes < 0 || node.no < 0)
      return invalid_argument("node {} of tree {} has the children {} and {}: one of them is no node of this tree",
                              ids[i], trees[i], yes[i], no[i]);
    is_child[static_cast<size_t>(node.yes)] = is_child[static_cast<size_t>(node.no)] = 1;
  }
  // The root of each tree, in the order in which the trees come; every tree must have exactly one.
  for (size_t i = 0; i < count; ++i)
    if (!is_child[i]) s.roots.push_back(static_cast<int64_t>(i));
  std::vector<int64_t> seen;
  for (int64_t r : s.roots) seen.push_back(trees[static_cast<size_t>(r)]);
  std::sort(seen.begin(), seen.end());
  if (std::adjacent_find(seen.begin(), seen.end()) != seen.end())
    return invalid_argument("a tree has two nodes that are no node's child: there must be one root");
  for (size_t i = 0; i < count; ++i)
    if ((i == 0 || trees[i] != trees[i - 1]) && !std::binary_search(seen.begin(), seen.end(), trees[i]))
      return invalid_argument("tree {} has no root: every node of it is the child of another", trees[i]);

  const auto &vote_trees = ints_of(n, votes + "_treeids"), &vote_ids = ints_of(n, votes + "_nodeids"),
             &vote_targets = ints_of(n, votes + "_ids");
  TRN_ASSIGN(const auto weights, read_tree_values(n, votes + "_weights"));
  TRN_TRY(same_votes(vote_ids.size()));
  TRN_TRY(same_size(vote_trees.size(), vote_ids.size(), (votes + "_treeids").c_str()));
  TRN_TRY(same_size(vote_targets.size(), vote_ids.size(), (votes + "_ids").c_str()));
  TRN_TRY(same_size(weights.size(), vote_ids.size(), (votes + "_weights").c_str()));
  // Votes by leaf, in their order: count, then place.
  std::vector<int32_t> owner(vote_ids.size());
  for (size_t v = 0, near = 0; v < owner.size(); ++v) {
    owner[v] = static_cast<int32_t>(index.find(vote_trees[v], vote_ids[v], near));
    if (owner[v] < 0)
      return invalid_argument("{}_nodeids names node {} of tree {}, which does not exist", votes, vote_ids[v],
                              vote_trees[v]);
    near = static_cast<size_t>(owner[v]);
    ++s.nodes[near].end;
  }
  int32_t at = 0;
  for (TreeSpec::Node& node : s.nodes) {
    const int32_t n_votes = node.end;
    node.begin = node.end = at;
    at += n_votes;
  }
  s.votes.resize(owner.size());
  for (size_t v = 0; v < owner.size(); ++v)
    s.votes[static_cast<size_t>(s.nodes[static_cast<size_t>(owner[v])].end++)] = {vote_targets[v], weights[v]};
  return s;
}

Result<TreeSpec> read_tree_ensemble(const ir::Node& n) {
  TreeSpec s;
  const auto &features = ints_of(n, "nodes_featureids"), &yes = ints_of(n, "nodes_truenodeids"),
             &no = ints_of(n, "nodes_falsenodeids"), &yes_leaf = ints_of(n, "nodes_trueleafs"),
             &no_leaf = ints_of(n, "nodes_falseleafs"), &missing = ints_of(n, "nodes_missing_value_tracks_true"),
             &targets = ints_of(n, "leaf_targetids");
  const Tensor *modes = n.tensor_attr("nodes_modes"), *splits = n.tensor_attr("nodes_splits"),
               *leaf_weights = n.tensor_attr("leaf_weights"), *members = n.tensor_attr("membership_values");
  if (!modes || !splits || !leaf_weights)
    return invalid_argument("attributes nodes_modes, nodes_splits and leaf_weights are required");
  if (modes->dtype() != DType::u8)
    return invalid_argument("attribute nodes_modes has type {}, it must be uint8", dtype_name(modes->dtype()));
  TRN_ASSIGN(const auto values, doubles(*splits));
  TRN_ASSIGN(const auto weights, doubles(*leaf_weights));
  if (members) {
    TRN_ASSIGN(s.members, doubles(*members));
    TRN_TRY(same_votes(s.members.size()));
  }
  const size_t count = features.size(), leaves = targets.size();
  if (static_cast<int64_t>(count + leaves) > kMaxNodes)
    return invalid_argument("{} tree nodes are too many", count + leaves);
  TRN_TRY(same_size(yes.size(), count, "nodes_truenodeids"));
  TRN_TRY(same_size(no.size(), count, "nodes_falsenodeids"));
  TRN_TRY(same_size(yes_leaf.size(), count, "nodes_trueleafs"));
  TRN_TRY(same_size(no_leaf.size(), count, "nodes_falseleafs"));
  TRN_TRY(same_size(static_cast<size_t>(modes->count()), count, "nodes_modes"));
  TRN_TRY(same_size(values.size(), count, "nodes_splits"));
  TRN_TRY(same_size(weights.size(), leaves, "leaf_weights"));
  if (!missing.empty()) TRN_TRY(same_size(missing.size(), count, "nodes_missing_value_tracks_true"));
  // Leaves stand behind the inner nodes.
  s.nodes.resize(count + leaves);
  size_t member = 0;
  for (size_t i = 0; i < count; ++i) {
    TreeSpec::Node& node = s.nodes[i];
    const uint8_t mode = modes->data<uint8_t>()[i];
    if (mode >= static_cast<uint8_t>(TreeMode::leaf))
      return invalid_argument("attribute nodes_modes has an entry {}", mode);
    node.mode = static_cast<TreeMode>(mode);
    TRN_ASSIGN(node.feature, feature_of(features[i]));
    node.value = values[i];
    node.missing_true = !missing.empty() && missing[i] != 0;
    const auto child = [&](int64_t id, bool leaf) -> Result<int32_t> {
      if (id < 0 || id >= static_cast<int64_t>(leaf ? leaves : count))
        return invalid_argument("node {} has the {} {} as child, there are {}", i, leaf ? "leaf" : "node", id,
                                leaf ? leaves : count);
      return static_cast<int32_t>(leaf ? static_cast<int64_t>(count) + id : id);
    };
    TRN_ASSIGN(node.yes, child(yes[i], yes_leaf[i] != 0));
    TRN_ASSIGN(node.no, child(no[i], no_leaf[i] != 0));
    if (node.mode != TreeMode::member) continue;
    if (member >= s.members.size())
      return invalid_argument("attribute membership_values has fewer sets than there are nodes that need one");
    node.begin = static_cast<int32_t>(member);
    while (member < s.members.size() && !std::isnan(s.members[member])) ++member;
    node.end = static_cast<int32_t>(member);
    ++member;  // the NaN behind a set; the last set may go without
  }
  for (size_t i = 0; i < leaves; ++i) {
    s.nodes[count + i].begin = static_cast<int32_t>(i);
    s.nodes[count + i].end = static_cast<int32_t>(i) + 1;
    s.votes.push_back({targets[i], weights[i]});
  }
  for (int64_t r : n.ints("tree_roots")) {
    if (r < 0 || r >= static_cast<int64_t>(count))
      return invalid_argument("attribute tree_roots has an entry {}, there are {} nodes", r, count);
    s.roots.push_back(r);
  }
  s.targets = n.attr("n_targets", 1);
  const int64_t aggregate = n.attr("aggregate_function", 1);
  if (aggregate < 0 || aggregate > 3)
    return invalid_argument("attribute aggregate_function is {}, expected 0 to 3", aggregate);
  s.aggregate = static_cast<TreeAggregate>(aggregate);
  return s;
}

std::span<const std::string_view> tree_lists() {
  static constexpr std::string_view kLists[] = {
      "nodes_treeids",     "nodes_nodeids",      "nodes_featureids",
      "nodes_truenodeids", "nodes_falsenodeids", "nodes_missing_value_tracks_true",
      "nodes_modes",       "nodes_values",       "nodes_hitrates",
      "target_treeids",    "target_nodeids",     "target_ids",
      "target_weights",    "class_treeids",      "class_nodeids",
      "class_ids",         "class_weights",      "nodes_trueleafs",
      "nodes_falseleafs",  "leaf_targetids",     "tree_roots"};
  return kLists;
}

TreeNotes notes_of(const TreeSpec& spec) {
  TreeNotes notes;
  notes.all_positive = std::all_of(spec.votes.begin(), spec.votes.end(), [](const auto& v) { return v.weight >= 0; });
  if (spec.votes.empty()) return notes;
  const int64_t first = spec.votes[0].target;
  if (first >= 0 && first <= INT32_MAX &&
      std::all_of(spec.votes.begin(), spec.votes.end(), [&](const auto& v) { return v.target == first; }))
    notes.only_target = static_cast<int32_t>(first);
  return notes;
}

// What an image begins with. The arrays follow in the order of the counts, each at a multiple of 64.
template <class T>
struct TreeEngine<T>::Header {
  static constexpr uint64_t kMark = 0x31736565'72746e72u + sizeof(T);
  uint64_t mark = kMark;
  Hash128 hash{};  // of all behind it
  int64_t targets = 1, max_feature = -1;
  uint64_t slots = 0, trees = 0, values = 0, leaves = 0, vote_begins = 0, votes = 0;
  int32_t only_target = -1;
  TreeAggregate aggregate = TreeAggregate::sum;
  uint8_t narrow = 0, single = 0, all_positive = 0;
  static constexpr size_t kHashed = 24;  // where what is hashed begins
};

// Turns every node into comparisons x > threshold, then lays each tree out breadth first.
template <class T>
class TreeEngine<T>::Builder {
 public:
  explicit Builder(const TreeSpec& spec) : spec_(spec) {}

  Result<Tensor> build() {
    static_assert(offsetof(Header, targets) == Header::kHashed);
    h_.targets = spec_.targets;
    h_.aggregate = spec_.aggregate;
    const TreeNotes notes = notes_of(spec_);
    h_.only_target = notes.only_target;
    h_.all_positive = notes.all_positive;
    if (spec_.targets < 1 || spec_.targets > (1 << 20)) return invalid_argument("there are {} targets", spec_.targets);
    h_.single = spec_.targets == 1;
    for (const TreeSpec::Vote& v : spec_.votes)
      if (v.target < 0 || v.target >= spec_.targets)
        return invalid_argument("a leaf votes for target {}, there are {}", v.target, spec_.targets);
    reserve_by_large_pages(entry_, spec_.nodes.size());
    entry_.assign(spec_.nodes.size(), kNone);
    size_t inner = 0;
    for (const TreeSpec::Node& n : spec_.nodes) inner += n.mode != TreeMode::leaf;
    reserve_by_large_pages(splits_, inner);
    for (size_t i = 0; i < spec_.nodes.size(); ++i) TRN_TRY(split(static_cast<int64_t>(i)));
    place_.assign(splits_.size(), UINT32_MAX);
    const size_t slots = spec_.roots.size() + 2 * splits_.size() + kernels::kTreePadding;
    reserve_by_large_pages(threshold_, slots);
    reserve_by_large_pages(links_, slots);
    reserve_by_large_pages(leaf_, slots);
    leaves_.reserve(spec_.nodes.size() - inner);
    int64_t largest = 0;
    for (int64_t root : spec_.roots) {
      const size_t first = threshold_.size();
      TRN_TRY(lay_out(entry_[static_cast<size_t>(root)]));
      largest = std::max(largest, static_cast<int64_t>(threshold_.size() - first));
    }
    // Votes by leaf.
    std::vector<Vote> votes;
    std::vector<uint32_t> vote_begin;
    std::vector<T> value;
    votes.reserve(spec_.votes.size());
    vote_begin.reserve(leaves_.size() + 1);
    vote_begin.push_back(0);
    for (int64_t leaf : leaves_) {
      const TreeSpec::Node& node = spec_.nodes[static_cast<size_t>(leaf)];
      for (int64_t v = node.begin; v < node.end; ++v) {
        const TreeSpec::Vote& vote = spec_.votes[static_cast<size_t>(v)];
        Vote& to = votes.emplace_back();
        std::memset(static_cast<void*>(&to), 0, sizeof to);  // what lies between the two is written to files too
        to.target = static_cast<int32_t>(vote.target);
        to.weight = static_cast<T>(vote.weight);
      }
      vote_begin.push_back(static_cast<uint32_t>(votes.size()));
      if (node.end - node.begin != 1) h_.single = 0;
    }
    if (h_.single) {
      value.resize(leaf_.size());
      for (size_t i = 0; i < leaf_.size(); ++i)
        value[i] = votes.empty() || leaf_[i] == UINT32_MAX ? T{0} : votes[leaf_[i]].weight;
      votes.clear();
      vote_begin.clear();
      leaf_.clear();
    } else {
      for (uint32_t& l : leaf_) l = l == UINT32_MAX ? 0 : l;
    }
    h_.narrow = largest <= 65536 && h_.max_feature < (1 << kernels::kTreeFeatureBits<uint32_t>);
    threshold_.resize(threshold_.size() + kernels::kTreePadding);
    h_.slots = threshold_.size();
    h_.trees = first_.size();
    h_.values = value.size();
    h_.leaves = leaf_.size();
    h_.vote_begins = vote_begin.size();
    h_.votes = votes.size();
    TRN_ASSIGN(const ImageLayout at, layout_of(h_, sizeof(T), sizeof(Vote)));
    const int64_t dims[] = {static_cast<int64_t>(at.size)};
    TRN_ASSIGN(Tensor image, Tensor::allocate(DType::u8, dims));
    auto* const to = image.data<std::byte>();
    const auto put = [&](int part, const auto& list) {
      std::byte* begin = to + at.begin[part];
      const size_t bytes = list.size() * sizeof(list[0]), room = at.begin[part + 1] - at.begin[part];
      if (bytes > 0) std::memcpy(begin, list.data(), bytes);
      std::memset(begin + bytes, 0, room - bytes);
    };
    const auto put_links = [&]<class Link>(Link) {
      auto* links = reinterpret_cast<Link*>(to + at.begin[1]);
      for (const Slot& s : links_) *links++ = kernels::tree_link<Link>(s.feature, s.nan_second, s.child);
      std::memset(links, 0, static_cast<size_t>(to + at.begin[2] - reinterpret_cast<std::byte*>(links)));
    };
    put(0, threshold_);
    h_.narrow ? put_links(uint32_t{}) : put_links(uint64_t{});
    put(2, first_);
    put(3, steps_);
    put(4, value);
    put(5, leaf_);
    put(6, vote_begin);
    put(7, votes);
    std::memset(to, 0, at.begin[0]);
    std::memcpy(to, &h_, sizeof h_);
    h_.hash = hash128(std::span<const std::byte>(to, at.size).subspan(Header::kHashed));
    std::memcpy(to, &h_, sizeof h_);
    return image;
  }

 private:
  static constexpr int64_t kNone = INT64_MIN;
  // x[feature] > threshold goes to `no`. References: >= 0 a split, < 0 the leaf ~reference (a node of the spec).
  // A jump (NaN threshold, yes == no) goes to `yes` always.
  struct Split {
    T threshold;
    uint32_t feature;
    bool nan_no;
    int64_t yes, no;  // nodes of the spec or splits, see Ref
    bool yes_is_node, no_is_node;
  };
  struct Slot {
    uint32_t feature, child;
    bool nan_second;
  };
  // What a child is before all nodes have their splits.
  struct Ref {
    int64_t id;
    bool is_node;
  };

  int64_t add(T threshold, int64_t feature, bool nan_no, Ref yes, Ref no) {
    splits_.push_back({threshold, static_cast<uint32_t>(feature), nan_no, yes.id, no.id, yes.is_node, no.is_node});
    return static_cast<int64_t>(splits_.size()) - 1;
  }

  // x <= t ? yes : no for numbers; NaN to yes or no as it says. t NaN: no number is below.
  int64_t at_most_split(T t, int64_t feature, bool nan_yes, Ref yes, Ref no) {
    constexpr T kInf = std::numeric_limits<T>::infinity();
    if (!std::isnan(t)) return add(t, feature, !nan_yes, yes, no);
    if (!nan_yes) return add(t, feature, false, no, no);
    // NaN alone goes to yes: everything else is <= infinity.
    return add(kInf, feature, true, no, yes);
  }

  Status split(int64_t i) {
    const TreeSpec::Node& n = spec_.nodes[static_cast<size_t>(i)];
    int64_t& entry = entry_[static_cast<size_t>(i)];
    if (n.mode == TreeMode::leaf) {
      entry = ~i;
      return {};
    }
    h_.max_feature = std::max<int64_t>(h_.max_feature, n.feature);
    const Ref yes{n.yes, true}, no{n.no, true};
    switch (n.mode) {
      case TreeMode::leq:
        entry = at_most_split(at_most<T>(n.value), n.feature, n.missing_true, yes, no);
        break;
      case TreeMode::lt:
        entry = at_most_split(below<T>(n.value), n.feature, n.missing_true, yes, no);
        break;
      case TreeMode::gt:  // not <=
        entry = std::isnan(n.value) ? at_most_split(static_cast<T>(n.value), n.feature, n.missing_true, yes, no)
                                    : at_most_split(at_most<T>(n.value), n.feature, !n.missing_true, no, yes);
        break;
      case TreeMode::gte:  // not <
        entry = std::isnan(n.value) ? at_most_split(static_cast<T>(n.value), n.feature, n.missing_true, yes, no)
                                    : at_most_split(below<T>(n.value), n.feature, !n.missing_true, no, yes);
        break;
      case TreeMode::eq:
        entry = equal_split(n.value, n.feature, n.missing_true, yes, no);
        break;
      case TreeMode::neq:  // NaN is unequal to everything
        entry = equal_split(n.value, n.feature, false, no, yes);
        break;
      default: {
        Ref rest = no;
        if (n.begin == n.end) rest = {equal_split(std::nan(""), n.feature, n.missing_true, yes, no), false};
        for (int64_t m = n.begin; m < n.end; ++m)
          rest = {equal_split(spec_.members[static_cast<size_t>(m)], n.feature, n.missing_true, yes, rest), false};
        entry = rest.id;
      }
    }
    return {};
  }

  int64_t equal_split(double v, int64_t feature, bool nan_yes, Ref yes, Ref no) {
    if (std::isnan(v)) return at_most_split(static_cast<T>(v), feature, nan_yes, yes, no);
    // x <= v ? (x < v ? no : yes) : no
    const int64_t inner = at_most_split(below<T>(v), feature, false, no, yes);
    return at_most_split(at_most<T>(v), feature, nan_yes, {inner, false}, no);
  }

  int64_t resolve(int64_t id, bool is_node) const { return is_node ? entry_[static_cast<size_t>(id)] : id; }

  Status lay_out(int64_t root) {
    const auto first = static_cast<uint32_t>(threshold_.size());
    if (threshold_.size() > static_cast<size_t>(kMaxNodes)) return invalid_argument("the trees have too many nodes");
    first_.push_back(first);
    constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
    std::vector<std::pair<int64_t, uint32_t>> queue{{root, 0}};  // reference, slot
    std::vector<uint32_t> used;                                  // splits that this tree has placed
    const auto grow = [&](size_t n) {
      threshold_.resize(threshold_.size() + n, kNan);
      links_.resize(threshold_.size());
      leaf_.resize(threshold_.size(), UINT32_MAX);
    };
    grow(1);
    for (size_t q = 0; q < queue.size(); ++q) {
      const auto [ref, slot] = queue[q];
      Slot& link = links_[first + slot];
      if (ref < 0) {
        link = {0, slot, false};
        leaf_[first + slot] = static_cast<uint32_t>(leaves_.size());
        leaves_.push_back(~ref);
        continue;
      }
      const auto s = static_cast<size_t>(ref);
      if (place_[s] != UINT32_MAX) {  // reached on another way too: jump there
        link = {0, place_[s], false};
        continue;
      }
      place_[s] = slot;
      used.push_back(static_cast<uint32_t>(s));
      const Split& split = splits_[s];
      const auto child = static_cast<uint32_t>(threshold_.size() - first);
      if (child > static_cast<uint32_t>(INT32_MAX) - 2) return invalid_argument("a tree has too many nodes");
      threshold_[first + slot] = split.threshold;
      link = {split.feature, child, split.nan_no};
      grow(2);
      queue.push_back({resolve(split.yes, split.yes_is_node), child});
      queue.push_back({resolve(split.no, split.no_is_node), child + 1});
    }
    for (uint32_t s : used) place_[s] = UINT32_MAX;
    return count_steps(first);
  }

  // The longest way from the tree's root to a leaf; an error when some way leads in a circle.
  Status count_steps(uint32_t first) {
    const auto size = static_cast<uint32_t>(threshold_.size()) - first;
    std::vector<int> depth(size, -1);  // -1: not seen, -2: on the way
    std::vector<uint32_t> stack{0};
    while (!stack.empty()) {
      const uint32_t k = stack.back();
      const Slot& s = links_[first + k];
      const bool jump = std::isnan(threshold_[first + k]);
      if (jump && s.child == k) {
        depth[k] = 0;
        stack.pop_back();
        continue;
      }
      const int children = jump ? 1 : 2;
      bool ready = true;
      int deepest = 0;
      for (int c = 0; c < children; ++c) {
        const uint32_t to = s.child + static_cast<uint32_t>(c);
        if (depth[to] == -2 || to == k) return invalid_argument("the nodes of a tree lead in a circle");
        if (depth[to] < 0) {
          ready = false;
          stack.push_back(to);
        } else {
          deepest = std::max(deepest, depth[to] + 1);
        }
      }
      if (ready) {
        depth[k] = deepest;
        stack.pop_back();
      } else {
        depth[k] = -2;
      }
    }
    steps_.push_back(depth[0]);
    return {};
  }

  const TreeSpec& spec_;
  Header h_;
  std::vector<uint32_t> first_;
  std::vector<int32_t> steps_;
  std::vector<Split> splits_;
  std::vector<int64_t> entry_;   // of each node of the spec: a split, or ~node for a leaf
  std::vector<uint32_t> place_;  // of each split in the current tree
  std::vector<T> threshold_;
  std::vector<Slot> links_;
  std::vector<uint32_t> leaf_;
  std::vector<int64_t> leaves_;
};

template <class T>
Result<Tensor> TreeEngine<T>::image_of(const TreeSpec& spec) {
  return Builder(spec).build();
}

template <class T>
Result<TreeEngine<T>> TreeEngine<T>::open(Tensor image) {
  const auto wrong = [] { return error(Code::fail, "the image of the trees is not whole"); };
  Header h;
  const std::span all(image.data<const std::byte>(), image.bytes());
  if (all.size() < sizeof h) return wrong();
  std::memcpy(&h, all.data(), sizeof h);
  if (h.mark != Header::kMark) return wrong();
  const auto layout = layout_of(h, sizeof(T), sizeof(Vote));
  if (!layout.ok() || layout->size != all.size() || h.hash != hash128(all.subspan(Header::kHashed))) return wrong();
  TreeEngine e;
  const auto list = [&]<class X>(std::span<const X>& to, int part, uint64_t count) {
    to = {reinterpret_cast<const X*>(all.data() + layout->begin[part]), static_cast<size_t>(count)};
  };
  e.targets_ = h.targets;
  e.max_feature_ = h.max_feature;
  e.aggregate_ = h.aggregate;
  e.narrow_ = h.narrow != 0;
  e.single_ = h.single != 0;
  e.notes_ = {h.all_positive != 0, h.only_target};
  if (e.narrow_) {
    list(e.small_.threshold, 0, h.slots);
    list(e.small_.link, 1, h.slots);
  } else {
    list(e.large_.threshold, 0, h.slots);
    list(e.large_.link, 1, h.slots);
  }
  list(e.first_, 2, h.trees);
  list(e.steps_, 3, h.trees);
  list(e.value_, 4, h.values);
  list(e.leaf_, 5, h.leaves);
  list(e.vote_begin_, 6, h.vote_begins);
  list(e.votes_, 7, h.votes);
  e.image_ = std::move(image);
  return e;
}

template Result<Tensor> TreeEngine<float>::image_of(const TreeSpec&);
template Result<Tensor> TreeEngine<double>::image_of(const TreeSpec&);
template Result<TreeEngine<float>> TreeEngine<float>::open(Tensor);
template Result<TreeEngine<double>> TreeEngine<double>::open(Tensor);

}  // namespace trunnion::ops
