// Unique (ai.onnx 11, 28; com.microsoft 1): different elements, or different slices along an axis, with where they
// first stand, which one each input entry is, and how often they occur. NaNs are equal to each other and sort last.
#include <algorithm>
#include <complex>
#include <numeric>
#include <vector>

#include "ops/dispatch.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

struct Params {
  int64_t axis;
  bool flat, sorted;
  int first, group, counts;  // which output holds what; -1: none does
};
Params read(const ir::Node& n) {
  if (!n.domain().empty()) return {0, true, false, -1, 1, 2};
  return {n.attr("axis", 0), !n.has_attr("axis"), n.attr("sorted", 1) != 0, 1, 2, 3};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  const Params p = read(n);
  if (!f.has(0)) return {};
  f.set(0, f.dtype(0));
  for (int i = 1; i < 4; ++i) f.set(i, DType::i64, unknown_shape(1));
  if (p.flat) {
    f.out(0).type.shape = unknown_shape(1);
  } else if (f.has_rank(0)) {
    TRN_ASSIGN(const int axis, normalize_axis(p.axis, f.in(0).rank()));
    f.out(0).type.shape = f.in(0).shape();
    (*f.out(0).type.shape)[axis] = Dim();
    if (f.outputs() > p.group) f.out(p.group).type.shape = SymShape{f.in(0).dim(axis)};
  }
  if (p.flat && f.has_rank(0) && f.outputs() > p.group)
    f.out(p.group).type.shape = SymShape{element_count(f.in(0).shape())};
  return {};
}

template <class T>
inline constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// -1, 0, 1 as a stands before, with or after b.
template <class T>
int order(const T& a, const T& b) {
  if constexpr (kIsFloating<T>) {
    const auto x = static_cast<Compute<T>>(a), y = static_cast<Compute<T>>(b);
    if (x != x || y != y) return (x != x) - (y != y);
    return (x > y) - (x < y);
  } else if constexpr (kIsComplex<T>) {  // by the real part, then by the other
    const int c = order(a.real(), b.real());
    return c ? c : order(a.imag(), b.imag());
  } else {
    return (b < a) - (a < b);
  }
}

// The entries along an axis of (outer, entries, inner).
template <class T>
struct Entries {
  const T* data;
  int64_t outer, count, inner;

  int compare(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < outer; ++o) {
      const T *x = data + (o * count + a) * inner, *y = data + (o * count + b) * inner;
      for (int64_t i = 0; i < inner; ++i)
        if (const int c = order(x[i], y[i])) return c;
    }
    return 0;
  }
};

class UniqueKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new UniqueKernel(read(node)));
  }
  Status run(KernelContext& ctx) const override {
    if (ctx.in(0).dtype == DType::c64) return find<std::complex<float>>(ctx);
    if (ctx.in(0).dtype == DType::c128) return find<std::complex<double>>(ctx);
    return dispatch<kTypes.bits()>(ctx.in(0).dtype, [&]<class T>() { return find<T>(ctx); });
  }
  static constexpr DTypes kTypes = kNumeric | DType::boolean | DType::string | kComplex;

 private:
  explicit UniqueKernel(Params p) : p_(p) {}

  template <class T>
  Status find(KernelContext& ctx) const {
    const TensorView& x = ctx.in(0);
    Shape dims = p_.flat ? Shape{x.count} : Shape(x.shape());
    int axis = 0;
    if (!p_.flat) {
      TRN_ASSIGN(axis, normalize_axis(p_.axis, x.rank));
    }
    const Entries<T> e{x.as<const T>(), product(dims, 0, axis), dims[axis],
                       product(dims, axis + 1, static_cast<int>(dims.size()))};

    // Sorted entries fall into groups; equal ones keep their order, so that a group begins with its first occurrence.
    std::vector<int64_t> sorted(static_cast<size_t>(e.count));
    std::iota(sorted.begin(), sorted.end(), 0);
    std::stable_sort(sorted.begin(), sorted.end(), [&](int64_t a, int64_t b) { return e.compare(a, b) < 0; });
    std::vector<int64_t> first, group(sorted.size()), counts;
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (i == 0 || e.compare(sorted[i - 1], sorted[i]) != 0) {
        first.push_back(sorted[i]);
        counts.push_back(0);
      }
      group[sorted[i]] = static_cast<int64_t>(first.size()) - 1;
      ++counts.back();
    }
    if (!p_.sorted) {  // groups in the order of their first occurrence
      std::vector<int64_t> by_place(first.size()), rank(first.size());
      std::iota(by_place.begin(), by_place.end(), 0);
      std::sort(by_place.begin(), by_place.end(), [&](int64_t a, int64_t b) { return first[a] < first[b]; });
      std::vector<int64_t> f, c;
      for (size_t i = 0; i < by_place.size(); ++i) {
        rank[by_place[i]] = static_cast<int64_t>(i);
        f.push_back(first[by_place[i]]);
        c.push_back(counts[by_place[i]]);
      }
      for (int64_t& g : group) g = rank[g];
      first = std::move(f);
      counts = std::move(c);
    }

    dims[axis] = static_cast<int64_t>(first.size());
    if (ctx.has_out(0)) {
      TRN_ASSIGN(TensorView * y, ctx.allocate_output(0, x.dtype, dims));
      T* to = y->as<T>();
      for (int64_t o = 0; o < e.outer; ++o)
        for (const int64_t i : first) to = std::copy_n(e.data + (o * e.count + i) * e.inner, e.inner, to);
    }
    const std::pair<int, const std::vector<int64_t>*> lists[] = {
        {p_.first, &first}, {p_.group, &group}, {p_.counts, &counts}};
    for (const auto& [i, list] : lists) {
      if (i < 0 || !ctx.has_out(i)) continue;
      const int64_t size[] = {static_cast<int64_t>(list->size())};
      TRN_ASSIGN(TensorView * y, ctx.allocate_output(i, DType::i64, size));
      std::copy(list->begin(), list->end(), y->as<int64_t>());
    }
    return {};
  }

  Params p_;
};

constexpr OpDef kDefs[] = {
    {"Unique", infer, cpu<UniqueKernel>(UniqueKernel::kTypes), {.reviewed = 28, .dynamic = true}},
    {"Unique",
     infer,
     cpu<UniqueKernel>(UniqueKernel::kTypes),
     {.reviewed = 1, .dynamic = true},
     "com.microsoft",
     "com.microsoft::Unique 1 (x:T) -> (y:T, idx:i64, counts:i64) T=num|bool|string"},
};

}  // namespace

TRUNNION_OPS(unique, kDefs);
}  // namespace trunnion::ops
