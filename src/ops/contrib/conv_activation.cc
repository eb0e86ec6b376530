// FusedConv, NhwcFusedConv and NhwcConv (com.microsoft 1): convolution with bias, a sum Z and an activation, in this
// order. The Nhwc forms read and write [N, D..., C]; weights are [M, C/group, ...] in all of them.
#include "ops/contrib/fused_activation_detail.h"
#include "ops/nn/conv_detail.h"

namespace trunnion::ops {
namespace {

bool is_channels_last(const ir::Node& n) { return n.op_type() != "FusedConv"; }

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(read_listed_activation(n).status());
  return infer_conv(read_conv(n, false), f, f.dtype(0), 0, 1, is_channels_last(n));
}

Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
  TRN_ASSIGN(const FusedActivation activation, read_listed_activation(n));
  kernels::Epilogue e;
  if (!activation.into(e))
    return not_implemented("attribute activation is '{}', which a convolution cannot compute",
                           n.attr("activation", ""));
  return make_conv(n, read_conv(n, false), is_channels_last(n), e);
}

constexpr DTypes kTypes = DType::f32 | DType::f16 | DType::bf16;
constexpr OpDef kDefs[] = {
    {"FusedConv",
     infer,
     {kTypes, make},
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::FusedConv 1 (X:T, W:T, B?:T, Z?:T) -> (Y:T) {activation:s, activation_params:fs, "
     "auto_pad:s='NOTSET', dilations:is, group:i=1, kernel_shape:is, pads:is, strides:is} T=float"},
    {"NhwcFusedConv",
     infer,
     {kTypes, make},
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::NhwcFusedConv 1 (X:T, W:T, B?:T, Z?:T) -> (Y:T) {activation:s, activation_params:fs, "
     "auto_pad:s='NOTSET', dilations:is, group:i=1, kernel_shape:is, pads:is, strides:is} T=f16|f32"},
    {"NhwcConv",
     infer,
     {kTypes, make},
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::NhwcConv 1 (X:T, W:T, B?:T) -> (Y:T) {auto_pad:s='NOTSET', dilations:is, group:i=1, "
     "kernel_shape:is, pads:is, strides:is} T=float"},
};

}  // namespace

TRUNNION_OPS(conv_activation, kDefs);

}  // namespace trunnion::ops
