#include "ops/shape.h"

#include <algorithm>

#include "base/error.h"

namespace trunnion::ops {

Result<int> normalize_axis(int64_t axis, int64_t rank, const char* what) {
  if (axis < -rank || axis >= rank)
    return invalid_argument("{} {} is out of range for rank {}: expected a value in [{}, {}]", what, axis, rank, -rank,
                            rank - 1);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Result<std::vector<int>> normalize_axes(std::span<const int64_t> axes, int64_t rank, const char* what) {
  std::vector<int> out;
  for (int64_t a : axes) {
    TRN_ASSIGN(const int axis, normalize_axis(a, rank, what));
    out.push_back(axis);
  }
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end())
    return invalid_argument("{} [{}] name an axis twice", what, fmt::join(axes, ","));
  return out;
}

namespace {

// y is x or 1 whenever shapes with the two at one axis broadcast: it is at most the symbol x, and 1 where that is 1.
bool is_bounded_by(const Dim& y, const Dim& x) {
  if (!x.symbol_name() || y.is_int() || !(dim_max(x, y) == x)) return false;
  const auto at_one = y.evaluate(
      [&](std::string_view name) { return name == *x.symbol_name() ? std::optional<int64_t>(1) : std::nullopt; });
  return at_one == 1;
}

}  // namespace

Result<SymShape> broadcast_shapes(const SymShape& a, const SymShape& b) {
  const size_t rank = std::max(a.size(), b.size());
  SymShape out(rank);
  for (size_t i = 0; i < rank; ++i) {
    const Dim x = i < rank - a.size() ? Dim(1) : a[i - (rank - a.size())];
    const Dim y = i < rank - b.size() ? Dim(1) : b[i - (rank - b.size())];
    if (x == y || y.is_int(1))
      out[i] = x;
    else if (x.is_int(1))
      out[i] = y;
    else if (x.is_int() && y.is_int())
      return invalid_argument("shapes {} and {} cannot be broadcast together: {} against {} at axis {} from the right",
                              shape_text(a), shape_text(b), x.value(), y.value(), rank - 1 - i);
    else if (x.is_int())
      out[i] = x;
    else if (y.is_int())
      out[i] = y;
    else if (is_bounded_by(y, x))
      out[i] = x;
    else if (is_bounded_by(x, y))
      out[i] = y;
  }
  return out;
}

Result<Shape> broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i < rank - a.size() ? 1 : a[i - (rank - a.size())];
    const int64_t y = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    if (x != y && x != 1 && y != 1)
      return invalid_argument("shapes {} and {} cannot be broadcast together", shape_text(a), shape_text(b));
    out.push_back(x == 1 ? y : x);
  }
  return out;
}

Status infer_broadcast(ir::Facts& f, DType out) {
  std::optional<SymShape> shape = SymShape{};
  for (int i = 0; i < f.inputs() && shape; ++i) {
    if (!f.has(i)) continue;
    if (!f.in(i).has_rank()) {
      shape.reset();
    } else {
      TRN_ASSIGN(shape, broadcast_shapes(*shape, f.in(i).shape()));
    }
  }
  f.set(0, out, std::move(shape));
  return {};
}

Status infer_same(const ir::Node&, ir::Facts& f) {
  if (f.has(0)) f.out(0) = f.in(0);
  return {};
}

Status expect_rank(const ir::Facts& f, int i, int rank) {
  if (f.has_rank(i) && f.in(i).rank() != rank)
    return invalid_argument("input {} has rank {} (shape {}), needs {}", i, f.in(i).rank(), shape_text(f.in(i).shape()),
                            rank);
  return {};
}

Status expect_types(const ir::Facts& f, int i, DTypes types) {
  if (f.has(i) && f.dtype(i) != DType::undefined && !types.has(f.dtype(i)))
    return invalid_argument("input {} has type {}, which is not accepted", i, f.in(i).type.text());
  return {};
}

int64_t product(std::span<const int64_t> dims, int begin, int end) {
  int64_t n = 1;
  for (int i = begin; i < end; ++i) n *= dims[i];
  return n;
}

Shape row_major_strides(std::span<const int64_t> dims) {
  Shape strides(dims);
  int64_t s = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = s;
    s *= dims[i];
  }
  return strides;
}

SymShape to_symbolic(std::span<const int64_t> dims) { return SymShape(dims.begin(), dims.end()); }

}  // namespace trunnion::ops
