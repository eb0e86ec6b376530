// TopK (ai.onnx 1, 10, 11, 24): the k largest (smallest) elements along an axis and their positions, best first. Of
// equal elements the one that stands first wins; NaN counts as larger than every number.
#include <algorithm>
#include <cmath>

#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/tiles.h"

namespace trunnion::ops {
namespace {

struct Params {
  int64_t axis, k;  // k: -1 when it is an input
  bool largest;
};
Params read(const ir::Node& n) {
  return {n.attr("axis", -1), n.since() < 10 ? n.attr("k", -1) : -1, n.since() < 11 || n.attr("largest", 1) != 0};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  const Params p = read(n);
  f.set(0, f.dtype(0));
  f.set(1, DType::i64);
  Dim k;
  if (n.since() < 10) {
    if (p.k < 0) return invalid_argument("attribute k is missing or negative");
    k = Dim(p.k);
  } else if (const auto content = f.dims(1)) {
    if (content->size() != 1) return invalid_argument("K has {} elements, needs one", content->size());
    k = (*content)[0];
    if (k.is_int() && k.value() < 0) return invalid_argument("K is {}, expected at least 0", k.value());
  }
  if (!f.has_rank(0)) return {};
  SymShape out = f.in(0).shape();
  TRN_ASSIGN(const int axis, normalize_axis(p.axis, f.in(0).rank()));
  if (k.is_int() && out[axis].is_int() && k.value() > out[axis].value())
    return invalid_argument("K is {}, but axis {} of shape {} has only {} elements", k.value(), axis, shape_text(out),
                            out[axis].value());
  out[axis] = k;
  f.set(0, f.dtype(0), out);
  f.set(1, DType::i64, std::move(out));
  return {};
}

template <class T>
struct Entry {
  Compute<T> value;
  int64_t index;
};

template <class T, bool kLargest>
bool better(const Entry<T>& a, const Entry<T>& b) {
  if constexpr (kIsFloating<T>) {
    const bool an = a.value != a.value, bn = b.value != b.value;
    if (an != bn) return an == kLargest;
    if (an) return a.index < b.index;
  }
  if (a.value != b.value) return kLargest ? a.value > b.value : a.value < b.value;
  return a.index < b.index;
}

class TopKKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new TopKKernel(read(node)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    TRN_ASSIGN(const int axis, normalize_axis(p_.axis, x.rank));
    ctx.request_scratch(stride(x.dim(axis)) * static_cast<size_t>(tile_slots(tiles(x, axis), ctx.threads())));
    return std::unique_ptr<KernelState>();
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    TRN_ASSIGN(const int axis, normalize_axis(p_.axis, x.rank));
    const TensorView& shape = ctx.has_out(0) ? ctx.out(0) : ctx.out(1);
    const int64_t k = shape.dim(axis), n = x.dim(axis);
    if (k > n)
      return invalid_argument("K is {}, but axis {} of shape {} has only {} elements", k, axis, shape_text(x.shape()),
                              n);
    if (shape.count == 0) return {};
    return dispatch<kNumeric.bits()>(
        x.dtype, [&]<class T>() { p_.largest ? select<T, true>(ctx, axis, k) : select<T, false>(ctx, axis, k); });
  }

 private:
  explicit TopKKernel(Params p) : p_(p) {}

  static size_t stride(int64_t n) { return (static_cast<size_t>(n) * 16 + 63) / 64 * 64; }
  static int64_t lanes(const TensorView& x, int axis) {
    return product(x.shape(), 0, axis) * product(x.shape(), axis + 1, x.rank);
  }
  static int64_t lanes_per_tile(int64_t n) { return 4096 / std::max<int64_t>(n, 1) + 1; }
  static int64_t tiles(const TensorView& x, int axis) {
    const int64_t per = lanes_per_tile(x.dim(axis));
    return (lanes(x, axis) + per - 1) / per;
  }

  template <class T, bool kLargest>
  void select(KernelContext& ctx, int axis, int64_t k) const {
    static_assert(sizeof(Entry<T>) <= 16);
    const TensorView& x = ctx.in(0);
    const int64_t n = x.dim(axis), inner = product(x.shape(), axis + 1, x.rank), all = lanes(x, axis),
                  per = lanes_per_tile(n);
    T* values = ctx.has_out(0) ? ctx.out(0).as<T>() : nullptr;
    int64_t* indices = ctx.has_out(1) ? ctx.out(1).as<int64_t>() : nullptr;
    for_each_tile(ctx, tiles(x, axis), ctx.scratch(), stride(n), [&](int64_t tile, std::byte* own) {
      auto* entries = reinterpret_cast<Entry<T>*>(own);
      for (int64_t lane = tile * per; lane < std::min((tile + 1) * per, all); ++lane) {
        const int64_t outer = lane / inner, at = lane % inner;
        const T* from = x.as<T>() + outer * n * inner + at;
        if (k <= n / 8) {
          select_few<T, kLargest>(from, inner, n, k, entries);
        } else {
          for (int64_t i = 0; i < n; ++i) entries[i] = {static_cast<Compute<T>>(from[i * inner]), i};
          if (k < n) std::nth_element(entries, entries + k, entries + n, better<T, kLargest>);
          std::sort(entries, entries + k, better<T, kLargest>);
        }
        const int64_t to = outer * k * inner + at;
        for (int64_t i = 0; i < k; ++i) {
          if (values) values[to + i * inner] = from[entries[i].index * inner];
          if (indices) indices[to + i * inner] = entries[i].index;
        }
      }
    });
  }

  // The k best of n elements, best first, by a heap with the worst of them on top.
  template <class T, bool kLargest>
  static void select_few(const T* x, int64_t step, int64_t n, int64_t k, Entry<T>* heap) {
    const auto comp = better<T, kLargest>;
    for (int64_t i = 0; i < k; ++i) heap[i] = {static_cast<Compute<T>>(x[i * step]), i};
    std::make_heap(heap, heap + k, comp);
    for (int64_t i = k; i < n; ++i) {
      const Entry<T> e{static_cast<Compute<T>>(x[i * step]), i};
      if (kLargest ? e.value <= heap->value : e.value >= heap->value) continue;  // a later equal one is no better
      if (!comp(e, *heap)) continue;
      std::pop_heap(heap, heap + k, comp);
      heap[k - 1] = e;
      std::push_heap(heap, heap + k, comp);
    }
    std::sort_heap(heap, heap + k, comp);
  }

  Params p_;
};

constexpr OpDef kDefs[] = {{"TopK", infer, cpu<TopKKernel>(kNumeric), {.reviewed = 24}}};

}  // namespace

TRUNNION_OPS(top_k, kDefs);
}  // namespace trunnion::ops
