// What convolution operators share: attributes, shape inference, and the fp32 engine over kernels/conv.h.
#pragma once
#include "kernels/conv.h"
#include "ops/op.h"

namespace trunnion::ops {

// What all versions of Conv and ConvTranspose boil down to.
struct ConvParams {
  enum class AutoPad : uint8_t { notset, valid, same_upper, same_lower };
  bool transposed = false;
  AutoPad auto_pad = AutoPad::notset;
  int64_t groups = 1;
  std::vector<int64_t> kernel, strides, dilations, pads;  // empty: defaults; pads: begins, then ends
  std::vector<int64_t> output_padding, output_shape;      // transposed
};
ConvParams read_conv(const ir::Node& node, bool transposed);

// Padding before and size of one spatial axis of the output.
struct ConvAxis {
  int64_t pad_begin = 0;
  int64_t out = 0;
};
Result<ConvAxis> conv_axis(const ConvParams& p, int axis, int64_t in, int64_t kernel);

// Shape of the output for x [N, C, D...] (or, channels_last, [N, D..., C]) and w; validates everything that is known.
Status infer_conv(const ConvParams& p, ir::Facts& f, DType out, int x_input = 0, int w_input = 1,
                  bool channels_last = false);

// Refuses dimensions that are known on both sides and differ.
Status expect_same_shape(const SymShape& found, const SymShape& wanted, const char* what);

// The kernel shape that p and the dimensions of w give, and the channel counts.
struct ConvChannels {
  int64_t cin = 0, cout = 0;
  std::vector<int64_t> kernel;
};
Result<ConvChannels> conv_channels(const ConvParams& p, std::span<const int64_t> w);

// The kernels' description of a convolution of x (dims in NCHW order).
Result<kernels::ConvShape> conv_shape(const ConvParams& p, std::span<const int64_t> x, const ConvChannels& w);

// Constant weights of a convolution in the order of the plan.
Result<Tensor> pack_conv(const Tensor& weights, const kernels::ConvPlan& plan);

// An fp32 convolution of up to 3 spatial dimensions. Weights that are constant are packed in make.
// Inputs: x, w, bias (optional), residual (optional: same shape as the output, added before the activation).
class ConvEngine {
 public:
  struct State final : KernelState {
    kernels::ConvPlan plan;
    int64_t pixels_in = 0, pixels_out = 0;
    size_t x_offset = 0, rounded_offset = 0, y_offset = 0, r_offset = 0, packed_offset = 0, scratch_offset = 0,
           scratch_stride = 0;
    bool needs_transpose = false;
  };

  // channels_last: x, residual and y are [N, D..., C]; else they are transposed on the way in and out.
  static Result<ConvEngine> make(const ir::Node& node, ConvParams params, bool channels_last,
                                 kernels::Epilogue activation);
  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const;
  Status run(KernelContext& ctx) const;
  bool reads_input(int i) const { return i != 1 || !packed_.valid(); }

 private:
  ConvParams params_;
  bool channels_last_ = false;
  kernels::Epilogue activation_;
  int winograd_ = 0;  // the side of the tiles of outputs, 0: another algorithm; for constant weights only
  int bf16_ = 0;      // planes of bfloat16 that factors may be split into; likewise
  Tensor packed_;     // floats, or pairs of bfloat16; invalid when the weights are not constant
};

// The kernel of a convolution of f32, f16 or bf16: a ConvEngine, behind the adapter where the type needs it.
Result<std::unique_ptr<Kernel>> make_conv(const ir::Node& node, ConvParams params, bool channels_last,
                                          kernels::Epilogue activation);

// Reads attributes activation, activation_a, activation_b of fused operators.
Result<kernels::Epilogue> read_activation(const ir::Node& node);
std::string_view activation_name(kernels::Activation a);

}  // namespace trunnion::ops
