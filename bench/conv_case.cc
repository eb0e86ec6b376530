#include "conv_case.h"

#include <string>

#include "kernels/conv.h"
#include "measured.h"

namespace trunnion::bench {

using namespace kernels;

void add_convolution(const ConvCase& r) {
  ConvShape s;
  s.rank = r.rank, s.cin = r.cin, s.cout = r.cout, s.groups = r.groups, s.transposed = r.transposed;
  int64_t in_pixels = 1, out_pixels = 1, taps = 1;
  for (int i = 0; i < r.rank; ++i) {
    s.in[i] = r.rank == 2 && i == 0 ? r.height : r.width;
    s.kernel[i] = r.kernel, s.stride[i] = r.stride, s.pad_begin[i] = r.pad;
    s.out[i] = r.transposed ? r.stride * (s.in[i] - 1) + r.kernel - 2 * r.pad
                            : (s.in[i] + 2 * r.pad - r.kernel) / r.stride + 1;
    in_pixels *= s.in[i], out_pixels *= s.out[i], taps *= r.kernel;
  }
  const int64_t weights = taps * r.cin / r.groups * r.cout;
  Work work;
  work.flops = 2.0 * static_cast<double>((r.transposed ? in_pixels : out_pixels) * taps * (r.cin / r.groups) * r.cout);
  work.bytes = 4.0 * static_cast<double>(in_pixels * r.cin + out_pixels * r.cout + weights);
  add(std::string("conv/") + r.name, work, [=] {
    const ConvPlan plan = conv_plan(s, 1);
    const auto x = random_floats(in_pixels * s.cin), y = random_floats(out_pixels * s.cout);
    const auto w = random_floats(weights), bias = random_floats(s.cout), packed = random_floats(plan.packed_size);
    const auto scratch = random_bytes(plan.scratch_size);
    conv_pack(plan, w.get(), 0, plan.pack_units, packed.get());
    return [=] {
      ConvArgs args;
      args.x = x.get(), args.x_pixel_stride = s.cin, args.packed = packed.get(), args.y = y.get(),
      args.y_pixel_stride = s.cout;
      args.epilogue.bias_col = bias.get();
      args.epilogue.activation = Activation::relu;
      conv_tile(plan, args, 0, plan.tiles, static_cast<float*>(scratch.get()));
    };
  });
}

}  // namespace trunnion::bench
