#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

Tensor numbers(std::initializer_list<int64_t> dims, float step) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  Floats v;
  for (int64_t i = 0; i < n; ++i) v.push_back(std::sin(step * static_cast<float>(i + 1)));
  return tensor<float>(dims, v);
}

Value wide(const Value& v) {
  const Tensor& t = v.tensor();
  auto out = Tensor::allocate(DType::f64, t.shape());
  for (int64_t i = 0; i < t.count(); ++i) out->data<double>()[i] = static_cast<double>(t.data<float>()[i]);
  return Value(*out);
}

// What f32 gives, f64 gives too.
void compare(const char* op, int64_t gates, std::vector<ir::Attr> attrs, int64_t directions, bool batch_first = false,
             bool all_inputs = true) {
  const int64_t hidden = 3, rows = gates * hidden;
  std::vector<Value> in = {batch_first ? numbers({2, 4, 5}, 0.7f) : numbers({4, 2, 5}, 0.7f),
                           numbers({directions, rows, 5}, 0.3f), numbers({directions, rows, hidden}, 0.9f)};
  if (all_inputs) {
    in.push_back(numbers({directions, 2 * rows}, 0.2f));
    in.push_back(tensor<int32_t>({2}, {4, 2}));
    in.push_back(batch_first ? numbers({2, directions, hidden}, 0.5f) : numbers({directions, 2, hidden}, 0.5f));
    if (gates == 4) {
      in.push_back(batch_first ? numbers({2, directions, hidden}, 0.6f) : numbers({directions, 2, hidden}, 0.6f));
      in.push_back(numbers({directions, 3 * hidden}, 1.3f));
    }
  }
  attrs.push_back({"hidden_size", hidden});
  if (batch_first) attrs.push_back({"layout", int64_t{1}});
  if (directions == 2) attrs.push_back({"direction", std::string("bidirectional")});
  OpRun run{.op = op, .opset = 22, .inputs = std::move(in), .attrs = std::move(attrs), .outputs = gates == 4 ? 3 : 2};
  const auto narrow = outputs(run);
  for (Value& v : run.inputs)
    if (v.tensor().dtype() == DType::f32) v = wide(v);
  const auto y = outputs(run);
  for (size_t k = 0; k < y.size(); ++k) {
    EXPECT_EQ(shape(narrow[k]), shape(y[k]));
    const auto a = values<float>(narrow[k]);
    const auto b = values<double>(y[k]);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(static_cast<double>(a[i]), b[i], 2e-6) << op << k << " " << i;
  }
}

TEST(RecurrentPlain, Lstm) {
  compare("LSTM", 4, {}, 1, false, false);
  compare("LSTM", 4, {{"input_forget", int64_t{1}}, {"clip", 0.5f}}, 2);
  compare("LSTM", 4, {{"direction", std::string("reverse")}}, 1, true);
}

TEST(RecurrentPlain, Gru) {
  compare("GRU", 3, {}, 1, false, false);
  compare("GRU", 3, {{"linear_before_reset", int64_t{1}}}, 2);
  compare("GRU", 3, {{"direction", std::string("reverse")}}, 1, true);
}

TEST(RecurrentPlain, RnnWithEveryActivation) {
  for (const char* name : {"Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh",
                           "HardSigmoid", "Elu", "Softsign", "Softplus"})
    compare("RNN", 1, {{"activations", std::vector<std::string>{name}}}, 1);
  compare("RNN", 1, {}, 2, true, false);
}

}  // namespace
}  // namespace trunnion::ops::test
