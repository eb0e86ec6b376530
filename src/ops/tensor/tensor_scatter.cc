// TensorScatter (ai.onnx 24): writes an update into a cache along the sequence axis, at a place of its own for each
// batch entry; circular mode wraps around. In place when the planner allows: the cache is then only written to.
#include <algorithm>
#include <cstring>
#include <string>

#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

struct Params {
  int64_t axis;
  bool circular;
};
Result<Params> read(const ir::Node& n) {
  const std::string mode = n.attr("mode", "linear");
  if (mode != "linear" && mode != "circular")
    return invalid_argument("attribute mode is '{}', needs 'linear' or 'circular'", mode);
  return Params{n.attr("axis", -2), mode == "circular"};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  if (!f.has(0)) return {};
  f.set(0, f.dtype(0), f.in(0).type.shape);
  if (!f.has_rank(0)) return {};
  const int rank = f.in(0).rank();
  TRN_ASSIGN(const int axis, normalize_axis(p.axis, rank));
  if (axis == 0) return invalid_argument("axis 0 is the batch, the sequence needs another");
  TRN_TRY(expect_rank(f, 1, rank));
  TRN_TRY(expect_rank(f, 2, 1));
  for (int d = 0; f.has_rank(1) && d < rank; ++d) {
    const Dim &have = f.in(0).dim(d), &update = f.in(1).dim(d);
    if (!have.is_int() || !update.is_int()) continue;
    if (d == axis ? update.value() > have.value() : update.value() != have.value())
      return invalid_argument("update of shape {} does not fit a cache of shape {}", shape_text(f.in(1).shape()),
                              shape_text(f.in(0).shape()));
  }
  if (f.has_rank(2) && f.in(2).dim(0).is_int() && f.in(0).dim(0).is_int() && !(f.in(2).dim(0) == f.in(0).dim(0)))
    return invalid_argument("write_indices has {} entries, the batch is {}", f.in(2).dim(0).value(),
                            f.in(0).dim(0).value());
  return {};
}

class TensorScatterKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(const Params p, read(node));
    return std::unique_ptr<Kernel>(new TensorScatterKernel(p));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &y = ctx.out(0);
    Tensor copied;
    TRN_ASSIGN(const TensorView update, apart_from(y, ctx.in(1), copied));
    TRN_ASSIGN(const int axis, normalize_axis(p_.axis, x.rank));
    const int64_t batch = x.dim(0), middle = product(x.shape(), 1, axis), inner = product(x.shape(), axis + 1, x.rank);
    const int64_t longest = x.dim(axis), length = update.dim(axis);
    const auto* places = ctx.has_in(2) ? ctx.in(2).as<const int64_t>() : nullptr;
    if (places && ctx.in(2).count != batch)
      return invalid_argument("write_indices has {} entries, the batch is {}", ctx.in(2).count, batch);
    if (length > longest) return invalid_argument("an update of {} does not fit a cache of {}", length, longest);
    for (int64_t b = 0; places && b < batch; ++b)
      if (places[b] < 0 || (!p_.circular && places[b] > longest - length))
        return invalid_argument("write index {} with {} entries does not fit a cache of {}", places[b], length,
                                longest);
    copy_elements(ctx, x.data, y.data, x.count, x.dtype);
    if (update.count == 0) return {};
    if (is_sub_byte(x.dtype)) {  // neighbours share bytes: one thread
      for (int64_t k = 0; k < batch * middle; ++k)
        for (int64_t i = 0; i < length; ++i) {
          const int64_t place = ((places ? places[k / middle] : 0) % longest + i) % longest;
          copy_packed(y, (k * longest + place) * inner, update, (k * length + i) * inner, inner);
        }
      return {};
    }
    ctx.parallel_for(batch * middle, move_grain(static_cast<size_t>(length * inner) * size_of(x.dtype)),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t k = begin; k < end; ++k) {
                         const int64_t place = (places ? places[k / middle] : 0) % longest;
                         const int64_t before = std::min(length, longest - place);  // up to the end of the cache
                         copy(y, (k * longest + place) * inner, update, k * length * inner, before * inner);
                         copy(y, k * longest * inner, update, (k * length + before) * inner, (length - before) * inner);
                       }
                     });
    return {};
  }

 private:
  explicit TensorScatterKernel(Params p) : p_(p) {}

  static void copy(const TensorView& y, int64_t to, const TensorView& x, int64_t from, int64_t n) {
    if (x.dtype == DType::string)
      std::copy_n(x.as<const std::string>() + from, n, y.as<std::string>() + to);
    else if (n > 0)
      std::memcpy(element(y.data, to, y.dtype), element(x.data, from, x.dtype),
                  static_cast<size_t>(n) * size_of(x.dtype));
  }

  static void copy_packed(const TensorView& y, int64_t to, const TensorView& x, int64_t from, int64_t n) {
    const int bits = bits_of(x.dtype), per_byte = 8 / bits, mask = (1 << bits) - 1;
    for (int64_t i = 0; i < n; ++i) {
      const int value = x.as<const uint8_t>()[(from + i) / per_byte] >> (from + i) % per_byte * bits & mask;
      uint8_t& byte = y.as<uint8_t>()[(to + i) / per_byte];
      const int shift = static_cast<int>((to + i) % per_byte) * bits;
      byte = static_cast<uint8_t>((byte & ~(mask << shift)) | value << shift);
    }
  }

  Params p_;
};

constexpr DTypes kTypes = kPlainTypes | DType::string | kSubByte;
constexpr OpDef kDefs[] = {
    {"TensorScatter", infer, cpu<TensorScatterKernel>(kTypes), {.reviewed = 24, .in_place = {{0, 0}}}}};

}  // namespace

TRUNNION_OPS(tensor_scatter, kDefs);
}  // namespace trunnion::ops
