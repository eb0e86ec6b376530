// Attention against the definition, and RotaryEmbedding.
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

struct Numbers {
  uint32_t state = 7;
  Tensor make(std::initializer_list<int64_t> dims) {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    std::vector<float> v;
    for (int64_t i = 0; i < n; ++i) {
      state = state * 1664525u + 1013904223u;
      v.push_back(static_cast<float>(state >> 8) / 8388608.0f - 1);
    }
    return tensor<float>(dims, v);
  }
};

struct Case {
  int64_t batch = 2, heads = 4, kv_heads = 4, queries = 3, keys = 5, past = 0, head = 6, v_head = 7;
  bool flat = false, causal = false;
  int64_t left = -1, right = -1;
  double softcap = 0, scale = 0;
  int mask = 0;  // 1: bool [queries, keys], 2: float [batch, 1, queries, keys], 3: bool, short by one key
  std::vector<int64_t> counts;
  int stage = -1;
};

void check(const Case& k) {
  Numbers n;
  const int64_t total = k.past + k.keys;
  const Tensor q = n.make({k.batch, k.heads, k.queries, k.head}), key = n.make({k.batch, k.kv_heads, k.keys, k.head});
  const Tensor value = n.make({k.batch, k.kv_heads, k.keys, k.v_head});
  const Tensor past_key = n.make({k.batch, k.kv_heads, k.past, k.head}),
               past_value = n.make({k.batch, k.kv_heads, k.past, k.v_head});
  const auto flatten = [&](const Tensor& t) {  // [B, H, S, D] -> [B, S, H D]
    const auto& d = t.shape();
    std::vector<float> v(static_cast<size_t>(t.count()));
    for (int64_t i = 0; i < t.count(); ++i) {
      const int64_t e = i % d[3], s = i / d[3] % d[2], h = i / d[3] / d[2] % d[1], b = i / d[3] / d[2] / d[1];
      v[((b * d[2] + s) * d[1] + h) * d[3] + e] = t.data<float>()[i];
    }
    return tensor<float>({d[0], d[2], d[1] * d[3]}, v);
  };
  OpRun r{.op = "Attention", .opset = 25, .outputs = 4};
  r.inputs = {k.flat ? flatten(q) : q,
              k.flat ? flatten(key) : key,
              k.flat ? flatten(value) : value,
              Tensor(),
              Tensor(),
              Tensor(),
              Tensor()};
  if (k.flat) r.attrs = {{"q_num_heads", k.heads}, {"kv_num_heads", k.kv_heads}};
  r.attrs.push_back({"is_causal", int64_t{k.causal}});
  if (k.left >= 0) r.attrs.push_back({"left_window_size", k.left});
  if (k.right >= 0) r.attrs.push_back({"right_window_size", k.right});
  if (k.softcap > 0) r.attrs.push_back({"softcap", static_cast<float>(k.softcap)});
  if (k.scale > 0) r.attrs.push_back({"scale", static_cast<float>(k.scale)});
  if (k.stage >= 0) r.attrs.push_back({"qk_matmul_output_mode", int64_t{k.stage}});
  const int64_t mask_keys = k.mask == 3 ? total - 1 : total;
  const auto allowed = [&](int64_t b, int64_t i, int64_t j) {
    if (j >= mask_keys && k.mask) return false;
    return (k.mask != 1 && k.mask != 3) || (i * 3 + j * 5 + (k.mask == 9 ? b : 0)) % 4 != 1;
  };
  const auto bias = [&](int64_t b, int64_t i, int64_t j) {
    return k.mask == 2 ? static_cast<double>((b + 2 * i + 3 * j) % 5) / 4 : 0.0;
  };
  if (k.mask == 1 || k.mask == 3) {
    std::vector<bool> bits;
    for (int64_t i = 0; i < k.queries; ++i)
      for (int64_t j = 0; j < mask_keys; ++j) bits.push_back(allowed(0, i, j));
    r.inputs[3] = tensor<bool>({k.queries, mask_keys}, bits);
  } else if (k.mask == 2) {
    std::vector<float> v;
    for (int64_t b = 0; b < k.batch; ++b)
      for (int64_t i = 0; i < k.queries; ++i)
        for (int64_t j = 0; j < total; ++j) v.push_back(static_cast<float>(bias(b, i, j)));
    r.inputs[3] = tensor<float>({k.batch, 1, k.queries, total}, v);
  }
  if (k.past) {
    r.inputs[4] = past_key;
    r.inputs[5] = past_value;
  }
  if (!k.counts.empty()) r.inputs[6] = tensor<int64_t>({k.batch}, k.counts);
  if (k.stage < 0) r.outputs = k.past ? 3 : 1;
  const auto got = outputs(r);
  const auto y = values<float>(got[0]);
  ASSERT_EQ(static_cast<int64_t>(y.size()), k.batch * k.heads * k.queries * k.v_head);
  const double scale = k.scale > 0 ? k.scale : 1 / std::sqrt(static_cast<double>(k.head));
  for (int64_t b = 0; b < k.batch; ++b)
    for (int64_t h = 0; h < k.heads; ++h)
      for (int64_t i = 0; i < k.queries; ++i) {
        const int64_t kv = b * k.kv_heads + h / (k.heads / k.kv_heads);
        const int64_t count = k.counts.empty() ? total : k.counts[b],
                      at = (k.counts.empty() ? k.past : count - k.queries) + i;
        std::vector<double> score(static_cast<size_t>(total)), stage0, stage1, stage2;
        const auto k_row = [&](int64_t j) {
          return j < k.past ? past_key.data<float>() + (kv * k.past + j) * k.head
                            : key.data<float>() + (kv * k.keys + j - k.past) * k.head;
        };
        const auto v_row = [&](int64_t j) {
          return j < k.past ? past_value.data<float>() + (kv * k.past + j) * k.v_head
                            : value.data<float>() + (kv * k.keys + j - k.past) * k.v_head;
        };
        for (int64_t j = 0; j < total; ++j)
          for (int64_t e = 0; e < k.head; ++e)
            score[j] += scale * static_cast<double>(q.data<float>()[((b * k.heads + h) * k.queries + i) * k.head + e]) *
                        k_row(j)[e];
        stage0 = score;
        if (k.softcap > 0)
          for (double& s : score) s = k.softcap * std::tanh(s / k.softcap);
        stage1 = score;
        for (int64_t j = 0; j < total; ++j) {
          score[j] += bias(b, i, j);
          if (!allowed(b, i, j) || j >= count || (k.causal && j > at) || (k.left >= 0 && j < at - k.left) ||
              (k.right >= 0 && j > at + k.right))
            score[j] = -INFINITY;
        }
        stage2 = score;
        double most = -INFINITY, sum = 0;
        for (double s : score) most = std::fmax(most, s);
        for (double& s : score) sum += s = most > -INFINITY ? std::exp(s - most) : 0;
        for (double& s : score) s = sum > 0 ? s / sum : 0;
        for (int64_t e = 0; e < k.v_head; ++e) {
          double want = 0;
          for (int64_t j = 0; j < total; ++j) want += score[j] * v_row(j)[e];
          const int64_t to = k.flat ? ((b * k.queries + i) * k.heads + h) * k.v_head + e
                                    : ((b * k.heads + h) * k.queries + i) * k.v_head + e;
          ASSERT_NEAR(y[to], want, 1e-5) << "b " << b << " h " << h << " i " << i;
        }
        if (k.stage < 0) continue;
        const auto& stage = k.stage == 0 ? stage0 : k.stage == 1 ? stage1 : k.stage == 2 ? stage2 : score;
        for (int64_t j = 0; j < total; ++j) {
          const float s = got[3].tensor().data<float>()[((b * k.heads + h) * k.queries + i) * total + j];
          if (std::isinf(stage[j])) {
            ASSERT_EQ(s, -INFINITY);
          } else {
            ASSERT_NEAR(s, stage[j], 1e-5);
          }
        }
      }
  if (k.past)
    for (int64_t kv = 0; kv < k.batch * k.kv_heads; ++kv) {
      EXPECT_EQ(got[1].tensor().data<float>()[kv * total * k.head], past_key.data<float>()[kv * k.past * k.head]);
      EXPECT_EQ(got[2].tensor().data<float>()[(kv * total + k.past) * k.v_head],
                value.data<float>()[kv * k.keys * k.v_head]);
    }
}

