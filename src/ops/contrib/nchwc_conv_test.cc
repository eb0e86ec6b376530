#include <algorithm>

#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun node(std::string op, std::vector<Value> inputs, std::vector<ir::Attr> attrs = {}) {
  return {.op = std::move(op),
          .opset = 1,
          .inputs = std::move(inputs),
          .attrs = std::move(attrs),
          .domain = "com.microsoft.nchwc"};
}

// The weight of output o, input i, tap t.
float weight(int64_t o, int64_t i, int64_t t) { return static_cast<float>((o * 7 + i * 3 + t * 5) % 11 - 5); }

Tensor ramp(std::initializer_list<int64_t> dims, int64_t step) {
  Tensor t = *Tensor::allocate(DType::f32, std::vector<int64_t>(dims));
  for (int64_t i = 0; i < t.count(); ++i) t.data<float>()[i] = static_cast<float>(i * step % 13 - 6);
  return t;
}

// Weights of 1 x 2 taps in blocks of `block` outputs and `inner` inputs.
Tensor weights(int64_t outputs, int64_t inputs, int64_t block, int64_t inner) {
  Floats v;
  for (int64_t o = 0; o < outputs; o += block)
    for (int64_t i = 0; i < inputs; i += inner)
      for (int64_t t = 0; t < 2; ++t)
        for (int64_t bi = 0; bi < inner; ++bi)
          for (int64_t bo = 0; bo < block; ++bo) v.push_back(weight(o + bo, i + bi, t));
  return tensor<float>({outputs, inputs, 1, 2}, v);
}
Tensor plain(int64_t outputs, int64_t inputs) { return weights(outputs, inputs, 1, 1); }

// [N, C, H, W] in blocks of channels, under the same shape.
Tensor blocked(const Tensor& x, int64_t block) {
  const auto& d = x.shape();
  Tensor y = *Tensor::allocate(DType::f32, d);
  float* to = y.data<float>();
  for (int64_t n = 0; n < d[0]; ++n)
    for (int64_t c = 0; c < d[1]; c += block)
      for (int64_t p = 0; p < d[2] * d[3]; ++p)
        for (int64_t b = 0; b < block; ++b) *to++ = x.data<float>()[((n * d[1]) + c + b) * d[2] * d[3] + p];
  return y;
}

OpRun constant_weights(OpRun r) {
  r.constant = {false, true, true};
  return r;
}

Tensor reference(const Tensor& x, const Tensor& w, int64_t groups) {
  const OpRun r{.op = "Conv", .opset = 11, .inputs = {x, w}, .attrs = {{"group", groups}}};
  return output(r).tensor();
}
Floats elements(const Tensor& t) { return {t.data<float>(), t.data<float>() + t.count()}; }

TEST(NchwcConv, BlocksOfEight) {
  // 24 outputs: no blocks of 16.
  const Tensor x = ramp({2, 8, 2, 4}, 5);
  const auto r = constant_weights(node("Conv", {blocked(x, 8), weights(24, 8, 8, 8)}));
  EXPECT_EQ(values<float>(output(r)), elements(blocked(reference(x, plain(24, 8), 1), 8)));
  const Tensor more = ramp({1, 16, 2, 4}, 5);
  const auto folded = constant_weights(node("Conv", {blocked(more, 8), weights(24, 16, 8, 8)}));
  EXPECT_EQ(values<float>(output(folded)), elements(blocked(reference(more, plain(24, 16), 1), 8)));
  // Fewer inputs than a block come in plain order.
  const Tensor few = ramp({1, 3, 2, 4}, 5);
  const auto first = constant_weights(node("Conv", {few, weights(8, 3, 8, 1)}));
  EXPECT_EQ(values<float>(output(first)), elements(blocked(reference(few, plain(8, 3), 1), 8)));
}

TEST(NchwcConv, BlocksOfSixteen) {
  // 12 inputs in plain order are fewer than a block of 16.
  const Tensor x = ramp({1, 12, 2, 4}, 7);
  const auto r = constant_weights(node("Conv", {x, weights(32, 12, 16, 1)}));
  EXPECT_EQ(values<float>(output(r)), elements(blocked(reference(x, plain(32, 12), 1), 16)));
}

TEST(NchwcConv, DepthwiseWithSumAndActivation) {
  const Tensor x = ramp({1, 24, 1, 3}, 5), sum = ramp({1, 24, 1, 2}, 3);
  const auto r =
      constant_weights(node("Conv", {blocked(x, 8), weights(24, 1, 8, 1), tensor<float>({24}, Floats(24, 1.0f)), sum},
                            {{"group", int64_t{24}}, {"activation", std::string("Relu")}}));
  Floats want = elements(blocked(reference(x, plain(24, 1), 24), 8));
  for (size_t i = 0; i < want.size(); ++i) want[i] = std::max(0.0f, want[i] + 1 + sum.data<float>()[i]);
  EXPECT_EQ(values<float>(output(r)), want);
}

TEST(NchwcConv, Misfits) {
  EXPECT_NE(failure(node("Conv", {ramp({1, 8, 1, 2}, 1), plain(8, 8)})).find("constant"), std::string::npos);
  EXPECT_NE(failure(constant_weights(node("Conv", {ramp({1, 8, 1, 2}, 1), plain(12, 8)}))).find("multiple"),
            std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
