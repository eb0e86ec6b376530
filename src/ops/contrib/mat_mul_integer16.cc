// MatMulInteger16 (com.microsoft 1): product of 16-bit matrices in 32 bits, wrapping.
#include "kernels/convert.h"
#include "ops/dispatch.h"
#include "ops/math/matmul_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node&, ir::Facts& f) {
  return infer_matmul(f, f.dtype(0) == DType::u16 && f.dtype(1) == DType::u16 ? DType::u32 : DType::i32);
}

struct State final : KernelState {
  MatMulShape shape;
  size_t b_offset = 0;
};

class MatMulInteger16Cpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) {
    return std::unique_ptr<Kernel>(new MatMulInteger16Cpu);
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    TRN_ASSIGN(s->shape, matmul_shape(ctx.in(0).shape(), ctx.in(1).shape()));
    s->b_offset = (static_cast<size_t>(ctx.in(0).count) * sizeof(int32_t) + 63) / 64 * 64;
    ctx.request_scratch(s->b_offset + static_cast<size_t>(ctx.in(1).count) * sizeof(int32_t));
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    if (ctx.out(0).count == 0) return {};
    std::byte *a = ctx.scratch(), *b = ctx.scratch() + s.b_offset;
    widen(ctx, ctx.in(0), a);
    widen(ctx, ctx.in(1), b);
    return plain_matmul(ctx, DType::i32, s.shape, false, false, a, b, ctx.out(0).data);
  }

 private:
  static void widen(KernelContext& ctx, const TensorView& x, std::byte* to) {
    ctx.parallel_for(x.count, 1 << 15, [&](int64_t begin, int64_t end) {
      kernels::convert(elem(x.dtype), kernels::Elem::i32)(x.as<const uint16_t>() + begin, to + begin * 4,
                                                          static_cast<size_t>(end - begin), {});
    });
  }
};

constexpr OpDef kDefs[] = {
    {"MatMulInteger16",
     infer,
     cpu<MatMulInteger16Cpu>(DType::i16 | DType::u16),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::MatMulInteger16 1 (A:T1, B:T2) -> (Y:T3) T1=i16|u16 T2=i16|u16 T3=i32|u32"},
};

}  // namespace

TRUNNION_OPS(mat_mul_integer16, kDefs);

}  // namespace trunnion::ops