TEST(Attention, Definition) {
  check({});
  check({.flat = true});
  check({.kv_heads = 2, .scale = .3});
  check({.heads = 6, .kv_heads = 2, .flat = true, .causal = true});
  check({.causal = true, .softcap = .5});
  check({.mask = 1});
  check({.causal = true, .mask = 2});
  check({.mask = 3});
  check({.past = 4, .causal = true});
  check({.kv_heads = 1, .past = 2, .flat = true, .mask = 2});
  check({.keys = 6, .causal = true, .counts = {2, 5}});
  check({.keys = 6, .counts = {0, 4}});
  check({.queries = 5, .keys = 7, .left = 1, .right = 2});
  check({.batch = 1, .queries = 130, .keys = 150, .past = 20, .causal = true});  // more than one block of rows
}

TEST(Attention, Scores) {
  for (int stage : {0, 1, 2, 3}) check({.kv_heads = 2, .causal = true, .softcap = .7, .mask = 1, .stage = stage});
  check({.keys = 6, .causal = true, .counts = {2, 5}, .stage = 3});
}

TEST(Attention, ShapesAndChecks) {
  const OpRun r{.op = "Attention",
                .opset = 24,
                .attrs = {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}},
                .outputs = 3};
  const std::vector<ir::Fact> facts = {fact({symbol("B"), symbol("S"), 32}),   fact({symbol("B"), symbol("S"), 16}),
                                       fact({symbol("B"), symbol("S"), 16}),   ir::Fact(),
                                       fact({symbol("B"), 2, symbol("P"), 8}), fact({symbol("B"), 2, symbol("P"), 8})};
  EXPECT_EQ(inferred(r, facts), "{B,S,32}");
  EXPECT_EQ(inferred(r, facts, 1), "{B,2,P + S,8}");
  EXPECT_NE(inferred(r, {fact({1, 2, 30}), fact({1, 2, 16}), fact({1, 2, 16})}).find("30 does not divide into 4 heads"),
            std::string::npos);
  const Tensor x = half({1, 1, 1, 2}, {1, 2});
  EXPECT_EQ(widened(output({.op = "Attention", .opset = 23, .inputs = {x, x, x}})), (Floats{1, 2}));
}

