// Walks of decision trees from the root to a leaf, many rows or many trees at once.
//
// A tree is a run of nodes in two parallel arrays, the root first. A node compares x[feature] with its threshold:
// larger goes to its second child, everything else to its first; both children stand side by side. A NaN in x goes to
// the second child where the node's flag says so. A leaf has a NaN as threshold and itself as first child: a walk that
// took too many steps stays there. Such a node with another first child is a jump. Nodes stand breadth first; both
// arrays must be readable for kTreePadding entries behind the last tree.
#pragma once
#include <cstddef>
#include <cstdint>

namespace trunnion::kernels {

// What a node has besides its threshold, packed: bits of the feature, the flag, then the first child (its position in
// the tree).
template <class Link>
inline constexpr int kTreeFeatureBits = sizeof(Link) == 4 ? 15 : 31;

template <class Link>
constexpr Link tree_link(uint64_t feature, bool nan_second, uint64_t child) {
  constexpr int kBits = kTreeFeatureBits<Link>;
  return static_cast<Link>(feature | static_cast<uint64_t>(nan_second) << kBits | child << (kBits + 1));
}

inline constexpr int kTreePadding = 32;

template <class T, class Link>
struct TreeWalk {
  // slot[r] = the node where row r of x ends in one tree, after `steps` steps.
  void (*rows)(const T* threshold, const Link* link, const T* x, int64_t stride, int64_t rows, int steps, bool has_nan,
               uint32_t* slot);
  // slot[t] = the node (counted from the arrays' begin) where one row ends in tree t, whose root is at first[t].
  void (*trees)(const T* threshold, const Link* link, const uint32_t* first, int64_t trees, const T* x, int steps,
                bool has_nan, uint32_t* slot);
};

// T is float or double, Link uint32_t or uint64_t. has_nan must be true if any x that is looked at may be NaN.
template <class T, class Link>
const TreeWalk<T, Link>& tree_walk();

// Whether any of n values is NaN.
bool any_nan(const float* x, int64_t n);
bool any_nan(const double* x, int64_t n);

}  // namespace trunnion::kernels
