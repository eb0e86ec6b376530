// LinearAttention against its recurrence, and LinearAttentionGate.
#include "ops/contrib/plain_attention.h"

namespace trunnion::ops::test {
namespace {

struct Case {
  const char* rule = "gated_delta";
  int64_t q_heads = 2, kv_heads = 2, window = 0;
  bool past = true, wide_decay = false, one_beta = false;
};

void check(const Case& c) {
  Numbers n;
  constexpr int64_t kBatch = 2, kTokens = 3, kKey = 4, kValue = 10;
  const bool decays = std::string(c.rule).starts_with("gated"), corrects = std::string(c.rule).ends_with("delta");
  const int64_t h = c.kv_heads, heads = std::max(c.q_heads, h), slots = std::max<int64_t>(c.window, 1);
  const Tensor q = n.make({kBatch, kTokens, c.q_heads * kKey}), k = n.make({kBatch, kTokens, h * kKey}),
               v = n.make({kBatch, kTokens, h * kValue});
  const Tensor decay = n.make({kBatch, kTokens, c.wide_decay ? h * kKey : h}),
               beta = n.make({kBatch, kTokens, c.one_beta ? 1 : h});
  const Tensor past = c.window ? n.make({slots, kBatch, h, kKey, kValue}) : n.make({kBatch, h, kKey, kValue});
  OpRun r{.op = "LinearAttention", .opset = 1, .outputs = 2, .domain = "com.microsoft"};
  r.inputs = {q, k, v, c.past ? past : Tensor(), decays ? decay : Tensor(), corrects ? beta : Tensor()};
  r.attrs = {{"q_num_heads", c.q_heads}, {"kv_num_heads", h}, {"update_rule", c.rule}, {"state_window", c.window}};
  const auto out = outputs(r);

  const int64_t slot = kBatch * h * kKey * kValue;
  std::vector<float> want(kBatch * kTokens * heads * kValue), states(slots * slot, 0);
  for (int64_t b = 0; b < kBatch; ++b)
    for (int64_t g = 0; g < h; ++g) {
      std::vector<double> s(kKey * kValue, 0);
      const int64_t at = (b * h + g) * kKey * kValue;
      for (size_t i = 0; c.past && i < s.size(); ++i) s[i] = past.data<float>()[(slots - 1) * slot + at + i];
      for (int64_t t = 0; t < kTokens; ++t) {
        const int64_t token = b * kTokens + t;
        const float *key = k.data<float>() + (token * h + g) * kKey,
                    *value = v.data<float>() + (token * h + g) * kValue;
        for (int64_t i = 0; decays && i < kKey; ++i)
          for (int64_t j = 0; j < kValue; ++j)
            s[i * kValue + j] *=
                std::exp(double{decay.data<float>()[c.wide_decay ? (token * h + g) * kKey + i : token * h + g]});
        std::vector<double> update(value, value + kValue);
        for (int64_t j = 0; corrects && j < kValue; ++j) {
          for (int64_t i = 0; i < kKey; ++i) update[j] -= s[i * kValue + j] * key[i];
          update[j] *= beta.data<float>()[c.one_beta ? token : token * h + g];
        }
        for (int64_t i = 0; i < kKey; ++i)
          for (int64_t j = 0; j < kValue; ++j) s[i * kValue + j] += key[i] * update[j];
        for (int64_t head = 0; head < heads; ++head) {
          if (head / (heads / h) != g) continue;
          const float* query = q.data<float>() + (token * c.q_heads + head / (heads / c.q_heads)) * kKey;
          for (int64_t j = 0; j < kValue; ++j) {
            double y = 0;
            for (int64_t i = 0; i < kKey; ++i) y += query[i] * s[i * kValue + j];
            want[(token * heads + head) * kValue + j] = static_cast<float>(y / 2);
          }
        }
        if (const int64_t w = slots - kTokens + t; w >= 0)
          std::copy(s.begin(), s.end(), states.begin() + w * slot + at);
      }
    }
  expect_near(values<float>(out[0]), want, 1e-4f);
  expect_near(values<float>(out[1]), states, 1e-4f);
}

TEST(LinearAttention, Rules) {
  for (const char* rule : {"linear", "gated", "delta", "gated_delta"}) check({.rule = rule});
  check({.past = false});
  check({.wide_decay = true, .one_beta = true});
}
TEST(LinearAttention, Heads) {
  check({.q_heads = 4, .kv_heads = 2});
  check({.q_heads = 1, .kv_heads = 2});
}
TEST(LinearAttention, Windows) {
  check({.window = 2});
  check({.window = 5});
}

TEST(LinearAttentionGate, Values) {
  OpRun r{.op = "LinearAttentionGate", .opset = 1, .outputs = 2, .domain = "com.microsoft"};
  r.inputs = {tensor<float>({1, 2, 2}, {1, -2, 100, 0}), tensor<float>({2}, {0, 2}), tensor<float>({2}, {-1, 2}),
              tensor<float>({1, 2, 2}, {0, 1, -1, 50})};
  const auto out = outputs(r);
  const float log2 = std::log(2.0f);
  expect_near(values<float>(out[0]), {-std::log1p(std::exp(1.0f)), 2 * log2, -100, 2 * std::log1p(std::exp(2.0f))},
              1e-5f);
  expect_near(values<float>(out[1]), {0.5f, 1 / (1 + std::exp(-1.0f)), 1 / (1 + std::exp(1.0f)), 1});
}

}  // namespace
}  // namespace trunnion::ops::test
