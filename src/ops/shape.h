// What infer functions and kernels share about shapes: axes, broadcasting, element counts.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "ir/fact.h"
#include "ir/graph.h"

namespace trunnion::ops {

// axis in [-rank, rank) -> [0, rank); else an error that names the axis and the rank.
Result<int> normalize_axis(int64_t axis, int64_t rank, const char* what = "axis");

// Axes of a reduction or squeeze: normalised, sorted, duplicates refused.
Result<std::vector<int>> normalize_axes(std::span<const int64_t> axes, int64_t rank, const char* what = "axes");

// Numpy broadcasting of symbolic shapes; an error names both shapes. A symbol against 1 gives the symbol, a symbol
// against an integer > 1 gives the integer, two different symbols give unknown.
Result<SymShape> broadcast_shapes(const SymShape& a, const SymShape& b);
// Of concrete ones.
Result<Shape> broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b);

// Output of an element-wise operator over all present inputs: dtype given, shape by broadcasting (unknown if any is).
Status infer_broadcast(ir::Facts& f, DType out);

// out(0) = in(0): type and shape (content too).
Status infer_same(const ir::Node&, ir::Facts& f);

// Refuses when input i's rank is known and different: "input 1 has rank 3, needs 4".
Status expect_rank(const ir::Facts& f, int i, int rank);
// Refuses when input i's element type is not in the set.
Status expect_types(const ir::Facts& f, int i, DTypes types);

// Product of dims[begin, end).
int64_t product(std::span<const int64_t> dims, int begin, int end);
inline int64_t product(std::span<const int64_t> dims) { return product(dims, 0, static_cast<int>(dims.size())); }

// Row-major strides in elements.
Shape row_major_strides(std::span<const int64_t> dims);

// A shape of n unknown dimensions.
inline SymShape unknown_shape(int rank) { return SymShape(static_cast<size_t>(rank)); }
SymShape to_symbolic(std::span<const int64_t> dims);

}  // namespace trunnion::ops
