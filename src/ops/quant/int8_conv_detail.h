// 8-bit convolution over kernels/conv_int8.h: what ConvInteger and QLinearConv share.
#pragma once
#include "kernels/conv_int8.h"
#include "ops/nn/conv_detail.h"

namespace trunnion::ops {

// Shape of the output; x and w are those inputs of the node.
Status infer_int8_conv(const ConvParams& p, ir::Facts& f, DType out, int x_input, int w_input, bool channels_last);

// A convolution of up to 3 spatial dimensions. Weights that are constant are packed in make. Inside, pixels have their
// channels together; x and y are [N, C, D...] and are transposed on the way, or (channels_last) [N, D..., C].
class Int8ConvEngine {
 public:
  struct State final : KernelState {
    kernels::ConvInt8Plan plan;
    int64_t pixels_in = 0, pixels_out = 0;  // of one image
    size_t x_offset = 0, y_offset = 0, packed_offset = 0, zero_offset = 0;
    size_t slot_offset = 0, slot_stride = 0, slot_tile = 0;
  };
  static Result<Int8ConvEngine> make(const ir::Value& w, ConvParams params, bool channels_last);

  // y is 32-bit (the sums) or of the 8-bit type that finish writes. Adds its needs behind `offset` bytes of scratch;
  // returns the total.
  Result<size_t> prepare(const TensorView& x, const TensorView& w, const TensorView& y, int threads, size_t offset,
                         State& state) const;

  // Sums of pixels [pixel, pixel + pixels) (all images counted through) and channels [channel, channel + channels), and
  // where their quantized form belongs.
  struct Tile {
    const int32_t* sums;
    int64_t ld, pixel, pixels, channel, channels;
    void* y;
    int64_t y_ld;
  };
  // w_zero: 8-bit, one or one per output channel; null for 0. finish may run on several threads at once; it is not
  // called when y is 32-bit.
  Status run(KernelContext& ctx, const State& state, const TensorView& x, const TensorView& w, int32_t x_zero,
             const TensorView* w_zero, const TensorView& y, FunctionRef<void(const Tile&)> finish) const;
  bool packed() const { return packed_.valid(); }  // nobody looks at the weights' elements any more

 private:
  ConvParams params_;
  bool channels_last_ = false;
  Tensor packed_;  // invalid when the weights are not constant
};

// A zero point: the first element of an 8-bit tensor.
inline int32_t zero_point(const TensorView& t) {
  return t.dtype == DType::i8 ? *t.as<const int8_t>() : *t.as<const uint8_t>();
}

}  // namespace trunnion::ops
