// FusedAttention against attention as it is defined: permutations, masks, selections, blocks of heads.
#include "ops/contrib/plain_attention.h"

namespace trunnion::ops::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

ir::Attr ints_attr(const char* name, std::vector<int64_t> v) { return {name, std::move(v), {}}; }

OpRun attention(std::vector<Value> inputs, std::vector<ir::Attr> attrs = {}) {
  return {
      .op = "FusedAttention", .opset = 1, .inputs = std::move(inputs), .attrs = std::move(attrs), .domain = "trunnion"};
}

TEST(FusedAttention, ByHand) {
  // One query, two keys: scores 0 and ln 3, so the weights are 1/4 and 3/4.
  const float ln3 = std::log(3.0f);
  const OpRun run = attention(
      {tensor<float>({1, 2}, {0, 2 * ln3}), tensor<float>({2, 2}, {1, 5, 0, 1}), tensor<float>({2, 1}, {4, 8})},
      {{"scale", 0.5f, {}}});
  EXPECT_EQ(shape(output(run)), (std::vector<int64_t>{1, 1}));
  EXPECT_NEAR(values<float>(output(run))[0], 0.25f * 4 + 0.75f * 8, 1e-5f);
}

// Q, K, V as [batch, row, head, element], as projections leave them; Y back to it.
TEST(FusedAttention, ReadsThroughPermutations) {
  struct Size {
    int64_t batch, heads, queries, keys, size, v_size;
  };
  for (const Size z :
       {Size{2, 3, 5, 7, 8, 4}, Size{1, 2, 150, 130, 16, 24}, Size{1, 1, 1, 33, 32, 8}, Size{2, 2, 70, 1, 3, 5}}) {
    Numbers numbers;
    const Tensor q = numbers.make({z.batch, z.queries, z.heads, z.size}),
                 k = numbers.make({z.batch, z.keys, z.heads, z.size}),
                 v = numbers.make({z.batch, z.keys, z.heads, z.v_size}), bias = numbers.make({z.heads, 1, z.keys}),
                 padding = numbers.make({z.batch, 1, z.queries, 1});
    const auto eq = elements(q), ek = elements(k), ev = elements(v), eb = elements(bias), ep = elements(padding);
    PlainAttention p{z.batch, z.heads, z.heads, z.queries, z.keys, z.size, z.v_size};
    p.q = [&](int64_t b, int64_t h, int64_t r, int64_t i) {
      return eq[((b * z.queries + r) * z.heads + h) * z.size + i];
    };
    p.k = [&](int64_t b, int64_t h, int64_t r, int64_t i) { return ek[((b * z.keys + r) * z.heads + h) * z.size + i]; };
    p.v = [&](int64_t b, int64_t h, int64_t r, int64_t i) {
      return ev[((b * z.keys + r) * z.heads + h) * z.v_size + i];
    };
    p.scale = 0.3;
    const std::vector<ir::Attr> attrs = {{"scale", 0.3f, {}},
                                         ints_attr("q_perm", {0, 2, 1, 3}),
                                         ints_attr("k_perm", {0, 2, 3, 1}),
                                         ints_attr("v_perm", {0, 2, 1, 3}),
                                         ints_attr("y_perm", {0, 2, 1, 3})};
    expect_near(values<float>(output(attention({q, k, v}, attrs))), p.run());
    p.bias = [&](int64_t, int64_t h, int64_t, int64_t t) { return eb[h * z.keys + t]; };
    expect_near(values<float>(output(attention({q, k, v, bias}, attrs))), p.run());
    p.bias = [&](int64_t b, int64_t h, int64_t r, int64_t t) { return eb[h * z.keys + t] + ep[b * z.queries + r]; };
    expect_near(values<float>(output(attention({q, k, v, padding, bias}, attrs))), p.run());
  }
}

TEST(FusedAttention, Selections) {
  Numbers numbers;
  constexpr int64_t kQ = 6, kK = 40;
  const Tensor q = numbers.make({1, 2, kQ, 8}), k = numbers.make({1, 2, 8, kK}), v = numbers.make({1, 2, kK, 3}),
               bias = numbers.make({kQ, kK});
  auto select = Tensor::allocate(DType::boolean, std::vector<int64_t>{1, 1, kQ, kK});
  ASSERT_TRUE(select.ok());
  for (int64_t i = 0; i < kQ * kK; ++i) select->data<bool>()[i] = (i * 7) % 5 < 3;
  const bool* allowed = select->data<bool>();
  const auto eq = elements(q), ek = elements(k), ev = elements(v), eb = elements(bias);
  PlainAttention p{1, 2, 2, kQ, kK, 8, 3};
  p.q = [&](int64_t, int64_t h, int64_t r, int64_t i) { return eq[(h * kQ + r) * 8 + i]; };
  p.k = [&](int64_t, int64_t h, int64_t r, int64_t i) { return ek[(h * 8 + i) * kK + r]; };
  p.v = [&](int64_t, int64_t h, int64_t r, int64_t i) { return ev[(h * kK + r) * 3 + i]; };
  for (int first : {0, 1}) {
    for (int inverted : {0, 1}) {
      p.bias = [&](int64_t, int64_t, int64_t r, int64_t t) {
        return allowed[r * kK + t] != (inverted == 1) ? eb[r * kK + t] : kLeftOut;
      };
      const OpRun run = attention({q, k, v, bias, Tensor(), *select}, {{"select_value", -kInf, {}},
                                                                       {"select_first", int64_t{first}, {}},
                                                                       {"select_inverted", int64_t{inverted}, {}},
                                                                       ints_attr("y_perm", {0, 2, 1, 3})});
      expect_near(values<float>(output(run)), p.run());
    }
  }
  // A finite value: the scores left out are all the same.
  const Tensor none = tensor<bool>({1}, {false});
  const auto mean =
      values<float>(output(attention({q, k, v, Tensor(), Tensor(), none}, {{"select_value", -1e4f, {}}})));
  float sum = 0;
  for (int64_t t = 0; t < kK; ++t) sum += ev[t * 3];
  EXPECT_NEAR(mean[0], sum / kK, 1e-5f);
}