TEST(RotaryEmbedding, HalvesAndPairs) {
  const Tensor x = tensor<float>({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor cos = tensor<float>({1, 2, 2}, {0, 1, 1, .5}), sin = tensor<float>({1, 2, 2}, {1, 0, 0, 1});
  OpRun r{.op = "RotaryEmbedding", .opset = 23, .inputs = {x, cos, sin}};
  EXPECT_EQ(values<float>(output(r)), (Floats{-3, 2, 1, 4, 5, -5, 7, 10}));
  r.attrs = {{"interleaved", int64_t{1}}};
  EXPECT_EQ(values<float>(output(r)), (Floats{-2, 1, 3, 4, 5, 6, -4.5, 11}));
  const Tensor cache = tensor<float>({2, 1}, {0, 1}), other = tensor<float>({2, 1}, {1, 0});
  r = {.op = "RotaryEmbedding",
       .opset = 23,
       .inputs = {tensor<float>({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), cache, other, tensor<int64_t>({1, 2}, {1, 0})},
       .attrs = {{"num_heads", int64_t{1}}, {"rotary_embedding_dim", int64_t{2}}}};
  EXPECT_EQ(values<float>(output(r)), (Floats{1, 2, 3, 4, -6, 5, 7, 8}));
  r.inputs[3] = tensor<int64_t>({1, 2}, {1, 2});
  EXPECT_NE(failure(r).find("position_ids[1] is 2"), std::string::npos);
}

// The plain path in double precision gives what the other one gives.
TEST(Attention, DoublePrecision) {
  const auto numbers = [](std::initializer_list<int64_t> dims, float step) {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    Floats v;
    for (int64_t i = 0; i < n; ++i) v.push_back(std::sin(step * static_cast<float>(i)));
    return tensor<float>(dims, v);
  };
  const auto wide = [](const Value& v) {
    const Tensor& t = v.tensor();
    auto out = Tensor::allocate(DType::f64, t.shape());
    for (int64_t i = 0; i < t.count(); ++i) out->data<double>()[i] = static_cast<double>(t.data<float>()[i]);
    return Value(*out);
  };
  const auto compare = [&](std::vector<Value> inputs, std::vector<ir::Attr> attrs, int outs) {
    OpRun run{.op = "Attention", .opset = 24, .inputs = std::move(inputs), .attrs = std::move(attrs), .outputs = outs};
    const auto narrow = outputs(run);
    for (Value& v : run.inputs)
      if (v.tensor().valid() && v.tensor().dtype() == DType::f32) v = wide(v);
    const auto y = outputs(run);
    for (int k = 0; k < outs; ++k) {
      const auto a = values<float>(narrow[static_cast<size_t>(k)]);
      const auto b = values<double>(y[static_cast<size_t>(k)]);
      ASSERT_EQ(a.size(), b.size());
      for (size_t i = 0; i < a.size(); ++i)
        if (std::isfinite(a[i])) EXPECT_NEAR(static_cast<double>(a[i]), b[i], 1e-5) << k << " " << i;
    }
  };
  const Value q = numbers({2, 4, 3, 5}, 0.7f), k = numbers({2, 2, 4, 5}, 0.3f), v = numbers({2, 2, 4, 2}, 1.1f);
  compare({q, k, v}, {}, 1);
  compare({q, k, v, numbers({3, 4}, 0.9f)}, {{"softcap", 0.5f}, {"qk_matmul_output_mode", int64_t{1}}}, 4);
  compare({q, k, v, Tensor{}, numbers({2, 2, 2, 5}, 0.2f), numbers({2, 2, 2, 2}, 0.4f)},
          {{"is_causal", int64_t{1}}, {"qk_matmul_output_mode", int64_t{3}}}, 4);
  compare({q, k, v, Tensor{}, Tensor{}, Tensor{}, tensor<int64_t>({2}, {3, 4})}, {{"is_causal", int64_t{1}}}, 1);
  compare({numbers({2, 3, 8}, 0.6f), numbers({2, 4, 4}, 0.2f), numbers({2, 4, 6}, 0.5f)},
          {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}, {"scale", 0.3f}}, 3);
}

TEST(Attention, HeadsWithoutElements) {
  OpRun run{.op = "Attention",
            .opset = 23,
            .inputs = {tensor<float>({1, 2, 0}, {}), tensor<float>({1, 2, 0}, {}), tensor<float>({1, 2, 0}, {})},
            .attrs = {{"q_num_heads", int64_t{1} << 40}, {"kv_num_heads", int64_t{1} << 40}},
            .outputs = 3};
  EXPECT_EQ(shape(output(run)), (Ints{1, 2, 0}));
}

}  // namespace
}  // namespace trunnion::ops::test
