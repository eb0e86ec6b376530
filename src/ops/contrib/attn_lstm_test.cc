#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

// Small numbers in a fixed order.
Tensor numbers(std::initializer_list<int64_t> dims, int64_t step, int64_t modulus = 11) {
  Floats v(static_cast<size_t>(element_count(std::vector<int64_t>(dims))));
  for (size_t i = 0; i < v.size(); ++i)
    v[i] = 0.1f * static_cast<float>(static_cast<int64_t>(i) * step % modulus - modulus / 2);
  return tensor<float>(dims, v);
}

// Sequences of 3 and 2 steps, memories of 3 and 2 rows; everything else has size 2.
OpRun lstm(bool attention_layer) {
  OpRun r{
      .op = "AttnLSTM",
      .opset = 1,
      .inputs = {numbers({3, 2, 2}, 3), numbers({1, 8, attention_layer ? 5 : 4}, 5), numbers({1, 8, 2}, 7),
                 numbers({1, 16}, 2), tensor<int32_t>({2}, {3, 2}), Tensor{}, Tensor{}, Tensor{}, numbers({1, 2, 2}, 4),
                 numbers({1, 2, 2}, 3), numbers({1, 2}, 5), numbers({2, 3, 2}, 7), tensor<int32_t>({2}, {3, 2})},
      .attrs = {{"hidden_size", int64_t{2}}},
      .outputs = 3,
      .domain = "com.microsoft"};
  if (attention_layer) r.inputs.push_back(numbers({1, 4, 3}, 3));
  return r;
}

void expect_near(const Value& found, const Floats& want) {
  const auto v = values<float>(found);
  ASSERT_EQ(v.size(), want.size());
  for (size_t i = 0; i < v.size(); ++i) EXPECT_NEAR(v[i], want[i], 2e-6f) << i;
}

TEST(AttnLSTM, Context) {
  const auto y = outputs(lstm(false));
  expect_near(y[0], {-0.119245283f, 0.001643611f, -0.055534575f, 0.002093445f, -0.178513601f, -0.020780342f,
                     -0.077839397f, -0.012441465f, -0.204980433f, -0.041588828f, 0, 0});
  expect_near(y[1], {-0.204980433f, -0.041588828f, -0.077839397f, -0.012441465f});
  expect_near(y[2], {-0.401203692f, -0.104445532f, -0.151497617f, -0.026513923f});
  EXPECT_EQ(shape(y[0]), (Ints{3, 1, 2, 2}));
}

TEST(AttnLSTM, AttentionLayer) {
  const auto y = outputs(lstm(true));
  expect_near(y[1], {-0.146135300f, -0.041798390f, -0.124831900f, 0.032276653f});
  expect_near(y[2], {-0.264727414f, -0.115655720f, -0.242555499f, 0.084285632f});
}

TEST(AttnLSTM, BothDirections) {
  // Of one step, both directions see the same.
  OpRun r = lstm(false);
  const auto twice = [](const Tensor& t) {
    std::vector<int64_t> dims(t.shape().begin(), t.shape().end());
    dims[0] = 2;
    Tensor out = *Tensor::allocate(DType::f32, dims);
    for (int64_t i = 0; i < 2 * t.count(); ++i) out.data<float>()[i] = t.data<float>()[i % t.count()];
    return out;
  };
  for (size_t i : {1, 2, 3, 8, 9, 10}) r.inputs[i] = twice(r.inputs[i].tensor());
  r.inputs[0] = numbers({1, 2, 2}, 3);
  r.inputs[4] = tensor<int32_t>({2}, {1, 1});
  r.attrs.push_back({"direction", std::string("bidirectional")});
  const auto y = outputs(r);
  const auto h = values<float>(y[1]);
  EXPECT_EQ(Floats(h.begin(), h.begin() + 4), Floats(h.begin() + 4, h.end()));
  EXPECT_NEAR(h[0], -0.119245283f, 2e-6f);
}

TEST(AttnLSTM, Misfits) {
  OpRun r = lstm(false);
  r.inputs[4] = tensor<int32_t>({2}, {3, 4});
  EXPECT_NE(failure(r).find("element 1 of input 4 is 4"), std::string::npos);
  r = lstm(false);
  r.inputs.resize(8);
  EXPECT_NE(failure(r).find("input 8 is left out"), std::string::npos);
  r = lstm(true);
  r.inputs[1] = numbers({1, 8, 4}, 1);
  EXPECT_NE(failure(r).find("input 1 has shape"), std::string::npos);
  r = lstm(false);  // a memory without depth may state any number of rows
  r.inputs[1] = numbers({1, 8, 2}, 5);
  r.inputs[9] = numbers({1, 0, 2}, 3);
  r.inputs[11] = numbers({2, int64_t{1} << 60, 0}, 7);
  EXPECT_NE(failure(r).find("too large"), std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
