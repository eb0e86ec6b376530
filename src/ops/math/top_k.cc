// TopK (ai.onnx 1, 10, 11, 24): the k largest (smallest) elements along an axis and their positions, best first. Of
// equal elements the one that stands first wins; NaN counts as larger than every number.
#include "kernels/top_k.h"

#include <algorithm>
#include <cmath>

#include "kernels/convert.h"
#include "kernels/reduce.h"
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

// Types that are selected by 32-bit keys.
template <class T>
constexpr bool kHasKey = sizeof(T) < 8;

template <class T>
uint32_t key_of(T v, bool largest) {
  if constexpr (kIsFloating<T>) {
    const auto f = static_cast<float>(v);
    uint32_t key;
    kernels::f32_keys(&f, &key, 1, largest);
    return key;
  } else if constexpr (std::is_signed_v<T>) {
    return kernels::i32_key(v, largest);
  } else {
    return kernels::u32_key(v, largest);
  }
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
    if (k == 1 && p_.largest && ctx.has_out(1)) return best_only(ctx, axis);
    return dispatch<kNumeric.bits()>(
        x.dtype, [&]<class T>() { p_.largest ? select<T, true>(ctx, axis, k) : select<T, false>(ctx, axis, k); });
  }

 private:
  explicit TopKKernel(Params p) : p_(p) {}

  // Keys and the work space of their selection, or entries.
  static size_t keys_bytes(int64_t n) { return (static_cast<size_t>(n) * sizeof(uint32_t) + 63) / 64 * 64; }
  static size_t stride(int64_t n) {
    const size_t by_key = keys_bytes(n) + kernels::select_keys_bytes(n), by_entry = static_cast<size_t>(n) * 16;
    return (std::max(by_key, by_entry) + 63) / 64 * 64;
  }
  static int64_t lanes(const TensorView& x, int axis) {
    return product(x.shape(), 0, axis) * product(x.shape(), axis + 1, x.rank);
  }
  static int64_t lanes_per_tile(int64_t n) { return 4096 / std::max<int64_t>(n, 1) + 1; }
  static int64_t tiles(const TensorView& x, int axis) {
    const int64_t per = lanes_per_tile(x.dim(axis));
    return (lanes(x, axis) + per - 1) / per;
  }

  // k = 1: the kernel of ArgMax ranks elements as this operator does.
  Status best_only(KernelContext& ctx, int axis) const {
    const TensorView& x = ctx.in(0);
    const auto fn = kernels::arg_extreme(true, false, elem(x.dtype));
    if (!fn) return not_implemented("element type {} has no kernel", dtype_name(x.dtype));
    const int64_t n = x.dim(axis), inner = product(x.shape(), axis + 1, x.rank), outer = product(x.shape(), 0, axis);
    auto* indices = ctx.out(1).as<int64_t>();
    const auto size = static_cast<int64_t>(size_of(x.dtype));
    ctx.parallel_for(outer, 16384 / (n * inner) + 1, [&](int64_t begin, int64_t end) {
      fn(x.as<const std::byte>() + begin * n * inner * size, indices + begin * inner, {end - begin, n, inner, inner});
    });
    if (!ctx.has_out(0)) return {};
    return dispatch<kNumeric.bits()>(x.dtype, [&]<class T>() {
      T* values = ctx.out(0).as<T>();
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < inner; ++i)
          values[o * inner + i] = x.as<const T>()[(o * n + indices[o * inner + i]) * inner + i];
    });
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
      for (int64_t lane = tile * per; lane < std::min((tile + 1) * per, all); ++lane) {
        const int64_t outer = lane / inner, at = lane % inner, to = outer * k * inner + at;
        const T* from = x.as<T>() + outer * n * inner + at;
        const auto write = [&](int64_t place, int64_t index) {
          if (values) values[to + place * inner] = from[index * inner];
          if (indices) indices[to + place * inner] = index;
        };
        if constexpr (kHasKey<T>) {
          if (n <= std::numeric_limits<uint32_t>::max()) {
            const uint64_t* best = select_by_keys<T, kLargest>(from, inner, n, k, own);
            for (int64_t i = 0; i < k; ++i) write(i, static_cast<int64_t>(best[i] & 0xffffffffu));
            continue;
          }
        }
        auto* entries = reinterpret_cast<Entry<T>*>(own);
        if (k <= n / 8) {
          select_few<T, kLargest>(from, inner, n, k, entries);
        } else {
          for (int64_t i = 0; i < n; ++i) entries[i] = {static_cast<Compute<T>>(from[i * inner]), i};
          if (k < n) std::nth_element(entries, entries + k, entries + n, better<T, kLargest>);
          std::sort(entries, entries + k, better<T, kLargest>);
        }
        for (int64_t i = 0; i < k; ++i) write(i, entries[i].index);
      }
    });
  }

  // The k best of n elements, best first, as key << 32 | index.
  template <class T, bool kLargest>
  static const uint64_t* select_by_keys(const T* x, int64_t step, int64_t n, int64_t k, std::byte* own) {
    auto* keys = reinterpret_cast<uint32_t*>(own);
    if constexpr (std::is_same_v<T, float>) {
      if (step == 1) {
        kernels::f32_keys(x, keys, n, kLargest);
      } else {
        auto* values = reinterpret_cast<float*>(keys);  // gathered, then turned into keys in place
        for (int64_t i = 0; i < n; ++i) values[i] = x[i * step];
        kernels::f32_keys(values, keys, n, kLargest);
      }
    } else if constexpr (kIsFloating<T> && sizeof(T) == 2) {
      auto* values = reinterpret_cast<float*>(keys);
      const auto widen =
          kernels::convert(std::is_same_v<T, Half> ? kernels::Elem::f16 : kernels::Elem::bf16, kernels::Elem::f32);
      if (step == 1) {
        widen(x, values, static_cast<size_t>(n), {});
      } else {
        constexpr int64_t kPiece = 256;
        T piece[kPiece];
        for (int64_t at = 0; at < n; at += kPiece) {
          const int64_t m = std::min(kPiece, n - at);
          for (int64_t i = 0; i < m; ++i) piece[i] = x[(at + i) * step];
          widen(piece, values + at, static_cast<size_t>(m), {});
        }
      }
      kernels::f32_keys(values, keys, n, kLargest);
    } else {
      for (int64_t i = 0; i < n; ++i) keys[i] = key_of(x[i * step], kLargest);
    }
    return kernels::select_keys(keys, n, k, own + keys_bytes(n));
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
