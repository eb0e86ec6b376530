#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using U8 = std::vector<uint8_t>;
using I32 = std::vector<int32_t>;

TEST(ConvInteger, SpecExamples) {
  const Tensor x = tensor<uint8_t>({1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10}),
               w = tensor<uint8_t>({1, 1, 2, 2}, {1, 1, 1, 1});
  OpRun r{.op = "ConvInteger", .inputs = {x, w, tensor<uint8_t>({}, {1})}};
  EXPECT_EQ(values<int32_t>(output(r)), (I32{12, 16, 24, 28}));
  r.attrs = {{"pads", ir::Attr::Ints{1, 1, 1, 1}}};
  EXPECT_EQ(values<int32_t>(output(r)), (I32{1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9}));
  r.constant = {false, true};
  EXPECT_EQ(values<int32_t>(output(r)), (I32{1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9}));
}

// Values of a convolution with stride 1 and padding 1, by loops.
std::vector<float> loops(const std::vector<int>& x, const std::vector<int>& w, int64_t n, int64_t cin, int64_t cout,
                         int64_t size, int64_t groups) {
  std::vector<float> y;
  const int64_t cg = cin / groups, og = cout / groups;
  for (int64_t b = 0; b < n; ++b)
    for (int64_t o = 0; o < cout; ++o)
      for (int64_t i = 0; i < size; ++i)
        for (int64_t j = 0; j < size; ++j) {
          int sum = 0;
          for (int64_t c = 0; c < cg; ++c)
            for (int64_t p = 0; p < 3; ++p)
              for (int64_t q = 0; q < 3; ++q) {
                const int64_t u = i + p - 1, v = j + q - 1;
                if (u < 0 || v < 0 || u >= size || v >= size) continue;
                sum += x[static_cast<size_t>(((b * cin + o / og * cg + c) * size + u) * size + v)] *
                       w[static_cast<size_t>(((o * cg + c) * 3 + p) * 3 + q)];
              }
          y.push_back(static_cast<float>(sum));
        }
  return y;
}

TEST(QLinearConv, AgainstLoops) {
  for (const int64_t groups : {1, 2, 8}) {
    const int64_t n = 2, cin = 8, cout = 16, size = 7;
    const auto count = [](int64_t v) { return static_cast<size_t>(v); };
    U8 x(count(n * cin * size * size));
    std::vector<int8_t> w(count(cout * cin / groups * 9));
    std::vector<int> xs, ws;
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(i * 29 + i / 5), xs.push_back(x[i] - 120);
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<int8_t>(i * 53 + i / 3), ws.push_back(w[i]);
    I32 bias(count(cout));
    Floats scale(count(cout));
    for (size_t o = 0; o < bias.size(); ++o)
      bias[o] = static_cast<int32_t>(o) * 100 - 500, scale[o] = 0.001f * static_cast<float>(o + 1);
    const auto sums = loops(xs, ws, n, cin, cout, size, groups);
    std::vector<int8_t> want;
    for (size_t i = 0; i < sums.size(); ++i) {
      const size_t o = i / count(size * size) % count(cout);
      const float v = std::nearbyint((sums[i] + static_cast<float>(bias[o])) * (0.5f * scale[o] / 0.25f)) - 4;
      want.push_back(static_cast<int8_t>(std::min(127.0f, std::max(-128.0f, v))));
    }
    OpRun r{.op = "QLinearConv",
            .inputs = {tensor<uint8_t>({n, cin, size, size}, x), tensor<float>({}, {0.5f}), tensor<uint8_t>({}, {120}),
                       tensor<int8_t>({cout, cin / groups, 3, 3}, w), tensor<float>({cout}, scale),
                       tensor<int8_t>({1}, {0}), tensor<float>({}, {0.25f}), tensor<int8_t>({}, {-4}),
                       tensor<int32_t>({cout}, bias)},
            .attrs = {{"pads", ir::Attr::Ints{1, 1, 1, 1}}, {"group", groups}}};
    EXPECT_EQ(values<int8_t>(output(r)), want);
    r.constant = {false, false, false, true};
    EXPECT_EQ(values<int8_t>(output(r)), want);
  }
}

TEST(QLinearConv, ChannelsLastAndErrors) {
  const Tensor one = tensor<float>({}, {1}), zero = tensor<uint8_t>({}, {0});
  const OpRun r{.op = "QLinearConv",
                .opset = 1,
                .inputs = {tensor<uint8_t>({1, 1, 2, 2}, {1, 2, 3, 4}), one, zero,
                           tensor<uint8_t>({2, 2, 1, 1}, {1, 10, 2, 20}), one, tensor<uint8_t>({2}, {0, 1}), one, zero},
                .attrs = {{"channels_last", int64_t{1}}},
                .domain = "com.microsoft"};
  EXPECT_EQ(values<uint8_t>(output(r)), (U8{21, 39, 43, 79}));
  OpRun bad = r;
  bad.inputs[4] = tensor<float>({3}, {1, 2, 3});
  EXPECT_NE(failure(bad).find("3 entries"), std::string::npos);
  bad = r;
  bad.inputs[6] = tensor<float>({2}, {1, 2});
  EXPECT_NE(failure(bad).find("one value"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
