// Size (ai.onnx 1 ... 25): the number of elements as an int64 scalar.
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node&, ir::Facts& f) {
  f.set(0, DType::i64, SymShape{});
  if (f.has_rank(0)) f.out(0).content = std::vector<Dim>{element_count(f.in(0).shape())};
  return {};
}

class SizeKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new SizeKernel); }
  Status run(KernelContext& ctx) const override {
    *ctx.out(0).as<int64_t>() = ctx.in(0).count;
    return {};
  }
};

constexpr OpDef kDefs[] = {{"Size", infer, cpu<SizeKernel>(kAllTypes, -1), {.reviewed = 25}}};

}  // namespace

TRUNNION_OPS(size, kDefs);
}  // namespace trunnion::ops
