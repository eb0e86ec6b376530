// SplitToSequence (ai.onnx 11, 24): cuts a tensor along an axis.
#include "ops/dispatch.h"
#include "ops/move.h"
#include "ops/sequence/sequence_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  if (f.has_rank(0)) TRN_TRY(normalize_axis(n.attr("axis", 0), f.in(0).rank()));
  if (f.has_rank(1) && f.in(1).rank() > 1)
    return invalid_argument("input 1 has rank {}, it must be 0 or 1", f.in(1).rank());
  set_type(f, Type::sequence(Type::tensor(f.dtype(0))));
  return {};
}

class SplitToSequence final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new SplitToSequence(n.attr("axis", 0), n.attr("keepdims", 1) != 0));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    TRN_ASSIGN(const int axis, normalize_axis(axis_, x.rank));
    const int64_t length = x.dim(axis);
    TRN_ASSIGN(const Shape sizes, cuts(ctx, length));
    const bool keep = keepdims_ || ctx.has_in(1);
    const int64_t outer = product(x.shape(), 0, axis), inner = product(x.shape(), axis + 1, x.rank);
    Sequence s;
    s.element = Type::tensor(x.dtype);
    s.items.reserve(sizes.size());
    int64_t at = 0;
    for (int64_t n : sizes) {
      Shape dims(x.shape());
      dims[static_cast<size_t>(axis)] = n;
      if (!keep) dims.erase(dims.begin() + axis);
      TRN_ASSIGN(Tensor part, Tensor::allocate(x.dtype, dims));
      const kernels::CopyShape box{2, {outer, n * inner}, {length * inner, 1}, {n * inner, 1}};
      copy_strided(ctx, element(x.data, at * inner, x.dtype), part.raw(), box, x.dtype);
      s.items.emplace_back(std::move(part));
      at += n;
    }
    ctx.set_output(0, Value(std::move(s)));
    return {};
  }

 private:
  SplitToSequence(int64_t axis, bool keepdims) : axis_(axis), keepdims_(keepdims) {}

  static Result<Shape> cuts(const KernelContext& ctx, int64_t length) {
    if (!ctx.has_in(1)) return Shape(static_cast<size_t>(length), 1);
    const Shape split = read_ints(ctx.in(1));
    if (ctx.in(1).rank == 0) {
      if (split[0] < 1) return invalid_argument("input 1 (split) is {}, it must be positive", split[0]);
      Shape sizes;
      for (int64_t at = 0; at < length; at += std::min(split[0], length - at))
        sizes.push_back(std::min(split[0], length - at));
      return sizes;
    }
    int64_t sum = 0;
    for (int64_t n : split) {
      if (n < 0 || n > length)
        return invalid_argument("input 1 (split) has an entry {}, the axis has {} positions", n, length);
      sum += n;
    }
    if (sum != length)
      return invalid_argument("the entries of input 1 (split) sum up to {}, the axis has {} positions", sum, length);
    return split;
  }

  int64_t axis_;
  bool keepdims_;
};

constexpr DTypes kTypes = kPlainTypes | DType::string;
constexpr OpDef kDefs[] = {{"SplitToSequence", infer, cpu<SplitToSequence>(kTypes), {.reviewed = 24, .dynamic = true}}};

}  // namespace

TRUNNION_OPS(split_to_sequence, kDefs);

}  // namespace trunnion::ops
