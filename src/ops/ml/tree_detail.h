// Tree ensembles: from the attributes of TreeEnsemble, TreeEnsembleRegressor and TreeEnsembleClassifier to flat arrays,
// and their evaluation over kernels/tree_walk.h. Start at TreeSpec (what the attributes say) and TreeEngine.
#pragma once
#include "kernels/tree_walk.h"
#include "ops/ml/scores_detail.h"

namespace trunnion::ops {

enum class TreeMode : uint8_t { leq, lt, gte, gt, eq, neq, member, leaf };
enum class TreeAggregate : uint8_t { average, sum, min, max };

struct TreeSpec {
  struct Node {
    TreeMode mode = TreeMode::leaf;
    bool missing_true = false;  // NaN goes to `yes`
    int64_t feature = 0;
    double value = 0;
    int64_t yes = -1, no = -1;   // nodes
    int64_t begin = 0, end = 0;  // leaf: its votes; member: the values
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

// T: float or double, the type in which values are compared and summed.
template <class T>
class TreeEngine {
 public:
  static Result<TreeEngine> make(const TreeSpec& spec);

  // The error when a node looks at a feature that x does not have.
  Status check(int64_t columns) const;

  // finish(row, count, scores, voted): scores [count, targets] of these rows, aggregated over the trees; voted (the
  // same shape) tells which targets got any vote, and is null when every one did. On any thread; scores may be changed.
  using Finish = FunctionRef<void(int64_t row, int64_t count, T* scores, const uint8_t* voted)>;
  void run(KernelContext& ctx, const T* x, int64_t rows, int64_t columns, Finish finish) const;

 private:
  template <class Link>
  struct Forest {
    using Type = Link;
    std::vector<T> threshold;
    std::vector<Link> link;
  };
  struct Vote {
    int32_t target;
    T weight;
  };
  class Builder;

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
  std::vector<uint32_t> first_;       // of each tree
  std::vector<int> steps_;            // of each tree
  bool single_ = false;               // one target, and every leaf has one vote:
  std::vector<T> value_;              //   by node
  std::vector<uint32_t> leaf_;        // else by node: which leaf
  std::vector<uint32_t> vote_begin_;  // by leaf, and one more
  std::vector<Vote> votes_;
};

}  // namespace trunnion::ops
