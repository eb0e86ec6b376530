#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

constexpr int64_t kHidden = 3, kInputs = 2, kSeq = 4;

Floats wave(size_t n, float scale, float phase) {
  Floats v(n);
  for (size_t i = 0; i < n; ++i) v[i] = scale * std::sin(phase + static_cast<float>(i) * 1.7f);
  return v;
}

// Sequences of the same inputs that start from different states.
OpRun node(std::vector<float> phases, Value lengths, const char* direction = "forward") {
  const auto batch = static_cast<int64_t>(phases.size());
  const Floats one = wave(kSeq * kInputs, 2, 0.3f);
  Floats x, h;
  for (int64_t t = 0; t < kSeq; ++t)
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < kInputs; ++i) x.push_back(one[static_cast<size_t>(t * kInputs + i)]);
  for (float p : phases)
    for (float v : wave(kHidden, p + 0.1f, p)) h.push_back(v);
  std::vector<int8_t> w, r;
  for (int i = 0; i < kInputs * 4 * kHidden; ++i) w.push_back(static_cast<int8_t>(i * 53 % 251 - 125));
  for (int i = 0; i < kHidden * 4 * kHidden; ++i) r.push_back(static_cast<int8_t>(i * 91 % 247 - 120));
  return {.op = "DynamicQuantizeLSTM",
          .opset = 1,
          .inputs = {tensor<float>({kSeq, batch, kInputs}, x), tensor<int8_t>({1, kInputs, 4 * kHidden}, w),
                     tensor<int8_t>({1, kHidden, 4 * kHidden}, r), Tensor{}, std::move(lengths),
                     tensor<float>({1, batch, kHidden}, h), Tensor{}, Tensor{}, tensor<float>({1}, {0.01f}),
                     tensor<int8_t>({1}, {0}), tensor<float>({1}, {0.02f}), tensor<int8_t>({1}, {0})},
          .attrs = {{"hidden_size", kHidden}, {"direction", std::string(direction)}},
          .outputs = 3,
          .domain = "com.microsoft"};
}

Floats row(const Floats& v, size_t i) {
  return Floats(v.begin() + static_cast<long>(i) * kHidden, v.begin() + static_cast<long>(i + 1) * kHidden);
}

TEST(DynamicQuantizeLSTM, SequencesDoNotDependOnEachOther) {
  for (const char* direction : {"forward", "reverse"}) {
    const auto both = outputs(node({0.5f, 4.0f}, Tensor{}, direction));
    for (const size_t b : {0, 1}) {
      const auto alone = outputs(node({b ? 4.0f : 0.5f}, Tensor{}, direction));
      for (int o = 1; o < 3; ++o)
        EXPECT_EQ(row(values<float>(both[static_cast<size_t>(o)]), b), values<float>(alone[static_cast<size_t>(o)]));
      for (size_t t = 0; t < kSeq; ++t)
        EXPECT_EQ(row(values<float>(both[0]), t * 2 + b), row(values<float>(alone[0]), t));
    }
  }
}

TEST(DynamicQuantizeLSTM, CloseToFloats) {
  const auto y = outputs(node({0.5f}, Tensor{}));
  // The LSTM in double with the dequantized weights.
  const OpRun n = node({0.5f}, Tensor{});
  const auto x = values<float>(n.inputs[0]), start = values<float>(n.inputs[5]);
  const auto w = values<int8_t>(n.inputs[1]), r = values<int8_t>(n.inputs[2]);
  double h[kHidden], c[kHidden] = {};
  for (size_t i = 0; i < kHidden; ++i) h[i] = start[i];
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (size_t t = 0; t < kSeq; ++t) {
    double g[4 * kHidden] = {};
    for (size_t j = 0; j < 4 * kHidden; ++j) {
      for (size_t i = 0; i < kInputs; ++i) g[j] += x[t * kInputs + i] * 0.01 * w[i * 4 * kHidden + j];
      for (size_t i = 0; i < kHidden; ++i) g[j] += h[i] * 0.02 * r[i * 4 * kHidden + j];
    }
    for (size_t i = 0; i < kHidden; ++i) {
      c[i] = sigmoid(g[2 * kHidden + i]) * c[i] + sigmoid(g[i]) * std::tanh(g[3 * kHidden + i]);
      h[i] = sigmoid(g[kHidden + i]) * std::tanh(c[i]);
      EXPECT_NEAR(values<float>(y[0])[t * kHidden + i], h[i], 0.03);
    }
  }
}

TEST(DynamicQuantizeLSTM, Lengths) {
  const auto y = outputs(node({0.5f, 1.0f, 2.0f}, tensor<int32_t>({3}, {2, 0, 4}), "reverse"));
  const Floats zeros(kHidden, 0.0f);
  EXPECT_EQ(row(values<float>(y[0]), 2 * 3 + 0), zeros);
  EXPECT_NE(row(values<float>(y[0]), 1 * 3 + 0), zeros);
  EXPECT_EQ(row(values<float>(y[1]), 0), row(values<float>(y[0]), 0));  // ends at time 0
  for (size_t o = 1; o < 3; ++o) EXPECT_EQ(row(values<float>(y[o]), 1), zeros);
  EXPECT_NE(failure(node({1.0f}, tensor<int32_t>({1}, {5}))).find("sequence_lens[0] is 5"), std::string::npos);
}

TEST(DynamicQuantizeLSTM, StatesThatNoMemoryHolds) {
  OpRun r = node({1.0f}, Tensor{});
  r.inputs[0] = tensor<float>({0, int64_t{1} << 60, kInputs}, {});
  r.inputs[5] = Tensor{};
  r.outputs = 1;
  EXPECT_NE(failure(r).find("too large"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
