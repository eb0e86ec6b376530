// For tests: attention as it is defined, in double.
#pragma once
#include <functional>
#include <limits>
#include <optional>

#include "ops/test_tensors.h"

namespace trunnion::ops::test {

// Pseudo-random elements in [-1, 1).
struct Numbers {
  uint32_t state = 7;
  std::vector<float> floats(int64_t n) {
    std::vector<float> v;
    for (int64_t i = 0; i < n; ++i) {
      state = state * 1664525u + 1013904223u;
      v.push_back(static_cast<float>(state >> 8) / 8388608.0f - 1);
    }
    return v;
  }
  Tensor make(std::initializer_list<int64_t> dims) {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return tensor<float>(dims, floats(n));
  }
};

inline std::vector<float> elements(const Tensor& t) { return {t.data<float>(), t.data<float>() + t.count()}; }

struct PlainAttention {
  int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, size = 1, v_size = 1;
  using At = std::function<double(int64_t b, int64_t head, int64_t row, int64_t i)>;
  At q, k, v;
  At bias;  // by batch, head, query and key; -infinity leaves the key out
  double scale = 1, softcap = 0;
  std::optional<double> sink;

  // [batch, queries, heads * v_size].
  std::vector<float> run() const {
    std::vector<float> out;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t s = 0; s < queries; ++s)
        for (int64_t h = 0; h < heads; ++h) {
          const int64_t g = h / (heads / kv_heads);
          std::vector<double> p;
          double max = sink ? *sink : -std::numeric_limits<double>::infinity();
          for (int64_t t = 0; t < keys; ++t) {
            double x = 0;
            for (int64_t i = 0; i < size; ++i) x += q(b, h, s, i) * k(b, g, t, i);
            x *= scale;
            if (softcap > 0) x = softcap * std::tanh(x / softcap);
            p.push_back(x + (bias ? bias(b, h, s, t) : 0));
            max = std::max(max, p.back());
          }
          double sum = sink ? std::exp(*sink - max) : 0;
          for (double& x : p) sum += x = std::exp(x - max);
          for (int64_t i = 0; i < v_size; ++i) {
            double y = 0;
            for (int64_t t = 0; t < keys; ++t) y += p[t] / sum * v(b, g, t, i);
            out.push_back(static_cast<float>(y));
          }
        }
    return out;
  }
};

inline constexpr double kLeftOut = -std::numeric_limits<double>::infinity();

inline void expect_near(const std::vector<float>& got, const std::vector<float>& want, float tolerance = 2e-5f) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance) << "element " << i;
}

}  // namespace trunnion::ops::test
