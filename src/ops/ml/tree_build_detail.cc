// From the attributes of tree ensembles to the arrays that tree_detail.cc walks.
#include <cmath>
#include <limits>

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

// Where node (tree, id) stands. Ids of a tree usually count up from some number, tree after tree.
class NodeIndex {
 public:
  NodeIndex(const std::vector<int64_t>& trees, const std::vector<int64_t>& ids) {
    entries_.reserve(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) entries_.push_back({trees[i], ids[i], static_cast<int64_t>(i)});
    if (!std::is_sorted(entries_.begin(), entries_.end(), before)) std::sort(entries_.begin(), entries_.end(), before);
  }
  // -1 when there is none.
  int64_t find(int64_t tree, int64_t id, size_t near) const {
    // Ids without gaps: as far from `near` as the ids are.
    if (near < entries_.size() && entries_[near].tree == tree) {
      const size_t guess = near + (static_cast<size_t>(id) - static_cast<size_t>(entries_[near].id));  // may wrap
      if (guess < entries_.size() && matches(guess, tree, id)) return entries_[guess].at;
    }
    const auto it = std::lower_bound(entries_.begin(), entries_.end(), Entry{tree, id, 0}, before);
    return it != entries_.end() && it->tree == tree && it->id == id ? it->at : -1;
  }
  bool has_duplicates() const {
    for (size_t i = 1; i < entries_.size(); ++i)
      if (matches(i, entries_[i - 1].tree, entries_[i - 1].id)) return true;
    return false;
  }

 private:
  struct Entry {
    int64_t tree, id, at;
  };
  static bool before(const Entry& a, const Entry& b) { return a.tree != b.tree ? a.tree < b.tree : a.id < b.id; }
  bool matches(size_t i, int64_t tree, int64_t id) const { return entries_[i].tree == tree && entries_[i].id == id; }
  std::vector<Entry> entries_;
};

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
  const auto floats = n.floats(name);
  return std::vector<double>(floats.begin(), floats.end());
}