TEST(FusedAttention, RowsWithoutKeysAreNotANumber) {
  const OpRun run = attention({tensor<float>({2, 1}, {1, 1}), tensor<float>({1, 2}, {1, 1}),
                               tensor<float>({2, 1}, {3, 4}), tensor<float>({2, 2}, {-kInf, -kInf, 0, -kInf})});
  const auto y = values<float>(output(run));
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 3);
}

// One value holds Q, K and V: heads 0 and 1, 2 and 3, 4 and 5.
TEST(FusedAttention, BlocksOfHeads) {
  Numbers numbers;
  const Tensor qkv = numbers.make({2, 9, 6, 4});
  const auto e = elements(qkv);
  PlainAttention p{2, 2, 2, 9, 9, 4, 4};
  const auto at = [&](int64_t first) {
    return [&, first](int64_t b, int64_t h, int64_t r, int64_t i) { return e[((b * 9 + r) * 6 + first + h) * 4 + i]; };
  };
  p.q = at(0);
  p.k = at(2);
  p.v = at(4);
  const OpRun run = attention({qkv, qkv, qkv}, {{"heads", int64_t{2}, {}},
                                                {"k_first", int64_t{2}, {}},
                                                {"v_first", int64_t{4}, {}},
                                                ints_attr("q_perm", {0, 2, 1, 3}),
                                                ints_attr("k_perm", {0, 2, 3, 1}),
                                                ints_attr("v_perm", {0, 2, 1, 3}),
                                                ints_attr("y_perm", {0, 2, 1, 3})});
  expect_near(values<float>(output(run)), p.run());
  OpRun wrong = run;
  wrong.attrs[2] = {"v_first", int64_t{5}, {}};
  EXPECT_NE(failure(wrong).find("V has 6 heads, 2 from 5 on are wanted"), std::string::npos) << failure(wrong);
}

// Batch and heads repeat as in MatMul.
TEST(FusedAttention, Broadcasting) {
  Numbers numbers;
  const Tensor q = numbers.make({1, 3, 4, 5}), k = numbers.make({2, 1, 5, 6}), v = numbers.make({1, 1, 6, 2});
  const auto eq = elements(q), ek = elements(k), ev = elements(v);
  PlainAttention p{2, 3, 3, 4, 6, 5, 2};
  p.q = [&](int64_t, int64_t h, int64_t r, int64_t i) { return eq[(h * 4 + r) * 5 + i]; };
  p.k = [&](int64_t b, int64_t, int64_t r, int64_t i) { return ek[(b * 5 + i) * 6 + r]; };
  p.v = [&](int64_t, int64_t, int64_t r, int64_t i) { return ev[r * 2 + i]; };
  expect_near(values<float>(output(attention({q, k, v}, {ints_attr("y_perm", {0, 2, 1, 3})}))), p.run());
}

TEST(FusedAttention, Infer) {
  const OpRun run = attention({}, {ints_attr("q_perm", {0, 2, 1, 3}), ints_attr("k_perm", {0, 2, 3, 1}),
                                   ints_attr("v_perm", {0, 2, 1, 3}), ints_attr("y_perm", {0, 2, 1, 3})});
  const auto rows = [](const char* length, int64_t size) { return fact({symbol("B"), symbol(length), 12, size}); };
  EXPECT_EQ(inferred(run, {rows("S", 64), rows("L", 64), rows("L", 32)}), "{B,S,12,32}");
  EXPECT_NE(inferred(run, {rows("S", 64), rows("L", 32), rows("L", 32)}).find("elements of Q and K: 64 against 32"),
            std::string::npos);
  EXPECT_NE(inferred(run, {fact({1, 2, 12, 4}), fact({1, 3, 12, 4}), fact({1, 3, 12, 4}), fact({2, 4})})
                .find("shapes {1,12,2,3} and {1,1,2,4}"),
            std::string::npos);
}

TEST(FusedAttention, NoRows) {
  const OpRun run = attention(
      {tensor<float>({0, 2}, {}), tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}), tensor<float>({3, 1}, {1, 2, 3})});
  EXPECT_EQ(shape(output(run)), (std::vector<int64_t>{0, 1}));
}

}  // namespace
}  // namespace trunnion::ops::test
