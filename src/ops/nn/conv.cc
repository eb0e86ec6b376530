// Conv (ai.onnx 1, 11, 22): convolution over 1 to 3 spatial dimensions; batch and channels in front.
#include "ops/nn/conv_detail.h"
#include "ops/nn/conv_plain_detail.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) { return infer_conv(read_conv(n, false), f, f.dtype(0)); }

Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
  ConvParams p = read_conv(n, false);
  if (n.input(0)->fact.dtype() == DType::f64) return make_plain_conv(std::move(p));
  return make_conv(n, std::move(p), false, {});
}

constexpr OpDef kDefs[] = {{"Conv", infer, {kFloats, make}, {.reviewed = 22}}};

}  // namespace

TRUNNION_OPS(conv, kDefs);

}  // namespace trunnion::ops
