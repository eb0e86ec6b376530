// MoE and QMoE against the definition.
#include "ops/contrib/plain_attention.h"

namespace trunnion::ops::test {
namespace {

struct Case {
  const char* activation = "silu";
  int64_t top = 2, fusion = 0, inner = 5;
  bool normalize = false, constant = false;
};
constexpr int64_t kTokens = 7, kExperts = 3, kHidden = 4;

void check(const Case& c) {
  Numbers n;
  const bool swiglu = std::string(c.activation) == "swiglu", third = swiglu && c.fusion == 0;
  const int64_t width = swiglu && !third ? 2 * c.inner : c.inner;
  const Tensor x = n.make({kTokens, kHidden}), scores = n.make({kTokens, kExperts});
  const Tensor w1 = n.make({kExperts, width, kHidden}), b1 = n.make({kExperts, width}),
               w2 = n.make({kExperts, kHidden, c.inner}), b2 = n.make({kExperts, kHidden}),
               w3 = n.make({kExperts, c.inner, kHidden}), b3 = n.make({kExperts, c.inner});
  OpRun r{.op = "MoE", .opset = 1, .domain = "com.microsoft"};
  r.inputs = {x, scores, w1, b1, w2, b2};
  if (third) r.inputs.insert(r.inputs.end(), {w3, b3});
  r.attrs = {{"k", c.top},
             {"activation_type", c.activation},
             {"swiglu_fusion", c.fusion},
             {"swiglu_limit", 0.7f},
             {"activation_alpha", 1.5f},
             {"activation_beta", 1.0f},
             {"normalize_routing_weights", int64_t{c.normalize}}};
  if (c.constant) r.constant = {false, false, true, true, true, true};
  const auto dot = [&](const Tensor& w, const Tensor& b, int64_t e, int64_t row, const double* in, int64_t count) {
    double sum = b.data<float>()[e * w.shape()[1] + row];
    for (int64_t i = 0; i < count; ++i) sum += in[i] * w.data<float>()[(e * w.shape()[1] + row) * count + i];
    return sum;
  };
  std::vector<float> want;
  for (int64_t t = 0; t < kTokens; ++t) {
    const float* s = scores.data<float>() + t * kExperts;
    std::vector<int64_t> order{0, 1, 2};
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return s[a] > s[b]; });
    double all = 0, chosen = 0;
    for (int64_t e = 0; e < kExperts; ++e) all += std::exp(double{s[e]});
    for (int64_t i = 0; i < c.top; ++i) chosen += std::exp(double{s[order[i]]});
    const std::vector<double> in(x.data<float>() + t * kHidden, x.data<float>() + (t + 1) * kHidden);
    std::vector<double> y(kHidden, 0);
    for (int64_t i = 0; i < c.top; ++i) {
      const int64_t e = order[i];
      std::vector<double> inner;
      for (int64_t k = 0; k < c.inner; ++k) {
        const int64_t row = c.fusion == 1 ? 2 * k : k;
        double g = dot(w1, b1, e, row, in.data(), kHidden);
        if (swiglu) {
          double l = third ? dot(w3, b3, e, k, in.data(), kHidden)
                           : dot(w1, b1, e, c.fusion == 1 ? row + 1 : k + c.inner, in.data(), kHidden);
          g = std::min(g, 0.7);
          l = std::clamp(l, -0.7, 0.7);
          inner.push_back(g / (1 + std::exp(-1.5 * g)) * (l + 1));
        } else {
          inner.push_back(std::string(c.activation) == "relu" ? std::max(g, 0.0) : g / (1 + std::exp(-g)));
        }
      }
      for (int64_t o = 0; o < kHidden; ++o)
        y[o] += std::exp(double{s[e]}) / (c.normalize ? chosen : all) * dot(w2, b2, e, o, inner.data(), c.inner);
    }
    want.insert(want.end(), y.begin(), y.end());
  }
  expect_near(values<float>(output(r)), want, 2e-5f);
}

TEST(MoE, Definition) {
  check({});
  check({.activation = "relu", .top = 1, .normalize = true});
  check({.top = 3, .inner = 40, .constant = true});
  check({.inner = 34});
  for (int64_t fusion : {0, 1, 2}) check({.activation = "swiglu", .fusion = fusion, .normalize = true});
  check({.activation = "swiglu", .fusion = 1, .inner = 17, .constant = true});
}

