// GatedConv against its sums, with the gate in the weights (many pixels) and in the picture (few).
#include <cmath>

#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

Tensor wave(std::vector<int64_t> dims, float step) {
  auto t = Tensor::allocate(DType::f32, dims);
  EXPECT_TRUE(t.ok());
  for (int64_t i = 0; i < t->count(); ++i) t->data<float>()[i] = std::sin(step * static_cast<float>(i) + 1);
  return *t;
}

TEST(GatedConv, GateInEitherFactor) {
  for (int64_t pixels : {1, 7, 40}) {
    for (int64_t out : {8, 17, 37}) {
      for (bool shared : {false, true}) {
        const int64_t batch = 2, in = 5;
        const Tensor x = wave({batch, pixels, 1, in}, 0.37f), w = wave({out, in, 1, 1}, 0.71f),
                     gate = wave({shared ? 1 : batch, 1, 1, in}, 1.3f), bias = wave({out}, 0.5f),
                     residual = wave({batch, pixels, 1, out}, 0.2f);
        const Value y = output(OpRun{.op = "GatedConv",
                                     .opset = 1,
                                     .inputs = {x, w, gate, bias, residual},
                                     .attrs = {{"activation", std::string("relu"), {}}},
                                     .domain = "trunnion",
                                     .constant = {false, true, false, false, false}});
        ASSERT_EQ(shape(y), (Ints{batch, pixels, 1, out}));
        const auto got = values<float>(y);
        for (int64_t n = 0; n < batch; ++n)
          for (int64_t p = 0; p < pixels; ++p)
            for (int64_t o = 0; o < out; ++o) {
              const int64_t at = (n * pixels + p) * out + o;
              double sum = bias.data<float>()[o] + static_cast<double>(residual.data<float>()[at]);
              for (int64_t i = 0; i < in; ++i)
                sum += static_cast<double>(x.data<float>()[(n * pixels + p) * in + i]) *
                       gate.data<float>()[(shared ? 0 : n) * in + i] * w.data<float>()[o * in + i];
              EXPECT_NEAR(got[static_cast<size_t>(at)], std::fmax(sum, 0.0), 2e-6) << pixels << " " << out << " " << at;
            }
      }
    }
  }
}

}  // namespace
}  // namespace trunnion::ops::test
