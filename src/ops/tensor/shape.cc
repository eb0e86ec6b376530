// Shape (ai.onnx 1 ... 25): the dimensions [start, end) of the input as int64. Only the input's shape is read.
#include "ops/shape.h"

#include <algorithm>

#include "ops/op.h"

namespace trunnion::ops {
namespace {

struct Params {
  int64_t start, end;
  bool to_end;  // no attribute end

  // Clamped to the rank.
  std::pair<int64_t, int64_t> range(int64_t rank) const {
    const auto clamp = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
    const int64_t first = clamp(start), last = to_end ? rank : clamp(end);
    return {first, std::max(first, last)};
  }
};
Params read(const ir::Node& n) { return {n.attr("start", 0), n.attr("end", 0), !n.has_attr("end")}; }

Status infer(const ir::Node& n, ir::Facts& f) {
  if (!f.has_rank(0)) {
    f.set(0, DType::i64, unknown_shape(1));
    return {};
  }
  const auto [first, last] = read(n).range(f.in(0).rank());
  f.set(0, DType::i64, SymShape{Dim(last - first)});
  const SymShape& dims = f.in(0).shape();
  if (last - first <= ir::kMaxContent) f.out(0).content = std::vector<Dim>(dims.begin() + first, dims.begin() + last);
  return {};
}

class ShapeKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new ShapeKernel(read(node)));
  }
  Status run(KernelContext& ctx) const override {
    const auto [first, last] = p_.range(ctx.in(0).rank);
    std::copy(ctx.in(0).dims + first, ctx.in(0).dims + last, ctx.out(0).as<int64_t>());
    return {};
  }

 private:
  explicit ShapeKernel(Params p) : p_(p) {}
  Params p_;
};

constexpr OpDef kDefs[] = {{"Shape", infer, cpu<ShapeKernel>(kAllTypes, -1), {.reviewed = 25}}};

}  // namespace

TRUNNION_OPS(shape, kDefs);
}  // namespace trunnion::ops
