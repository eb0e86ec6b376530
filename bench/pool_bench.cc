// Pooling in both layouts, and global pooling.
#include <fmt/format.h>

#include "kernels/pool.h"
#include "kernels/reduce.h"
#include "measured.h"

namespace trunnion::bench {
namespace {

using namespace kernels;

struct Case {
  const char* name;
  int64_t channels, size, kernel, stride, pad;
};
constexpr Case kCases[] = {{"3x3_s2_64_112", 64, 112, 3, 2, 1},
                           {"2x2_s2_64_56", 64, 56, 2, 2, 0},
                           {"3x3_192_28", 192, 28, 3, 1, 1},
                           {"5x5_256_20", 256, 20, 5, 1, 2}};

PoolShape shape_of(const Case& c) {
  PoolShape s;
  for (int i = 1; i < 3; ++i) {
    s.in[i] = c.size, s.kernel[i] = c.kernel, s.stride[i] = c.stride, s.pad_begin[i] = s.pad_end[i] = c.pad;
    s.out[i] = (c.size + 2 * c.pad - c.kernel) / c.stride + 1;
  }
  return s;
}

template <class F>
void add_pool(const char* kind, const Case& c, F run) {
  const PoolShape s = shape_of(c);
  const int64_t in = c.channels * c.size * c.size, out = c.channels * s.out[1] * s.out[2];
  add(fmt::format("{}/{}", kind, c.name), {0, 4.0 * static_cast<double>(in + out)}, [=] {
    const auto x = random_floats(in), y = random_floats(out);
    return [=] { run(x.get(), y.get(), c.channels, s); };
  });
}

}  // namespace

void suite() {
  for (const Case& c : kCases) {
    add_pool("max", c,
             [](const float* x, float* y, int64_t n, const PoolShape& s) { pool().max(x, y, nullptr, n, s, false); });
    add_pool("average", c, [](const float* x, float* y, int64_t n, const PoolShape& s) { pool().average(x, y, n, s); });
    add_pool("max_nhwc", c, [](const float* x, float* y, int64_t n, const PoolShape& s) {
      pool().max_nhwc(x, y, n, 0, s.out[0] * s.out[1], s);
    });
    add_pool("average_nhwc", c, [](const float* x, float* y, int64_t n, const PoolShape& s) {
      pool().average_nhwc(x, y, n, 0, s.out[0] * s.out[1], s);
    });
  }
  for (const bool last : {false, true}) {
    constexpr int64_t kChannels = 1280, kPixels = 49;
    const ReduceShape s = last ? ReduceShape{1, kPixels, kChannels, kChannels} : ReduceShape{kChannels, kPixels, 1, 1};
    add(fmt::format("global_average{}/1280_7", last ? "_nhwc" : ""), {0, 4.0 * (kChannels * kPixels + kChannels)}, [=] {
      const auto x = random_floats(kChannels * kPixels), y = random_floats(kChannels);
      return [=] { reduce(ReduceOp::mean, Elem::f32)(x.get(), y.get(), s); };
    });
  }
}

}  // namespace trunnion::bench
