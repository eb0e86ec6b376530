// Evaluation of flattened trees. tree_build_detail.cc makes them.
#include "ops/ml/tree_detail.h"

#include <algorithm>

namespace trunnion::ops {
namespace {

constexpr int64_t kRows = 256;        // rows that walk one tree before the next, at most
constexpr int64_t kLanes = 8;         // rows that walk together at least
constexpr int64_t kFewRows = 5;       // fewer than these walk many trees at once instead
constexpr int64_t kBytes = 24 << 10;  // of x that walk one tree before the next: what stays in the cache
constexpr int64_t kTreesAtOnce = 64;
constexpr int64_t kSharedSteps = 2500;  // of one row, about 3 ns each: from so many on, threads share its trees
constexpr int64_t kOnStack = 1024;      // scores
constexpr int64_t kSlots = 8192;        // trees whose ends are kept on the stack

}  // namespace

template <class T>
Status TreeEngine<T>::check(int64_t columns) const {
  if (max_feature_ < columns) return {};
  return invalid_argument("input 0 has {} features, but the trees look at feature {}", columns, max_feature_);
}

template <class T>
void TreeEngine<T>::run(KernelContext& ctx, const T* x, int64_t rows, int64_t columns, Finish finish) const {
  int64_t steps = 1;
  for (int s : steps_) steps += s;
  const bool few = rows < kFewRows && targets_ <= kOnStack && static_cast<int64_t>(first_.size()) <= kSlots;
  if (few && ctx.threads() > 1 && steps > kSharedSteps) return run_few(ctx, x, rows, columns, steps, finish);
  // About 2 ns for a step of a row; pieces of 20 us at least, and enough of them for all threads.
  const int64_t least = std::max<int64_t>(kLanes, 10'000 / steps), share = (rows + ctx.threads() - 1) / ctx.threads();
  const int64_t piece = std::clamp<int64_t>((share + 15) / 16 * 16, least, std::max(least, kRows));
  ctx.parallel_for((rows + piece - 1) / piece, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t row = p * piece;
      run_rows(x + row * columns, std::min(piece, rows - row), columns, finish, row);
    }
  });
}

// Row by row: threads find where a row ends in their trees, and then the trees are added in their order.
template <class T>
void TreeEngine<T>::run_few(KernelContext& ctx, const T* x, int64_t rows, int64_t columns, int64_t steps,
                            Finish finish) const {
  uint32_t slot[kSlots];
  T scores[kOnStack];
  uint8_t voted[kOnStack];
  const auto trees = static_cast<int64_t>(first_.size());
  const int64_t groups = (trees + kTreesAtOnce - 1) / kTreesAtOnce;
  const int64_t grain = std::max<int64_t>(1, kSharedSteps / 2 * groups / steps);
  const auto ends = [&](const auto& forest, const T* from) {
    const bool has_nan = kernels::any_nan(from, columns);
    ctx.parallel_for(groups, grain, [&](int64_t begin, int64_t end) {
      const int64_t last = std::min(end * kTreesAtOnce, trees);
      for (int64_t t = begin * kTreesAtOnce; t < last; t += kTreesAtOnce)
        walk_trees(forest, from, has_nan, t, std::min(kTreesAtOnce, last - t), slot + t);
    });
  };
  for (int64_t r = 0; r < rows; ++r) {
    std::fill_n(scores, targets_, T{0});
    std::fill_n(voted, targets_, uint8_t{0});
    narrow_ ? ends(small_, x + r * columns) : ends(large_, x + r * columns);
    for (int64_t t = 0; t < trees; ++t) add([&](int64_t) { return slot[t]; }, 1, scores, voted);
    if (aggregate_ == TreeAggregate::average)
      for (int64_t i = 0; i < targets_; ++i) scores[i] /= static_cast<T>(trees);
    finish(r, 1, scores, single_ ? nullptr : voted);
  }
}

template <class T>
template <class Link>
void TreeEngine<T>::walk_trees(const Forest<Link>& f, const T* x, bool has_nan, int64_t tree, int64_t n,
                               uint32_t* slot) const {
  const int steps = *std::max_element(steps_.begin() + tree, steps_.begin() + tree + n);
  kernels::tree_walk<T, Link>().trees(f.threshold.data(), f.link.data(), first_.data() + tree, n, x, steps, has_nan,
                                      slot);
}

