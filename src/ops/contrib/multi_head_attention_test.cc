// MultiHeadAttention and DecoderMaskedMultiHeadAttention against the definition.
#include "ops/contrib/plain_attention.h"

namespace trunnion::ops::test {
namespace {

constexpr int64_t kBatch = 2, kHeads = 2, kSize = 3;
constexpr int64_t kRow = kHeads * kSize;

OpRun node(const char* op, std::vector<Value> inputs, int outputs = 1) {
  return {.op = op,
          .opset = 1,
          .inputs = std::move(inputs),
          .attrs = {{"num_heads", kHeads}},
          .outputs = outputs,
          .domain = "com.microsoft"};
}

PlainAttention plain(int64_t queries, int64_t keys) {
  PlainAttention p;
  p.batch = kBatch;
  p.heads = p.kv_heads = kHeads;
  p.queries = queries;
  p.keys = keys;
  p.size = p.v_size = kSize;
  p.scale = 1 / std::sqrt(static_cast<double>(kSize));
  return p;
}
// Of a tensor [batch, length, heads * size], with a bias from `first` on.
PlainAttention::At rows(const Tensor& t, const Tensor* bias = nullptr, int64_t first = 0) {
  const int64_t length = t.shape()[1];
  const auto data = elements(t);
  const auto add = bias ? elements(*bias) : std::vector<float>();
  return [=](int64_t b, int64_t h, int64_t s, int64_t i) {
    return double{data[(b * length + s) * kRow + h * kSize + i]} + (add.empty() ? 0 : add[first + h * kSize + i]);
  };
}
// Of a tensor [batch, heads, rows, size].
PlainAttention::At blocks(const Tensor& t) {
  const int64_t length = t.shape()[2];
  const auto data = elements(t);
  return [=](int64_t b, int64_t h, int64_t s, int64_t i) {
    return double{data[((b * kHeads + h) * length + s) * kSize + i]};
  };
}
PlainAttention::At joined(PlainAttention::At old, PlainAttention::At fresh, int64_t past) {
  return
      [=](int64_t b, int64_t h, int64_t s, int64_t i) { return s < past ? old(b, h, s, i) : fresh(b, h, s - past, i); };
}

TEST(MultiHeadAttention, Layouts) {
  Numbers n;
  const Tensor q = n.make({kBatch, 4, kRow}), k = n.make({kBatch, 5, kRow}), v = n.make({kBatch, 5, kRow});
  const Tensor bias = n.make({3 * kRow});
  PlainAttention p = plain(4, 5);
  p.q = rows(q, &bias);
  p.k = rows(k, &bias, kRow);
  p.v = rows(v, &bias, 2 * kRow);
  const auto want = p.run();
  expect_near(values<float>(output(node("MultiHeadAttention", {q, k, v, bias}))), want);

  // Keys and values in one tensor.
  std::vector<float> both;
  for (int64_t i = 0; i < kBatch * 5 * kHeads; ++i)
    for (const Tensor* t : {&k, &v})
      for (int64_t e = 0; e < kSize; ++e) both.push_back(t->data<float>()[i * kSize + e]);
  const Tensor kv = tensor<float>({kBatch, 5, kHeads, 2, kSize}, both);
  expect_near(values<float>(output(node("MultiHeadAttention", {q, kv, Tensor(), bias}))), want);

  // Keys and values of an encoder take no bias.
  const Tensor key_blocks = n.make({kBatch, kHeads, 5, kSize}), value_blocks = n.make({kBatch, kHeads, 5, kSize});
  p.k = blocks(key_blocks);
  p.v = blocks(value_blocks);
  expect_near(values<float>(output(node("MultiHeadAttention", {q, key_blocks, value_blocks, bias}))), p.run());
  OpRun decoder = node("DecoderMaskedMultiHeadAttention",
                       {tensor<float>({kBatch, 1, kRow}, n.floats(kBatch * kRow)), key_blocks, value_blocks});
  p.queries = 1;
  p.q = rows(decoder.inputs[0].tensor());
  expect_near(values<float>(output(decoder)), p.run());

  // Everything in one.
  std::vector<float> all;
  const Tensor one = n.make({kBatch, 5, kRow});
  for (int64_t i = 0; i < kBatch * 5 * kHeads; ++i)
    for (const Tensor* t : {&one, &k, &v})
      for (int64_t e = 0; e < kSize; ++e) all.push_back(t->data<float>()[i * kSize + e]);
  p = plain(5, 5);
  p.q = rows(one);
  p.k = rows(k);
  p.v = rows(v);
  expect_near(values<float>(output(node("MultiHeadAttention", {tensor<float>({kBatch, 5, kHeads, 3, kSize}, all)}))),
              p.run());
}

TEST(MultiHeadAttention, PastMaskAndScores) {
  Numbers n;
  const Tensor q = n.make({kBatch, 3, kRow}), k = n.make({kBatch, 3, kRow}), v = n.make({kBatch, 3, kRow});
  const Tensor old_k = n.make({kBatch, kHeads, 2, kSize}), old_v = n.make({kBatch, kHeads, 2, kSize});
  const Tensor bias = n.make({kBatch, 1, 3, 5});
  const std::vector<int32_t> mask{1, 1, 0, 1, 1, 0, 1, 1, 1, 1};
  OpRun r = node("MultiHeadAttention", {q, k, v, Tensor(), tensor<int32_t>({kBatch, 5}, mask), bias, old_k, old_v}, 4);
  r.attrs.push_back({"unidirectional", int64_t{1}});
  PlainAttention p = plain(3, 5);
  p.q = rows(q);
  p.k = joined(blocks(old_k), rows(k), 2);
  p.v = joined(blocks(old_v), rows(v), 2);
  p.bias = [&](int64_t b, int64_t, int64_t s, int64_t t) {
    if (t > s + 2) return kLeftOut;
    return double{bias.data<float>()[(b * 3 + s) * 5 + t]} + (mask[b * 5 + t] ? 0 : -10000);
  };
  const auto out = outputs(r);
  expect_near(values<float>(out[0]), p.run());
  EXPECT_EQ(shape(out[1]), (Ints{kBatch, kHeads, 5, kSize}));
  EXPECT_FLOAT_EQ(values<float>(out[1])[2 * kSize + 1], k.data<float>()[1]);
  const auto scores = values<float>(out[3]);
  EXPECT_EQ(shape(out[3]), (Ints{kBatch, kHeads, 3, 5}));
  EXPECT_EQ(scores[3], std::numeric_limits<float>::lowest());
  EXPECT_NEAR(scores[2], -10000, 5);
}

TEST(MultiHeadAttention, SharedBufferAndBeams) {
  Numbers n;
  const Tensor q = n.make({kBatch, 1, kRow}), k = n.make({kBatch, 1, kRow}), v = n.make({kBatch, 1, kRow});
  const Tensor old_k = n.make({kBatch, kHeads, 6, kSize}), old_v = n.make({kBatch, kHeads, 6, kSize});
  const std::vector<int32_t> from{1, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0};
  OpRun r = node("DecoderMaskedMultiHeadAttention",
                 {q, k, v, Tensor(), Tensor(), old_k, old_v, tensor<int32_t>({1}, {3})}, 3);
  PlainAttention p = plain(1, 4);
  p.q = rows(q);
  p.k = joined(blocks(old_k), rows(k), 3);
  p.v = joined(blocks(old_v), rows(v), 3);
  const auto out = outputs(r);
  expect_near(values<float>(out[0]), p.run());
  EXPECT_EQ(shape(out[1]), (Ints{kBatch, kHeads, 6, kSize}));
  r.inputs.push_back(tensor<int32_t>({1}, {2}));
  r.inputs.push_back(tensor<int32_t>({1, 2, 6}, from));
  const auto follow = [&](PlainAttention::At at) -> PlainAttention::At {
    return [&, at](int64_t b, int64_t h, int64_t s, int64_t i) { return at(s < 3 ? from[b * 6 + s] : b, h, s, i); };
  };
  const auto own = [](PlainAttention::At old, PlainAttention::At fresh) { return joined(old, fresh, 3); };
  p.k = follow(own(blocks(old_k), rows(k)));
  p.v = follow(own(blocks(old_v), rows(v)));
  expect_near(values<float>(output(r)), p.run());
  r.inputs[9] = tensor<int32_t>({1, 2, 6}, {2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_NE(failure(r).find("cache_indirection[0,0,0] is 2"), std::string::npos);
  r.inputs[7] = tensor<int32_t>({1}, {6});
  EXPECT_NE(failure(r).find("past_sequence_length is 6"), std::string::npos);
}

TEST(MultiHeadAttention, Infer) {
  OpRun r = node("MultiHeadAttention", std::vector<Value>(3), 3);
  const auto t = [](const char* length) { return fact({symbol("B"), symbol(length), Dim(6)}); };
  EXPECT_EQ(inferred(r, {t("S"), t("L"), t("L")}), "{B,S,6}");
  EXPECT_EQ(inferred(r, {t("S"), t("L"), t("L")}, 1), "{B,2,L,3}");
}

TEST(MultiHeadAttention, MaskWithoutQueries) {
  OpRun r = node("MultiHeadAttention", {tensor<float>({3, 0, 6}, {}), Tensor(), Tensor(), Tensor(), Tensor()}, 1);
  r.inputs[1] = r.inputs[2] = tensor<float>({3, 50, 6}, std::vector<float>(900, 1));
  r.inputs[4] = tensor<int32_t>({3, 50}, std::vector<int32_t>(150, 1));
  EXPECT_EQ(shape(output(r)), (Ints{3, 0, 6}));
}

}  // namespace
}  // namespace trunnion::ops::test
