// GroupQueryAttention against the definition.
#include "ops/contrib/plain_attention.h"

namespace trunnion::ops::test {
namespace {

constexpr int64_t kHeads = 4, kKvHeads = 2, kSize = 8;

OpRun node(std::vector<Value> inputs, int outputs = 3) {
  return {.op = "GroupQueryAttention",
          .opset = 1,
          .inputs = std::move(inputs),
          .attrs = {{"num_heads", kHeads}, {"kv_num_heads", kKvHeads}},
          .outputs = outputs,
          .domain = "com.microsoft"};
}
PlainAttention plain(int64_t batch, int64_t queries, int64_t keys) {
  PlainAttention p;
  p.batch = batch;
  p.heads = kHeads;
  p.kv_heads = kKvHeads;
  p.queries = queries;
  p.keys = keys;
  p.size = p.v_size = kSize;
  p.scale = 1 / std::sqrt(static_cast<double>(kSize));
  return p;
}
PlainAttention::At rows(const Tensor& t, int64_t heads) {
  const int64_t length = t.shape()[1];
  return [=, data = elements(t)](int64_t b, int64_t h, int64_t s, int64_t i) {
    return double{data[((b * length + s) * heads + h) * kSize + i]};
  };
}
PlainAttention::At blocks(const Tensor& t) {
  const int64_t length = t.shape()[2];
  return [=, data = elements(t)](int64_t b, int64_t h, int64_t s, int64_t i) {
    return double{data[((b * kKvHeads + h) * length + s) * kSize + i]};
  };
}
Tensor one(int32_t v) { return tensor<int32_t>({1}, {v}); }

TEST(GroupQueryAttention, PromptOfSeveralLengths) {
  Numbers n;
  const Tensor q = n.make({2, 5, kHeads * kSize}), k = n.make({2, 5, kKvHeads * kSize}),
               v = n.make({2, 5, kKvHeads * kSize});
  PlainAttention p = plain(2, 5, 5);
  p.q = rows(q, kHeads);
  p.k = rows(k, kKvHeads);
  p.v = rows(v, kKvHeads);
  OpRun r = node({q, k, v, Tensor(), Tensor(), tensor<int32_t>({2}, {4, 2}), one(5)}, 4);
  const auto check = [&](auto left_out) {
    p.bias = [=](int64_t b, int64_t, int64_t s, int64_t t) {
      return t > s || (b == 1 && t > 2) || left_out(s, t) ? kLeftOut : 0.0;
    };
    const auto got = values<float>(outputs(r)[0]), want = p.run();
    const size_t valid = (5 + 3) * kHeads * kSize;  // rows of padding mean nothing
    expect_near({got.begin(), got.begin() + valid}, {want.begin(), want.begin() + valid});
  };
  check([](int64_t, int64_t) { return false; });
  EXPECT_EQ(shape(outputs(r)[1]), (Ints{2, kKvHeads, 5, kSize}));
  EXPECT_EQ(shape(outputs(r)[3]), (Ints{2, kHeads, 5, 5}));
  r.attrs.push_back({"local_window_size", int64_t{2}});
  check([](int64_t s, int64_t t) { return t + 2 <= s; });
  r.attrs.push_back({"softcap", 0.5f});
  r.attrs.push_back({"smooth_softmax", int64_t{1}});
  p.softcap = 0.5;
  p.sink = 0;
  check([](int64_t s, int64_t t) { return t + 2 <= s; });
}

TEST(GroupQueryAttention, RotaryAndBuffer) {
  Numbers n;
  const Tensor q = n.make({2, 1, kHeads * kSize}), k = n.make({2, 1, kKvHeads * kSize}),
               v = n.make({2, 1, kKvHeads * kSize});
  const Tensor old_k = n.make({2, kKvHeads, 6, kSize}), old_v = n.make({2, kKvHeads, 6, kSize});
  const Tensor cos = n.make({8, 3}), sin = n.make({8, 3});
  OpRun r = node({q, k, v, old_k, old_v, tensor<int32_t>({2}, {4, 2}), one(5), cos, sin});
  r.attrs.push_back({"do_rotary", int64_t{1}});
  const auto turned = [&](PlainAttention::At at) -> PlainAttention::At {
    return [&, at](int64_t b, int64_t h, int64_t, int64_t i) {
      const int64_t angle = (b == 0 ? 4 : 2) * 3 + i % 3;
      if (i >= 6) return at(b, h, 0, i);
      const double c = cos.data<float>()[angle], s = sin.data<float>()[angle];
      return i < 3 ? c * at(b, h, 0, i) - s * at(b, h, 0, i + 3) : c * at(b, h, 0, i) + s * at(b, h, 0, i - 3);
    };
  };
  PlainAttention p = plain(2, 1, 5);
  p.q = turned(rows(q, kHeads));
  p.k = [&, fresh = turned(rows(k, kKvHeads)), old = blocks(old_k)](int64_t b, int64_t h, int64_t t, int64_t i) {
    return t == (b == 0 ? 4 : 2) ? fresh(b, h, 0, i) : old(b, h, t, i);
  };
  p.v = [&, fresh = rows(v, kKvHeads), old = blocks(old_v)](int64_t b, int64_t h, int64_t t, int64_t i) {
    return t == (b == 0 ? 4 : 2) ? fresh(b, h, 0, i) : old(b, h, t, i);
  };
  p.bias = [](int64_t b, int64_t, int64_t, int64_t t) { return b == 1 && t > 2 ? kLeftOut : 0.0; };
  const auto out = outputs(r);
  expect_near(values<float>(out[0]), p.run());
  EXPECT_EQ(shape(out[1]), (Ints{2, kKvHeads, 6, kSize}));
  EXPECT_NEAR(values<float>(out[1])[4 * kSize + 1], p.k(0, 0, 4, 1), 1e-6);
  r.inputs[5] = tensor<int32_t>({2}, {5, 2});
  EXPECT_NE(failure(r).find("seqlens_k[0] is 5"), std::string::npos);
}

// With scales of one and whole numbers, codes are what they stand for.
TEST(GroupQueryAttention, QuantizedCache) {
  Numbers n;
  std::vector<int8_t> codes;
  std::vector<uint8_t> nibbles;
  std::vector<float> wide;
  for (int i = 0; i < kKvHeads * 3 * kSize; ++i) {
    codes.push_back(static_cast<int8_t>(i * 5 % 13 - 6));
    wide.push_back(codes.back());
  }
  for (size_t i = 0; i < codes.size(); i += 2)
    nibbles.push_back(static_cast<uint8_t>((codes[i] + 8) | (codes[i + 1] + 8) << 4));
  std::vector<float> whole;
  for (float x : n.floats(kKvHeads * kSize)) whole.push_back(std::round(x * 6));
  const Tensor q = n.make({1, 1, kHeads * kSize}), k = tensor<float>({1, 1, kKvHeads * kSize}, whole);
  const Tensor scale = tensor<float>({1}, {1});
  const auto run_with = [&](const Tensor& past, int64_t bits) {
    OpRun r = node({q, k, k, past, past, one(2), one(3)});
    if (bits) {
      r.inputs.insert(r.inputs.end(), {Tensor(), Tensor(), Tensor(), Tensor(), Tensor(), scale, scale});
      r.attrs.insert(r.attrs.end(),
                     {{"k_quant_type", "PER_TENSOR"}, {"v_quant_type", "PER_TENSOR"}, {"kv_cache_bit_width", bits}});
    }
    return outputs(r);
  };
  const auto want = run_with(tensor<float>({1, kKvHeads, 3, kSize}, wide), 0);
  const auto eight = run_with(tensor<int8_t>({1, kKvHeads, 3, kSize}, codes), 8);
  const auto four = run_with(tensor<uint8_t>({1, kKvHeads, 3, kSize / 2}, nibbles), 4);
  expect_near(values<float>(eight[0]), values<float>(want[0]));
  expect_near(values<float>(four[0]), values<float>(want[0]));
  EXPECT_EQ(values<int8_t>(eight[1])[2 * kSize], static_cast<int8_t>(whole[0]));
  EXPECT_EQ(values<uint8_t>(four[1])[kSize] & 15, static_cast<int>(whole[0]) + 8);
  OpRun bad =
      node({q, k, k, tensor<int8_t>({1, kKvHeads, 3, kSize}, codes), tensor<int8_t>({1, kKvHeads, 3, kSize}, codes),
            one(2), one(3), Tensor(), Tensor(), Tensor(), Tensor(), Tensor(), tensor<float>({2}, {1, 1}), scale});
  bad.attrs.insert(bad.attrs.end(), {{"k_quant_type", "PER_TENSOR"}, {"v_quant_type", "PER_TENSOR"}});
  EXPECT_NE(failure(bad).find("input 12 has shape {2}"), std::string::npos);
}

TEST(GroupQueryAttention, HalfCache) {
  Numbers n;
  const auto small = [&](int64_t count) {  // exact in f16
    std::vector<float> v = n.floats(count);
    for (float& x : v) x = std::round(x * 64) / 64;
    return v;
  };
  const auto q = small(kHeads * kSize), k = small(kKvHeads * kSize), past = small(kKvHeads * 4 * kSize);
  const auto wide = outputs(node({tensor<float>({1, 1, 32}, q), tensor<float>({1, 1, 16}, k),
                                  tensor<float>({1, 1, 16}, k), tensor<float>({1, kKvHeads, 4, kSize}, past),
                                  tensor<float>({1, kKvHeads, 4, kSize}, past), one(2), one(3)}));
  const auto h = [](std::initializer_list<int64_t> dims, const std::vector<float>& v) { return half(dims, v); };
  const auto narrow =
      outputs(node({h({1, 1, 32}, q), h({1, 1, 16}, k), h({1, 1, 16}, k), h({1, kKvHeads, 4, kSize}, past),
                    h({1, kKvHeads, 4, kSize}, past), one(2), one(3)}));
  EXPECT_EQ(narrow[1].tensor().dtype(), DType::f16);
  EXPECT_EQ(widened(narrow[1]), values<float>(wide[1]));
  expect_near(widened(narrow[0]), values<float>(wide[0]), 2e-3f);
}

// A window that slides sees what a whole cache with a local window sees.
TEST(GroupQueryAttention, SlidingWindow) {
  Numbers n;
  Tensor small_k = tensor<float>({1, kKvHeads, 4, kSize}, std::vector<float>(64, 0)), small_v = small_k;
  Tensor full_k = tensor<float>({1, kKvHeads, 12, kSize}, std::vector<float>(192, 0)), full_v = full_k;
  int32_t total = 0;
  for (int64_t step : {3, 1, 2, 5, 1}) {
    total += static_cast<int32_t>(step);
    const Tensor q = n.make({1, step, kHeads * kSize}), k = n.make({1, step, kKvHeads * kSize});
    OpRun window = node({q, k, k, small_k, small_v, one(total - 1), one(total)});
    OpRun whole = node({q, k, k, full_k, full_v, one(total - 1), one(total)});
    for (OpRun* r : {&window, &whole}) r->attrs.push_back({"local_window_size", int64_t{3}});
    window.attrs.push_back({"sliding_window_cache", int64_t{1}});
    const auto a = outputs(window), b = outputs(whole);
    expect_near(values<float>(a[0]), values<float>(b[0]));
    small_k = a[1].tensor();
    small_v = a[2].tensor();
    full_k = b[1].tensor();
    full_v = b[2].tensor();
  }
}

TEST(GroupQueryAttention, Infer) {
  OpRun r = node(std::vector<Value>(7));
  std::vector<ir::Fact> facts{fact({symbol("B"), symbol("S"), Dim(32)}),
                              fact({symbol("B"), symbol("S"), Dim(16)}),
                              fact({symbol("B"), symbol("S"), Dim(16)}),
                              fact({symbol("B"), Dim(2), symbol("P"), Dim(8)}),
                              fact({symbol("B"), Dim(2), symbol("P"), Dim(8)}),
                              fact({symbol("B")}, DType::i32),
                              fact({Dim(1)}, DType::i32)};
  EXPECT_EQ(inferred(r, facts), "{B,S,32}");
  EXPECT_EQ(inferred(r, facts, 1), "{B,2,?,8}");
}

TEST(GroupQueryAttention, PositionsAndLengthsThatDoNotFit) {
  Numbers n;
  const Tensor q = n.make({1, 2, kHeads * kSize}), k = n.make({1, 2, kKvHeads * kSize}), cache = n.make({4, kSize / 2});
  OpRun r = node({q, k, k, Tensor(), Tensor(), one(1), one(2), cache, cache, tensor<int64_t>({1, 1}, {0})});
  r.attrs.push_back({"do_rotary", int64_t{1}});
  EXPECT_EQ(shape(output(r)), (Ints{1, 2, kHeads * kSize}));  // a prompt needs the first position only
  r.inputs[9] = tensor<int64_t>({1, 1}, {INT64_MAX});
  EXPECT_NE(failure(r).find("has position"), std::string::npos);
  r.inputs[9] = tensor<int64_t>({1, 1}, {0});
  r.inputs.insert(r.inputs.end(), 6, Value(Tensor()));
  r.inputs.push_back(one(2));  // lengths of queries: every token has a position of its own
  EXPECT_NE(failure(r).find("position_ids has 1 elements for 2 tokens"), std::string::npos);

  OpRun window = node({n.make({1, 1, kHeads * kSize}), n.make({1, 1, kKvHeads * kSize}),
                       n.make({1, 1, kKvHeads * kSize}), Tensor(), Tensor(), one(4), one(5)});
  window.attrs.push_back({"sliding_window_cache", int64_t{1}});
  window.attrs.push_back({"local_window_size", int64_t{1}});
  EXPECT_NE(failure(window).find("needs past keys"), std::string::npos);
}

// The cache may be of the other 16-bit type than the query.
TEST(GroupQueryAttention, CacheOfAnotherHalfType) {
  const auto ones = [](int64_t heads) {
    return half({1, 1, heads * kSize}, Floats(static_cast<size_t>(heads * kSize), 1));
  };
  const Tensor past = bfloat({1, kKvHeads, 1, kSize}, Floats(static_cast<size_t>(kKvHeads * kSize), 3));
  const auto out = outputs(node({ones(kHeads), ones(kKvHeads), ones(kKvHeads), past, past, one(1), one(2)}));
  EXPECT_EQ(out[1].tensor().dtype(), DType::bf16);
  EXPECT_EQ(widened(out[1])[0], 3);
  EXPECT_EQ(widened(out[1])[kSize], 1);
  EXPECT_NEAR(widened(out[0])[0], 3, 0.02f);  // the old key has by far the larger product
}

}  // namespace
}  // namespace trunnion::ops::test