template <class T>
void TreeEngine<T>::run_rows(const T* x, int64_t rows, int64_t columns, Finish finish, int64_t row) const {
  T few[kOnStack];
  uint8_t few_voted[kOnStack];
  std::vector<T> many;
  std::vector<uint8_t> many_voted;
  const int64_t step =
      std::clamp<int64_t>(kBytes / (columns * static_cast<int64_t>(sizeof(T)) + 1) / 64 * 64, 64, kRows);
  for (int64_t begin = 0; begin < rows; begin += step) {
    const int64_t n = std::min(step, rows - begin), size = n * targets_;
    T* scores = few;
    uint8_t* voted = few_voted;
    if (size > kOnStack) {
      many.resize(static_cast<size_t>(size));
      many_voted.resize(static_cast<size_t>(size));
      scores = many.data();
      voted = many_voted.data();
    }
    std::fill_n(scores, size, T{0});
    std::fill_n(voted, size, uint8_t{0});
    const T* from = x + begin * columns;
    narrow_ ? walk(small_, from, n, columns, scores, voted) : walk(large_, from, n, columns, scores, voted);
    if (aggregate_ == TreeAggregate::average)
      for (int64_t i = 0; i < size; ++i) scores[i] /= static_cast<T>(first_.size());
    finish(row + begin, n, scores, single_ ? nullptr : voted);
  }
}

template <class T>
template <class Link>
void TreeEngine<T>::walk(const Forest<Link>& f, const T* x, int64_t rows, int64_t columns, T* scores,
                         uint8_t* voted) const {
  const kernels::TreeWalk<T, Link>& kernel = kernels::tree_walk<T, Link>();
  const bool has_nan = kernels::any_nan(x, rows * columns);
  const auto trees = static_cast<int64_t>(first_.size());
  uint32_t slot[std::max(kRows, kTreesAtOnce)];
  const int64_t rest = rows % kLanes, block = rest < kFewRows ? rows - rest : rows;  // the others go one by one
  if (block > 0) {
    for (int64_t t = 0; t < trees; ++t) {
      const uint32_t first = first_[static_cast<size_t>(t)];
      kernel.rows(f.threshold.data() + first, f.link.data() + first, x, columns, block, steps_[static_cast<size_t>(t)],
                  has_nan, slot);
      add([&](int64_t r) { return first + slot[r]; }, block, scores, voted);
    }
  }
  for (int64_t r = block; r < rows; ++r) {
    for (int64_t t = 0; t < trees; t += kTreesAtOnce) {
      const int64_t n = std::min(kTreesAtOnce, trees - t);
      walk_trees(f, x + r * columns, has_nan, t, n, slot);
      for (int64_t i = 0; i < n; ++i)
        add([&](int64_t) { return slot[i]; }, 1, scores + r * targets_, voted + r * targets_);
    }
  }
}

template <class T>
template <class Slots>
void TreeEngine<T>::add(Slots&& slot, int64_t rows, T* scores, uint8_t* voted) const {
  const bool sum = aggregate_ == TreeAggregate::sum || aggregate_ == TreeAggregate::average;
  if (single_ && sum) {
    for (int64_t r = 0; r < rows; ++r) scores[r] += value_[slot(r)];
    return;
  }
  const auto vote = [&](T weight, T& score, uint8_t& has) {
    if (sum)
      score += weight;
    else if (!has || (aggregate_ == TreeAggregate::min ? weight < score : weight > score))
      score = weight;
    has = 1;
  };
  if (single_) {
    for (int64_t r = 0; r < rows; ++r) vote(value_[slot(r)], scores[r], voted[r]);
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    const uint32_t leaf = leaf_[slot(r)];
    for (uint32_t v = vote_begin_[leaf]; v < vote_begin_[leaf + 1]; ++v) {
      const int64_t at = r * targets_ + votes_[v].target;
      vote(votes_[v].weight, scores[at], voted[at]);
    }
  }
}

// What tree_build_detail.cc instantiates.
template Status TreeEngine<float>::check(int64_t) const;
template Status TreeEngine<double>::check(int64_t) const;
template void TreeEngine<float>::run(KernelContext&, const float*, int64_t, int64_t, Finish) const;
template void TreeEngine<double>::run(KernelContext&, const double*, int64_t, int64_t, Finish) const;

}  // namespace trunnion::ops
