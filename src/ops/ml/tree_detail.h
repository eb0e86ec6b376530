// Tree ensembles: from the attributes of TreeEnsemble, TreeEnsembleRegressor and TreeEnsembleClassifier to flat arrays,
// and their evaluation over kernels/tree_walk.h. Start at TreeSpec (what the attributes say) and TreeEngine.
#pragma once
#include <span>

#include "kernels/tree_walk.h"
#include "ops/ml/scores_detail.h"
#include "ops/packing.h"

namespace trunnion::ops {

enum class TreeMode : uint8_t { leq, lt, gte, gt, eq, neq, member, leaf };
enum class TreeAggregate : uint8_t { average, sum, min, max };

struct TreeSpec {
  // Small: there are half a million in a middling forest.
  struct Node {
    double value = 0;
    int32_t feature = 0;         // of a leaf: 0
    int32_t yes = -1, no = -1;   // nodes
    int32_t begin = 0, end = 0;  // leaf: its votes; member: the values
    TreeMode mode = TreeMode::leaf;
    bool missing_true = false;  // NaN goes to `yes`
  };
  struct Vote {
    int64_t target;
    double weight;
  };
  std::vector<Node> nodes;
  std::vector<Vote> votes;
  std::vector<double> members;
  std::vector<int64_t> roots;
  int64_t targets = 1;
  TreeAggregate aggregate = TreeAggregate::sum;
};

// Attributes of TreeEnsembleRegressor (votes: "target") and TreeEnsembleClassifier ("class"); targets are not set.
Result<TreeSpec> read_trees(const ir::Node& n, const std::string& votes);
// Attributes of TreeEnsemble.
Result<TreeSpec> read_tree_ensemble(const ir::Node& n);
// "name", or "name_as_tensor".
Result<std::vector<double>> read_tree_values(const ir::Node& n, const std::string& name);

// The lists of TreeEnsembleRegressor, TreeEnsembleClassifier and TreeEnsemble that nothing but read_trees and
// read_tree_ensemble looks at.
std::span<const std::string_view> tree_lists();

// What classifiers want to know of the votes.
struct TreeNotes {
  bool all_positive = false;
  int32_t only_target = -1;  // all votes are for this one
};
TreeNotes notes_of(const TreeSpec& spec);

// T: float or double, the type in which values are compared and summed. All that it reads is one image of bytes, which
// may lie in a file.
template <class T>
class TreeEngine {
 public:
  static Result<Tensor> image_of(const TreeSpec& spec);
  static Result<TreeEngine> open(Tensor image);  // an error when it is none, or not whole
  const TreeNotes& notes() const { return notes_; }

  // The error when a node looks at a feature that x does not have.
  Status check(int64_t columns) const;

  // finish(row, count, scores, voted): scores [count, targets] of these rows, aggregated over the trees; voted (the
  // same shape) tells which targets got any vote, and is null when every one did. On any thread; scores may be changed.
  using Finish = FunctionRef<void(int64_t row, int64_t count, T* scores, const uint8_t* voted)>;
  void run(KernelContext& ctx, const T* x, int64_t rows, int64_t columns, Finish finish) const;

 private:
  template <class Link>
  struct Forest {
    std::span<const T> threshold;
    std::span<const Link> link;
  };
  struct Vote {
    int32_t target;
    T weight;
  };
  struct Header;
  class Builder;

  void run_few(KernelContext& ctx, const T* x, int64_t rows, int64_t columns, int64_t steps, Finish finish) const;
  template <class Link>
  void walk_trees(const Forest<Link>& f, const T* x, bool has_nan, int64_t tree, int64_t n, uint32_t* slot) const;
  void run_rows(const T* x, int64_t rows, int64_t columns, Finish finish, int64_t row) const;
  template <class Link>
  void walk(const Forest<Link>& f, const T* x, int64_t rows, int64_t columns, T* scores, uint8_t* voted) const;
  template <class Slots>
  void add(Slots&& slot, int64_t rows, T* scores, uint8_t* voted) const;

  TreeAggregate aggregate_ = TreeAggregate::sum;
  int64_t targets_ = 1, max_feature_ = -1;
  bool narrow_ = false;
  Forest<uint32_t> small_;
  Forest<uint64_t> large_;
  std::span<const uint32_t> first_;       // of each tree
  std::span<const int32_t> steps_;        // of each tree
  bool single_ = false;                   // one target, and every leaf has one vote:
  std::span<const T> value_;              //   by node
  std::span<const uint32_t> leaf_;        // else by node: which leaf
  std::span<const uint32_t> vote_begin_;  // by leaf, and one more
  std::span<const Vote> votes_;
  TreeNotes notes_;
  Tensor image_;
};

}  // namespace trunnion::ops
