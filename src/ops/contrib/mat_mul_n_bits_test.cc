#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

OpRun node(int64_t k, int64_t n, int64_t bits, int64_t block, std::vector<Value> inputs) {
  return {.op = "MatMulNBits",
          .opset = 1,
          .inputs = std::move(inputs),
          .attrs = {{"K", k}, {"N", n}, {"bits", bits}, {"block_size", block}},
          .domain = "com.microsoft"};
}

// Random codes and their values, column by column.
struct Case {
  int64_t k, n, bits, block, blocks;
  std::vector<uint8_t> codes;
  std::vector<float> scales;
  std::vector<int> code;  // [n][k]
  Case(int64_t k_in, int64_t n_in, int64_t bits_in, int64_t block_in)
      : k(k_in), n(n_in), bits(bits_in), block(block_in), blocks((k + block - 1) / block) {
    codes.resize(static_cast<size_t>(n * blocks * block * bits / 8));
    unsigned seed = 1;
    for (int64_t i = 0; i < n * k; ++i) {
      seed = seed * 1664525u + 1013904223u;
      const int v = static_cast<int>(seed >> 16) & ((1 << bits) - 1);
      code.push_back(v);
      const int64_t at = i / k * blocks * block + i % k, per = 8 / bits;
      codes[static_cast<size_t>(at / per)] |= static_cast<uint8_t>(v << (at % per * bits));
    }
    for (int64_t i = 0; i < n * blocks; ++i) scales.push_back(0.5f + static_cast<float>(i % 3));
  }
  template <class Zero>
  Floats product(const Floats& a, int64_t m, Zero&& zero) const {
    Floats y;
    for (int64_t r = 0; r < m; ++r)
      for (int64_t c = 0; c < n; ++c) {
        double sum = 0;
        for (int64_t i = 0; i < k; ++i) {
          const int64_t g = c * blocks + i / block;
          sum += a[static_cast<size_t>(r * k + i)] *
                 (static_cast<double>(code[static_cast<size_t>(c * k + i)]) - zero(g)) * scales[static_cast<size_t>(g)];
        }
        y.push_back(static_cast<float>(sum));
      }
    return y;
  }
};

TEST(MatMulNBits, AllWidths) {
  for (const int64_t bits : {2, 4, 8}) {
    for (const int64_t n : {3, 70}) {
      const Case c(40, n, bits, 16);
      Floats a;
      for (int i = 0; i < 80; ++i) a.push_back(static_cast<float>(i % 7 - 3));
      auto r = node(
          40, n, bits, 16,
          {tensor<float>({2, 1, 40}, a), tensor<uint8_t>({n, 3, 2 * bits}, c.codes), tensor<float>({n * 3}, c.scales)});
      const Floats want = c.product(a, 2, [&](int64_t) { return 1 << (bits - 1); });
      EXPECT_EQ(values<float>(output(r)), want);  // halves and small integers: exact
      r.constant = {false, true, true};
      EXPECT_EQ(values<float>(output(r)), want);
      EXPECT_EQ(shape(output(r)), (Ints{2, 1, n}));
    }
  }
}

TEST(MatMulNBits, FewAndManyRows) {
  for (const int64_t bits : {2, 4, 8}) {
    const Case c(100, 70, bits, 32);
    Floats zeros;
    for (int i = 0; i < 70 * 4; ++i) zeros.push_back(static_cast<float>(i % 5));
    for (const int64_t m : {1, 4, 5, 16, 17, 40}) {
      Floats a, bias(70, 3.0f);
      for (int i = 0; i < m * 100; ++i) a.push_back(static_cast<float>(i % 7 - 3));
      auto r =
          node(100, 70, bits, 32,
               {tensor<float>({m, 100}, a), tensor<uint8_t>({70, 4, 4 * bits}, c.codes),
                tensor<float>({70, 4}, c.scales), tensor<float>({70, 4}, zeros), Tensor{}, tensor<float>({70}, bias)});
      r.constant = {false, true, true, true};
      Floats want = c.product(a, m, [&](int64_t g) { return zeros[static_cast<size_t>(g)]; });
      for (float& v : want) v += 3;
      EXPECT_EQ(values<float>(output(r)), want) << bits << " bits, " << m << " rows";
    }
  }
}

