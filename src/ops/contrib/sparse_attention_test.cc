// SparseAttention against the definition.
#include "ops/contrib/plain_attention.h"

namespace trunnion::ops::test {
namespace {

TEST(SparseAttention, Layouts) {
  constexpr int64_t kHeads = 4, kKvHeads = 2, kSize = 2, kBlock = 2, kRows = 6;
  Numbers n;
  // Two layouts of 3 x 3 blocks, which heads take in turn: the diagonal, and all before it.
  const auto row_indices = tensor<int32_t>({2, 4}, {0, 1, 2, 3, 0, 1, 3, 6});
  const auto columns = tensor<int32_t>({2, 6}, {0, 1, 2, -1, -1, -1, 0, 0, 1, 0, 1, 2});
  const Tensor old_k = n.make({2, kKvHeads, kRows, kSize}), old_v = n.make({2, kKvHeads, kRows, kSize});
  for (const int64_t queries : {1, 5}) {
    const Tensor q = n.make({2, queries, kHeads * kSize}), k = n.make({2, queries, kKvHeads * kSize}),
                 v = n.make({2, queries, kKvHeads * kSize});
    const std::vector<int32_t> lengths = queries == 1 ? std::vector<int32_t>{5, 3} : std::vector<int32_t>{5, 5};
    OpRun r{.op = "SparseAttention", .opset = 1, .outputs = 3, .domain = "com.microsoft"};
    r.inputs = {q, k, v, old_k, old_v, row_indices, columns, tensor<int32_t>({1}, {5}), tensor<int32_t>({2}, lengths)};
    r.attrs = {{"num_heads", kHeads}, {"kv_num_heads", kKvHeads}, {"sparse_block_size", kBlock}};
    const auto out = outputs(r);
    PlainAttention p;
    p.batch = 2;
    p.heads = kHeads;
    p.kv_heads = kKvHeads;
    p.queries = queries;
    p.keys = 5;
    p.size = p.v_size = kSize;
    p.scale = 1 / std::sqrt(2.0);
    const auto past = [&](int64_t b) { return lengths[b] - queries; };
    const auto fresh = [&](const Tensor& t, int64_t heads, int64_t b, int64_t h, int64_t s, int64_t i) {
      return double{t.data<float>()[((b * queries + s) * heads + h) * kSize + i]};
    };
    const auto cached = [&](const Tensor& old, const Tensor& t, int64_t b, int64_t h, int64_t s, int64_t i) {
      if (s >= past(b) && s < lengths[b]) return fresh(t, kKvHeads, b, h, s - past(b), i);
      return double{old.data<float>()[((b * kKvHeads + h) * kRows + s) * kSize + i]};
    };
    p.q = [&](int64_t b, int64_t h, int64_t s, int64_t i) { return fresh(q, kHeads, b, h, s, i); };
    p.k = [&](int64_t b, int64_t h, int64_t s, int64_t i) { return cached(old_k, k, b, h, s, i); };
    p.v = [&](int64_t b, int64_t h, int64_t s, int64_t i) { return cached(old_v, v, b, h, s, i); };
    p.bias = [&](int64_t b, int64_t h, int64_t s, int64_t t) {
      const int64_t at = past(b) + s;
      return t > at || (h % 2 == 0 && t / kBlock != at / kBlock) ? kLeftOut : 0.0;
    };
    expect_near(values<float>(out[0]), p.run());
    EXPECT_NEAR(values<float>(out[1])[past(0) * kSize], p.k(0, 0, past(0), 0), 1e-6);
    r.inputs[8] = tensor<int32_t>({2}, {5, 7});
    EXPECT_NE(failure(r).find("key_total_sequence_lengths[1] is 7"), std::string::npos);
    r.inputs[8] = tensor<int32_t>({2}, lengths);
    r.inputs[5] = tensor<int32_t>({2, 4}, {0, 1, 2, 7, 0, 1, 3, 6});
    EXPECT_NE(failure(r).find("block_row_indices[0,3] is 7"), std::string::npos);
    r.inputs[5] = row_indices;
    for (size_t i : {0u, 1u, 2u})  // without a query, the cache passes through
      r.inputs[i] = tensor<float>({2, 0, r.inputs[i].tensor().shape()[2]}, {});
    EXPECT_EQ(values<float>(outputs(r)[1])[0], values<float>(r.inputs[3])[0]);
  }
}

}  // namespace
}  // namespace trunnion::ops::test
