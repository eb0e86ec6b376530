// Reshape (ai.onnx 1 ... 25): the same elements under another shape; the shape is an attribute in version 1.
#include <algorithm>

#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

struct Params {
  std::optional<std::vector<int64_t>> shape;  // version 1
  bool allow_zero;                            // 0 means a size of 0, not "as in the input"
};
Params read(const ir::Node& n) {
  if (n.since() < 5) return {n.ints("shape"), false};
  return {std::nullopt, n.attr("allowzero", 0) != 0};
}

// Takes the factors that both products share out of them.
void cancel(SymShape& a, SymShape& b) {
  for (size_t i = 0; i < b.size();) {
    const auto it = std::find(a.begin(), a.end(), b[i]);
    if (it == a.end() || b[i].is_int(0)) {
      ++i;
      continue;
    }
    a.erase(it);
    b.erase(b.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// The output's shape for the wanted one, in which 0 and -1 have their meanings.
Result<SymShape> resolve(const ir::Fact& in, const SymShape& wanted, bool allow_zero) {
  SymShape out = wanted;
  SymShape given, rest;  // sizes of the input and of the output that do not correspond by position
  if (in.has_rank()) given = in.shape();
  std::vector<bool> kept(given.size());
  int open = -1;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].is_int()) {
      rest.push_back(out[i]);
    } else if (out[i].value() == -1) {
      if (open >= 0) return invalid_argument("shape {} has more than one -1", shape_text(wanted));
      open = static_cast<int>(i);
    } else if (out[i].value() < 0) {
      return invalid_argument("shape {} has a negative size", shape_text(wanted));
    } else if (out[i].value() == 0 && !allow_zero) {
      if (in.has_rank() && i >= given.size())
        return invalid_argument("shape {} has 0 at axis {}, which the input of shape {} lacks", shape_text(wanted), i,
                                shape_text(given));
      out[i] = in.has_rank() ? given[i] : Dim();
      if (in.has_rank()) kept[i] = true;
    } else {
      rest.push_back(out[i]);
    }
  }
  if (!in.has_rank()) {
    if (open >= 0) out[open] = Dim();
    return out;
  }
  SymShape from;
  for (size_t i = 0; i < given.size(); ++i)
    if (!kept[i]) from.push_back(given[i]);
  cancel(from, rest);
  const Dim left = element_count(from), right = element_count(rest);
  const auto mismatch = [&] {
    return invalid_argument(
        "The input tensor cannot be reshaped to the requested shape. Input shape:{}, requested shape:{}",
        shape_text(given), shape_text(wanted));
  };
  if (open < 0) {
    if (left.is_int() && right.is_int() && !(left == right)) {
      // A size that was kept by position may be 0, and then both have no elements.
      if (!element_count(out).is_int(0) || !element_count(given).is_int(0)) return mismatch();
    }
    return out;
  }
  if (right.is_int(0)) return mismatch();
  if (left.is_int() && right.is_int() && left.value() % right.value() != 0) return mismatch();
  out[open] = floor_div(left, right);
  return out;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  const Params p = read(n);
  if (!f.has(0)) return {};
  f.set(0, f.dtype(0));
  std::optional<SymShape> wanted;
  if (p.shape)
    wanted = to_symbolic(*p.shape);
  else
    wanted = f.dims(1);
  if (!p.shape) TRN_TRY(expect_rank(f, 1, 1));
  if (!wanted) {
    if (f.has_rank(1) && f.in(1).dim(0).is_int()) {
      const int64_t rank = f.in(1).dim(0).value();
      if (rank >= 0 && rank <= 1024) f.out(0).type.shape = unknown_shape(static_cast<int>(rank));
    }
    return {};
  }
  TRN_ASSIGN(f.out(0).type.shape, resolve(f.in(0), *wanted, p.allow_zero));
  if (f.out(0).rank() <= 1) f.out(0).content = f.in(0).content;
  return {};
}

constexpr OpDef kDefs[] = {{"Reshape", infer, cpu<ViewCopy>(kAllTypes), {.reviewed = 25, .view = 0}}};

}  // namespace

TRUNNION_OPS(reshape, kDefs);
}  // namespace trunnion::ops