TEST(MoE, Checks) {
  Numbers n;
  OpRun r{.op = "MoE", .opset = 1, .attrs = {{"k", int64_t{4}}}, .domain = "com.microsoft"};
  r.inputs = {n.make({2, 4}), n.make({2, 3}), n.make({3, 5, 4}), Tensor(), n.make({3, 4, 5})};
  EXPECT_NE(failure(r).find("there are 3 experts"), std::string::npos);
  r.attrs = {{"k", int64_t{1}}};
  r.inputs[4] = n.make({3, 5, 4});
  EXPECT_NE(failure(r).find("input 4 has shape {3,5,4}"), std::string::npos);
}

// Codes are what they stand for; a row has blocks of 16 elements, or one scale.
TEST(QMoE, IsMoEOfNumbers) {
  constexpr int64_t kWide = 32, kInner = 16;
  for (const int64_t bits : {2, 4, 8})
    for (const int64_t block : {0, 16})
      for (const bool zeros : {false, true}) {
        Numbers n;
        const Tensor x = n.make({3, kWide}), scores = n.make({3, 2});
        OpRun q{.op = "QMoE", .opset = 1, .domain = "com.microsoft"},
            f{.op = "MoE", .opset = 1, .domain = "com.microsoft"};
        q.inputs = {x, scores};
        f.inputs = {x, scores};
        std::vector<Tensor> zero_inputs;
        for (const auto [rows, cols] : {std::pair{kInner, kWide}, std::pair{kWide, kInner}}) {
          const int64_t blocks = block ? cols / block : 1, per_byte = 8 / bits, mask = (1 << bits) - 1;
          const int64_t zero_row = block ? (blocks * bits + 7) / 8 : 0,
                        zero_all = block ? rows * zero_row : rows * bits / 8;
          std::vector<uint8_t> codes(2 * rows * cols / per_byte), zero(2 * zero_all);
          for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i * 77 + i / 7);
          for (size_t i = 0; i < zero.size(); ++i) zero[i] = static_cast<uint8_t>(i * 29 + 100);
          std::vector<float> scale, wide;
          for (int64_t i = 0; i < 2 * rows * blocks; ++i) scale.push_back(0.01f + 0.001f * static_cast<float>(i % 9));
          for (int64_t i = 0; i < 2 * rows * cols; ++i) {
            const int64_t row = i / cols, b = block ? i % cols / block : 0;
            const auto code = [&](const std::vector<uint8_t>& bytes, int64_t first, int64_t at) {
              return (bytes[first + at / per_byte] >> (at % per_byte * bits)) & mask;
            };
            int64_t z = int64_t{1} << (bits - 1);
            if (zeros) z = block ? code(zero, row * zero_row, b) : code(zero, row / rows * zero_all, row % rows);
            wide.push_back(static_cast<float>(code(codes, 0, i) - z) * scale[row * blocks + b]);
          }
          q.inputs.push_back(tensor<uint8_t>({2, rows, cols / per_byte}, codes));
          q.inputs.push_back(block ? tensor<float>({2, rows, blocks}, scale) : tensor<float>({2, rows}, scale));
          q.inputs.push_back(Tensor());
          f.inputs.push_back(tensor<float>({2, rows, cols}, wide));
          f.inputs.push_back(Tensor());
          zero_inputs.push_back(
              zeros ? (block ? tensor<uint8_t>({2, rows, zero_row}, zero) : tensor<uint8_t>({2, zero_all}, zero))
                    : Tensor());
        }
        f.inputs.pop_back();
        if (zeros) q.inputs.insert(q.inputs.end(), {Tensor(), Tensor(), Tensor(), zero_inputs[0], zero_inputs[1]});
        q.attrs = {{"expert_weight_bits", bits}};
        if (block) q.attrs.push_back({"block_size", block});
        f.attrs = {{"normalize_routing_weights", int64_t{1}}};
        const auto want = values<float>(output(f));
        expect_near(values<float>(output(q)), want, 1e-4f);
        q.constant.assign(q.inputs.size(), true);  // then the weights are packed; 8-bit blocks take 8-bit activations
        q.constant[0] = q.constant[1] = false;
        expect_near(values<float>(output(q)), want, block && bits == 8 ? 0.5f : 1e-4f);
      }
}

TEST(QMoE, ScalesOfEightBits) {
  const Tensor codes = tensor<uint8_t>({1, 16, 16}, std::vector<uint8_t>(256, 0));
  const Tensor scales = raw(DType::f8e4m3fn, {1, 16}, std::vector<uint8_t>(16, 0));
  const OpRun r{.op = "QMoE",
                .opset = 1,
                .inputs = {tensor<float>({1, 16}, std::vector<float>(16, 1)), tensor<float>({1, 1}, {1}), codes, scales,
                           Tensor(), codes, scales},
                .attrs = {{"expert_weight_bits", int64_t{8}}},
                .domain = "com.microsoft"};
  EXPECT_NE(failure(r).find("input 3 of type"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
