// Resizing of pictures: nearest, linear and cubic, in both layouts.
#include <fmt/format.h>

#include "kernels/resize.h"
#include "measured.h"

namespace trunnion::bench {
namespace {

using namespace kernels;

ResizeTable table_of(ResizeMode mode, int64_t in, int64_t out) {
  ResizeAxis axis;
  axis.mode = mode, axis.in = in, axis.out = out, axis.scale = static_cast<double>(out) / static_cast<double>(in);
  axis.coords = mode == ResizeMode::nearest ? ResizeCoords::asymmetric : ResizeCoords::half_pixel;
  ResizeTable table;
  static_cast<void>(resize_table(axis, table));
  return table;
}

// Both axes of a square picture, one after the other.
void two_axes(const char* name, ResizeMode mode, int64_t channels, int64_t in, int64_t out, bool channels_last) {
  const double bytes = 4.0 * static_cast<double>(channels * (in * in + out * out));
  add(fmt::format("{}{}/{}_{}_{}", name, channels_last ? "_nhwc" : "", channels, in, out), {0, bytes}, [=] {
    const ResizeTable table = table_of(mode, in, out);
    const auto x = random_floats(channels * in * in), half = random_floats(channels * in * out),
               y = random_floats(channels * out * out);
    const int64_t outer = channels_last ? 1 : channels, inner = channels_last ? channels : 1;
    return [=] {
      resize().axis(x.get(), half.get(), table, outer, in * inner);
      resize().axis(half.get(), y.get(), table, outer * out, inner);
    };
  });
}

void nearest(int64_t channels, int64_t in, int64_t out, bool channels_last) {
  const double bytes = 4.0 * static_cast<double>(channels * (in * in + out * out));
  add(fmt::format("nearest{}/{}_{}_{}", channels_last ? "_nhwc" : "", channels, in, out), {0, bytes}, [=] {
    const ResizeTable table = table_of(ResizeMode::nearest, in, out);
    const auto x = random_floats(channels * in * in), y = random_floats(channels * out * out);
    const int64_t planes = channels_last ? 1 : channels, inner = channels_last ? channels : 1;
    return [=] { resize_nearest_planes(x.get(), y.get(), table, table, 0, planes * out, inner, 4); };
  });
}

}  // namespace

void suite() {
  for (const bool last : {false, true}) {
    nearest(128, 40, 80, last);
    nearest(3, 128, 300, last);
    two_axes("linear", ResizeMode::linear, 64, 64, 128, last);
    two_axes("linear", ResizeMode::linear, 3, 640, 320, last);
    two_axes("cubic", ResizeMode::cubic, 3, 128, 256, last);
  }
}

}  // namespace trunnion::bench