Result<TreeSpec> read_trees(const ir::Node& n, const std::string& votes) {
  TreeSpec s;
  const auto trees = n.ints("nodes_treeids"), ids = n.ints("nodes_nodeids"), features = n.ints("nodes_featureids"),
             yes = n.ints("nodes_truenodeids"), no = n.ints("nodes_falsenodeids"),
             missing = n.ints("nodes_missing_value_tracks_true");
  const auto modes = n.strings("nodes_modes");
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
  s.nodes.resize(count);
  std::vector<uint8_t> is_child(count, 0);
  for (size_t i = 0; i < count; ++i) {
    TreeSpec::Node& node = s.nodes[i];
    TRN_ASSIGN(node.mode, mode_of(modes[i]));
    node.feature = features[i];
    node.value = values[i];
    node.missing_true = !missing.empty() && missing[i] != 0;
    if (node.mode == TreeMode::leaf) continue;
    node.yes = index.find(trees[i], yes[i], i);
    node.no = index.find(trees[i], no[i], i);
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

  const auto vote_trees = n.ints(votes + "_treeids"), vote_ids = n.ints(votes + "_nodeids"),
             vote_targets = n.ints(votes + "_ids");
  TRN_ASSIGN(const auto weights, read_tree_values(n, votes + "_weights"));
  TRN_TRY(same_size(vote_trees.size(), vote_ids.size(), (votes + "_treeids").c_str()));
  TRN_TRY(same_size(vote_targets.size(), vote_ids.size(), (votes + "_ids").c_str()));
  TRN_TRY(same_size(weights.size(), vote_ids.size(), (votes + "_weights").c_str()));
  // Votes by leaf, in their order: count, then place.
  std::vector<int64_t> owner(vote_ids.size());
  for (size_t v = 0, near = 0; v < owner.size(); ++v) {
    owner[v] = index.find(vote_trees[v], vote_ids[v], near);
    if (owner[v] < 0)
      return invalid_argument("{}_nodeids names node {} of tree {}, which does not exist", votes, vote_ids[v],
                              vote_trees[v]);
    near = static_cast<size_t>(owner[v]);
    ++s.nodes[near].end;
  }
  int64_t at = 0;
  for (TreeSpec::Node& node : s.nodes) {
    const int64_t n_votes = node.end;
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
  const auto features = n.ints("nodes_featureids"), yes = n.ints("nodes_truenodeids"),
             no = n.ints("nodes_falsenodeids"), yes_leaf = n.ints("nodes_trueleafs"),
             no_leaf = n.ints("nodes_falseleafs"), missing = n.ints("nodes_missing_value_tracks_true"),
             targets = n.ints("leaf_targetids");
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
    node.feature = features[i];
    node.value = values[i];
    node.missing_true = !missing.empty() && missing[i] != 0;
    const auto child = [&](int64_t id, bool leaf) -> Result<int64_t> {
      if (id < 0 || id >= static_cast<int64_t>(leaf ? leaves : count))
        return invalid_argument("node {} has the {} {} as child, there are {}", i, leaf ? "leaf" : "node", id,
                                leaf ? leaves : count);
      return leaf ? static_cast<int64_t>(count) + id : id;
    };
    TRN_ASSIGN(node.yes, child(yes[i], yes_leaf[i] != 0));
    TRN_ASSIGN(node.no, child(no[i], no_leaf[i] != 0));
    if (node.mode != TreeMode::member) continue;
    if (member >= s.members.size())
      return invalid_argument("attribute membership_values has fewer sets than there are nodes that need one");
    node.begin = static_cast<int64_t>(member);
    while (member < s.members.size() && !std::isnan(s.members[member])) ++member;
    node.end = static_cast<int64_t>(member);
    ++member;  // the NaN behind a set; the last set may go without
  }
  for (size_t i = 0; i < leaves; ++i) {
    s.nodes[count + i].begin = static_cast<int64_t>(i);
    s.nodes[count + i].end = static_cast<int64_t>(i) + 1;
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

// Turns every node into comparisons x > threshold, then lays each tree out breadth first.
template <class T>
class TreeEngine<T>::Builder {
 public:
  Builder(const TreeSpec& spec, TreeEngine& engine) : spec_(spec), e_(engine) {}

  Status build() {
    e_.targets_ = spec_.targets;
    e_.aggregate_ = spec_.aggregate;
    if (spec_.targets < 1 || spec_.targets > (1 << 20)) return invalid_argument("there are {} targets", spec_.targets);
    e_.single_ = spec_.targets == 1;
    for (const TreeSpec::Vote& v : spec_.votes)
      if (v.target < 0 || v.target >= spec_.targets)
        return invalid_argument("a leaf votes for target {}, there are {}", v.target, spec_.targets);
    entry_.assign(spec_.nodes.size(), kNone);
    for (size_t i = 0; i < spec_.nodes.size(); ++i) TRN_TRY(split(static_cast<int64_t>(i)));
    place_.assign(splits_.size(), UINT32_MAX);
    int64_t largest = 0;
    for (int64_t root : spec_.roots) {
      const size_t first = threshold_.size();
      TRN_TRY(lay_out(entry_[static_cast<size_t>(root)]));
      largest = std::max(largest, static_cast<int64_t>(threshold_.size() - first));
    }
    // Votes by leaf.
    e_.vote_begin_.push_back(0);
    for (int64_t leaf : leaves_) {
      const TreeSpec::Node& node = spec_.nodes[static_cast<size_t>(leaf)];
      for (int64_t v = node.begin; v < node.end; ++v) {
        const TreeSpec::Vote& vote = spec_.votes[static_cast<size_t>(v)];
        e_.votes_.push_back({static_cast<int32_t>(vote.target), static_cast<T>(vote.weight)});
      }
      e_.vote_begin_.push_back(static_cast<uint32_t>(e_.votes_.size()));
      if (node.end - node.begin != 1) e_.single_ = false;
    }
    if (e_.single_) {
      e_.value_.resize(leaf_.size());
      for (size_t i = 0; i < leaf_.size(); ++i)
        e_.value_[i] = e_.votes_.empty() || leaf_[i] == UINT32_MAX ? T{0} : e_.votes_[leaf_[i]].weight;
      e_.votes_.clear();
      e_.vote_begin_.clear();
    } else {
      for (uint32_t& l : leaf_) l = l == UINT32_MAX ? 0 : l;
      e_.leaf_ = std::move(leaf_);
    }
    e_.narrow_ = largest <= 65536 && e_.max_feature_ < (1 << kernels::kTreeFeatureBits<uint32_t>);
    const auto fill = [&](auto& forest) {
      using Link = typename std::remove_reference_t<decltype(forest)>::Type;
      forest.threshold = std::move(threshold_);
      forest.threshold.resize(forest.threshold.size() + kernels::kTreePadding);
      forest.link.reserve(forest.threshold.size());
      for (const Slot& s : links_) forest.link.push_back(kernels::tree_link<Link>(s.feature, s.nan_second, s.child));
      forest.link.resize(forest.threshold.size());
    };
    if (e_.narrow_)
      fill(e_.small_);
    else
      fill(e_.large_);
    return {};
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
    if (n.feature < 0 || n.feature > INT32_MAX) return invalid_argument("a node looks at feature {}", n.feature);
    e_.max_feature_ = std::max(e_.max_feature_, n.feature);
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
    e_.first_.push_back(first);
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
    e_.steps_.push_back(depth[0]);
    return {};
  }

  const TreeSpec& spec_;
  TreeEngine& e_;
  std::vector<Split> splits_;
  std::vector<int64_t> entry_;   // of each node of the spec: a split, or ~node for a leaf
  std::vector<uint32_t> place_;  // of each split in the current tree
  std::vector<T> threshold_;
  std::vector<Slot> links_;
  std::vector<uint32_t> leaf_;
  std::vector<int64_t> leaves_;
};

template <class T>
Result<TreeEngine<T>> TreeEngine<T>::make(const TreeSpec& spec) {
  TreeEngine e;
  TRN_TRY(Builder(spec, e).build());
  return e;
}

template Result<TreeEngine<float>> TreeEngine<float>::make(const TreeSpec&);
template Result<TreeEngine<double>> TreeEngine<double>::make(const TreeSpec&);

}  // namespace trunnion::ops
