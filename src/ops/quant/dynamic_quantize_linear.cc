// DynamicQuantizeLinear (ai.onnx 11): u8 quantization with the scale and zero point that the range of the input gives.
#include "kernels/quant.h"
#include "ops/op.h"

namespace trunnion::ops {
namespace {

constexpr int64_t kPiece = 1 << 16;  // elements whose range is taken at once

Status infer(const ir::Node&, ir::Facts& f) {
  f.set(0, DType::u8, f.in(0).type.shape);
  f.set(1, DType::f32, SymShape{});
  f.set(2, DType::u8, SymShape{});
  return {};
}

struct Range {
  float min, max;
};

class DynamicQuantizeCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) {
    return std::unique_ptr<Kernel>(new DynamicQuantizeCpu);
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    ctx.request_scratch(static_cast<size_t>((ctx.in(0).count + kPiece - 1) / kPiece) * sizeof(Range));
    return std::unique_ptr<KernelState>();
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    const float* from = x.as<const float>();
    auto* ranges = reinterpret_cast<Range*>(ctx.scratch());
    const int64_t pieces = (x.count + kPiece - 1) / kPiece;
    ctx.parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        kernels::min_max(from + p * kPiece, static_cast<size_t>(std::min(kPiece, x.count - p * kPiece)), &ranges[p].min,
                         &ranges[p].max);
    });
    Range all{0, 0};
    for (int64_t p = 0; p < pieces; ++p) all = {std::min(all.min, ranges[p].min), std::max(all.max, ranges[p].max)};
    float scale;
    uint8_t zero;
    kernels::dynamic_quantize_params(all.min, all.max, &scale, &zero);
    if (ctx.has_out(1)) *ctx.out(1).as<float>() = scale;
    if (ctx.has_out(2)) *ctx.out(2).as<uint8_t>() = zero;
    if (!ctx.has_out(0)) return {};
    uint8_t* to = ctx.out(0).as<uint8_t>();
    const kernels::QuantizeFn quantize = kernels::quantize(kernels::Elem::u8);
    ctx.parallel_for(x.count, 1 << 14, [&](int64_t begin, int64_t end) {
      quantize(from + begin, to + begin, static_cast<size_t>(end - begin), scale, zero);
    });
    return {};
  }
};

constexpr OpDef kDefs[] = {{"DynamicQuantizeLinear", infer, cpu<DynamicQuantizeCpu>(kF32), {.reviewed = 11}}};

}  // namespace

TRUNNION_OPS(dynamic_quantize_linear, kDefs);

}  // namespace trunnion::ops
