// trunnion.FusedConv and trunnion.NhwcConv: convolution (attribute transposed: ConvTranspose) with bias, residual and
// activation in one pass; the second with channels last. bf16: planes of bfloat16 that factors may be split into. Made
// by the CPU pipeline only, never found in files.
#include "ops/nn/conv_detail.h"

namespace trunnion::ops {
namespace {

bool is_channels_last(const ir::Node& n) { return n.op_type() == "NhwcConv"; }
ConvParams read(const ir::Node& n) { return read_conv(n, n.attr("transposed", 0) != 0); }

Status infer(const ir::Node& n, ir::Facts& f) { return infer_conv(read(n), f, f.dtype(0), 0, 1, is_channels_last(n)); }

Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
  TRN_ASSIGN(const kernels::Epilogue activation, read_activation(n));
  return make_conv(n, read(n), is_channels_last(n), activation);
}

#define TRN_CONV_ATTRIBUTES                                                                                            \
  "{activation:s='none', activation_a:f=0, activation_b:f=0, auto_pad:s='NOTSET', bf16:i=0, dilations:is, group:i=1, " \
  "kernel_shape:is, "                                                                                                  \
  "output_padding:is, output_shape:is, pads:is, residual_after_activation:i=0, strides:is, transposed:i=0, "           \
  "winograd:i=0} "                                                                                                     \
  "T=f32|f16|bf16"

constexpr DTypes kTypes = DType::f32 | DType::f16 | DType::bf16;
constexpr OpDef kDefs[] = {
    {"FusedConv",
     infer,
     {kTypes, make},
     {.reviewed = 1},
     "trunnion",
     "trunnion::FusedConv 1 (X:T, W:T, B?:T, R?:T) -> (Y:T) " TRN_CONV_ATTRIBUTES},
    {"NhwcConv",
     infer,
     {kTypes, make},
     {.reviewed = 1},
     "trunnion",
     "trunnion::NhwcConv 1 (X:T, W:T, B?:T, R?:T) -> (Y:T) " TRN_CONV_ATTRIBUTES},
};

}  // namespace

TRUNNION_OPS(fused_conv, kDefs);

}  // namespace trunnion::ops
