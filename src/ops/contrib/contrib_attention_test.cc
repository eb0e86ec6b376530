// Attention and QAttention of com.microsoft against the definition.
#include "ops/contrib/plain_attention.h"

namespace trunnion::ops::test {
namespace {

struct Case {
  int64_t batch = 2, queries = 3, heads = 2, size = 4, inner = 5, past = 0;
  bool causal = false, constant = false, bias = false;
  std::vector<int32_t> mask;  // shaped by its length
  std::vector<int64_t> mask_dims;
};

void check(const Case& c, float tolerance = 2e-5f) {
  Numbers n;
  const int64_t d = c.heads * c.size, total = c.past + c.queries;
  const Tensor x = n.make({c.batch, c.queries, c.inner}), w = n.make({c.inner, 3 * d}), b = n.make({3 * d});
  const Tensor past = n.make({2, c.batch, c.heads, c.past, c.size}), bias = n.make({1, c.heads, c.queries, total});
  OpRun r{.op = "Attention", .opset = 1, .outputs = 2, .domain = "com.microsoft"};
  Tensor mask;
  if (!c.mask.empty()) {
    auto t = Tensor::allocate(DType::i32, c.mask_dims);
    ASSERT_TRUE(t.ok());
    std::copy(c.mask.begin(), c.mask.end(), t->data<int32_t>());
    mask = *t;
  }
  r.inputs = {x, w, b, mask, c.past ? past : Tensor(), c.bias ? bias : Tensor()};
  r.attrs = {{"num_heads", c.heads}, {"unidirectional", int64_t{c.causal}}};
  if (c.constant) r.constant = {false, true, false, false, false, false};
  const auto out = outputs(r);

  const auto projected = [&](int64_t part, int64_t batch, int64_t head, int64_t row, int64_t i) {
    const int64_t column = part * d + head * c.size + i;
    double sum = b.data<float>()[column];
    for (int64_t k = 0; k < c.inner; ++k)
      sum += double{x.data<float>()[(batch * c.queries + row) * c.inner + k]} * w.data<float>()[k * 3 * d + column];
    return sum;
  };
  const auto cached = [&](int64_t part, int64_t batch, int64_t head, int64_t t, int64_t i) {
    if (t >= c.past) return projected(part, batch, head, t - c.past, i);
    return double{past.data<float>()[((((part - 1) * c.batch + batch) * c.heads + head) * c.past + t) * c.size + i]};
  };
  PlainAttention p;
  p.batch = c.batch;
  p.heads = p.kv_heads = c.heads;
  p.queries = c.queries;
  p.keys = total;
  p.size = p.v_size = c.size;
  p.scale = 1 / std::sqrt(static_cast<double>(c.size));
  p.q = [&](auto... at) { return projected(0, at...); };
  p.k = [&](auto... at) { return cached(1, at...); };
  p.v = [&](auto... at) { return cached(2, at...); };
  p.bias = [&](int64_t batch, int64_t head, int64_t s, int64_t t) {
    if (c.causal && t > c.past + s) return kLeftOut;
    double add = c.bias ? bias.data<float>()[(head * c.queries + s) * total + t] : 0;
    bool exists = true;
    if (c.mask_dims.size() == 1)
      exists = t < c.mask[batch] && (c.mask.size() == 1u * c.batch || t >= c.mask[c.batch + batch]);
    if (c.mask_dims.size() == 2) exists = c.mask[batch * total + t];
    if (c.mask_dims.size() == 3) exists = c.mask[(batch * c.queries + s) * total + t];
    return add + (exists ? 0 : -10000);
  };
  expect_near(values<float>(out[0]), p.run(), tolerance);
  EXPECT_EQ(shape(out[1]), (Ints{2, c.batch, c.heads, total, c.size}));
  std::vector<float> present;
  for (int64_t part : {1, 2})
    for (int64_t i = 0; i < c.batch * c.heads * total * c.size; ++i)
      present.push_back(static_cast<float>(
          cached(part, i / c.size / total / c.heads, i / c.size / total % c.heads, i / c.size % total, i % c.size)));
  expect_near(values<float>(out[1]), present);
}

TEST(ContribAttention, Definition) {
  check({});
  check({.constant = true});
  check({.causal = true});
  check({.queries = 70, .causal = true});
  check({.past = 4});
  check({.past = 4, .causal = true, .bias = true});
}

TEST(ContribAttention, Masks) {
  check({.mask = {2, 3}, .mask_dims = {2}});
  check({.mask = {2, 3, 1, 0}, .mask_dims = {4}});
  check({.mask = {1, 0, 1, 0, 1, 1}, .mask_dims = {2, 3}});
  check({.past = 1, .causal = true, .mask = {1, 0, 1, 1, 0, 1, 1, 1}, .mask_dims = {2, 4}});
  check({.bias = true, .mask = {1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0}, .mask_dims = {2, 3, 3}});
  // A row without keys is as if it had no mask, less the digits that the filter value takes.
  check({.mask = {0, 0, 0, 1, 1, 1}, .mask_dims = {2, 3}}, 2e-3f);
}

TEST(ContribAttention, Refusals) {
  Numbers n;
  OpRun r{.op = "Attention", .opset = 1, .domain = "com.microsoft"};
  r.attrs = {{"num_heads", int64_t{2}}};
  r.inputs = {n.make({1, 2, 3}), n.make({3, 10})};
  EXPECT_NE(failure(r).find("10 columns"), std::string::npos);
  r.inputs = {n.make({1, 2, 3}), n.make({3, 12}), n.make({11})};
  EXPECT_NE(failure(r).find("bias"), std::string::npos);
  r.inputs = {n.make({1, 2, 3}), n.make({3, 12}), n.make({12}), tensor<int32_t>({1, 3}, {1, 1, 1})};
  EXPECT_NE(failure(r).find("mask"), std::string::npos);
  r.attrs.push_back({"do_rotary", int64_t{1}});
  EXPECT_NE(failure(r).find("do_rotary"), std::string::npos);
}

// The product of codes, less their zero points, is the product of the numbers that they stand for.
TEST(QAttention, IsAttentionOfNumbers) {
  Numbers n;
  std::vector<uint8_t> x;
  std::vector<int8_t> w;
  std::vector<float> wide_x, wide_w, scales;
  for (int i = 0; i < 12; ++i) scales.push_back(0.01f * static_cast<float>(i + 1));
  for (int i = 0; i < 2 * 3 * 5; ++i) {
    x.push_back(static_cast<uint8_t>(37 * i));
    wide_x.push_back(0.02f * (static_cast<float>(x.back()) - 120));
  }
  for (int i = 0; i < 5 * 12; ++i) {
    w.push_back(static_cast<int8_t>(53 * i));
    wide_w.push_back(scales[i % 12] * static_cast<float>(w.back()));
  }
  const Tensor bias = n.make({12}), mask = tensor<int32_t>({2}, {2, 3});
  OpRun q{.op = "QAttention", .opset = 1, .domain = "com.microsoft"};
  q.attrs = {{"num_heads", int64_t{2}}};
  q.inputs = {tensor<uint8_t>({2, 3, 5}, x), tensor<int8_t>({5, 12}, w),  bias,
              tensor<float>({}, {0.02f}),    tensor<float>({12}, scales), mask,
              tensor<uint8_t>({}, {120})};
  OpRun f{.op = "Attention", .opset = 1, .attrs = q.attrs, .domain = "com.microsoft"};
  f.inputs = {tensor<float>({2, 3, 5}, wide_x), tensor<float>({5, 12}, wide_w), bias, mask};
  const auto want = values<float>(output(f));
  expect_near(values<float>(output(q)), want, 1e-4f);
  q.constant = {false, true, true, true, true, false, true};
  expect_near(values<float>(output(q)), want, 1e-4f);
}

}  // namespace
}  // namespace trunnion::ops::test