TEST(MatMulNBits, RowsOfEightBits) {
  for (const int64_t bits : {4, 8}) {
    const Case c(90, 40, bits, 32);
    for (const int64_t m : {1, 3, 9}) {
      // The largest magnitude of every block is 127: the rows are their own codes.
      Floats a;
      for (int64_t i = 0; i < m * 90; ++i) a.push_back(i % 90 % 32 == 0 ? -127.0f : static_cast<float>(i % 11 - 5));
      auto r = node(90, 40, bits, 32,
                    {tensor<float>({m, 90}, a), tensor<uint8_t>({40, 3, 4 * bits}, c.codes),
                     tensor<float>({40, 3}, c.scales), Tensor{}, Tensor{}, tensor<float>({40}, Floats(40, 1.0f))});
      r.attrs.push_back({"accuracy_level", int64_t{4}});
      r.constant = {false, true, true};
      Floats want = c.product(a, m, [&](int64_t) { return 1 << (bits - 1); });
      for (float& v : want) v += 1;
      EXPECT_EQ(values<float>(output(r)), want) << bits << " bits, " << m << " rows";
    }
  }
}

TEST(MatMulNBits, ZeroPointsAndBias) {
  const Case c(32, 2, 4, 16);
  Floats a(32, 1.0f);
  a[20] = -2;
  // Packed zero points: two blocks in a byte.
  auto r = node(32, 2, 4, 16,
                {tensor<float>({1, 32}, a), tensor<uint8_t>({2, 2, 8}, c.codes), tensor<float>({2, 2}, c.scales),
                 tensor<uint8_t>({2, 1}, {0x31, 0x75}), Tensor{}, tensor<float>({2}, {100, -100})});
  const double zeros[] = {1, 3, 5, 7};
  Floats want = c.product(a, 1, [&](int64_t g) { return zeros[g]; });
  want[0] += 100, want[1] -= 100;
  EXPECT_EQ(values<float>(output(r)), want);
  r.inputs[3] = tensor<float>({2, 2}, {1, 3, 5, 7});
  r.constant = {false, true, true, true};
  EXPECT_EQ(values<float>(output(r)), want);
  // With zero points that are floats the rows of A keep to f32.
  for (const float zero : {7.25f, 5e9f}) {
    r.inputs[3] = tensor<float>({2, 2}, Floats(4, zero));
    OpRun fast = r;
    fast.attrs.push_back({"accuracy_level", int64_t{4}});
    EXPECT_EQ(values<float>(output(fast)), values<float>(output(r))) << zero;
  }
}

TEST(MatMulNBits, GroupIndices) {
  const Case c(32, 1, 4, 16);
  std::vector<int32_t> groups;
  double want = 0;
  for (int i = 0; i < 32; ++i) {
    groups.push_back(i % 2);
    want += (c.code[static_cast<size_t>(i)] - 8.0) * c.scales[static_cast<size_t>(i % 2)];
  }
  auto r = node(32, 1, 4, 16,
                {tensor<float>({32}, Floats(32, 1.0f)), tensor<uint8_t>({1, 2, 8}, c.codes),
                 tensor<float>({2}, c.scales), Tensor{}, tensor<int32_t>({32}, groups)});
  EXPECT_EQ(values<float>(output(r)), (Floats{static_cast<float>(want)}));
  r.constant = {false, true, true, false, true};
  EXPECT_EQ(values<float>(output(r)), (Floats{static_cast<float>(want)}));
  r.constant.clear();
  groups[5] = 2;
  r.inputs[4] = tensor<int32_t>({32}, groups);
  EXPECT_NE(failure(r).find("g_idx[5] is 2"), std::string::npos);
}

TEST(MatMulNBits, HalvesAndMisfits) {
  const Case c(16, 2, 8, 16);
  auto r = node(16, 2, 8, 16,
                {half({1, 16}, Floats(16, 0.125f)), tensor<uint8_t>({2, 1, 16}, c.codes), half({2, 1}, c.scales)});
  r.constant = {false, true, true};
  EXPECT_EQ(output(r).tensor().dtype(), DType::f16);
  const auto want = c.product(Floats(16, 0.125f), 1, [](int64_t) { return 128; });
  EXPECT_NEAR(widened(output(r))[0], want[0], 0.1);
  EXPECT_NE(failure(node(16, 2, 8, 24, r.inputs)).find("power of two"), std::string::npos);
  EXPECT_NE(failure(node(16, 3, 8, 16, r.inputs)).find("must have 48 elements"), std::string::npos);
  // No weights: zeros.
  EXPECT_EQ(values<float>(output(node(
                16, 2, 4, 16,
                {tensor<float>({1, 16}, Floats(16, 1.0f)), tensor<uint8_t>({0, 1, 8}, {}), tensor<float>({0}, {})}))),
            (Floats{0, 0}));
}

}  // namespace
}  // namespace trunnion::ops::test
