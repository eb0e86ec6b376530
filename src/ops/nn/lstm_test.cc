// LSTM, GRU and RNN against the definition, written down plainly.
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

using Row = std::vector<double>;

// Numbers in [-1, 1] that look random.
struct Numbers {
  uint32_t state;
  float next() {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) / 8388608.0f - 1;
  }
  Tensor make(std::initializer_list<int64_t> dims) {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    std::vector<float> v(static_cast<size_t>(n));
    for (float& e : v) e = next();
    return tensor<float>(dims, v);
  }
};

struct Case {
  int gates = 4;
  int64_t seq = 3, batch = 2, inputs = 5, hidden = 7;
  int directions = 1;
  bool reverse = false, batch_first = false, bias = true, initial = true, peephole = false, input_forget = false,
       linear = false;
  double clip = 0;
  std::vector<int32_t> lengths;
};

double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }
double at(const Tensor& t, int64_t i) { return t.valid() ? t.data<float>()[i] : 0; }

// All outputs in layout 0: Y, Y_h, Y_c.
std::vector<Row> reference(const Case& k, const std::vector<Tensor>& in) {
  const int64_t G = k.gates, H = k.hidden, D = k.directions;
  Row y(static_cast<size_t>(k.seq * D * k.batch * H)), yh(static_cast<size_t>(D * k.batch * H)), yc = yh;
  const auto clip = [&](double v) { return k.clip > 0 ? std::fmin(k.clip, std::fmax(-k.clip, v)) : v; };
  for (int64_t d = 0; d < D; ++d)
    for (int64_t b = 0; b < k.batch; ++b) {
      Row h(static_cast<size_t>(H)), c(static_cast<size_t>(H));
      const auto initial = [&](int i, int64_t j) {
        return at(in[i], (k.batch_first ? b * D + d : d * k.batch + b) * H + j);
      };
      for (int64_t j = 0; j < H; ++j) h[j] = initial(5, j), c[j] = initial(6, j);
      const int64_t length = k.lengths.empty() ? k.seq : k.lengths[b];
      for (int64_t i = 0; i < length; ++i) {
        const int64_t t = (D == 1 && k.reverse) || d == 1 ? length - 1 - i : i;
        const auto input = [&](int64_t g) {  // x W + Wb
          double v = at(in[3], d * 2 * G * H + g);
          for (int64_t e = 0; e < k.inputs; ++e)
            v += at(in[0], ((k.batch_first ? b * k.seq + t : t * k.batch + b)) * k.inputs + e) *
                 at(in[1], (d * G * H + g) * k.inputs + e);
          return v;
        };
        const auto recurrent = [&](int64_t g, const Row& state) {
          double v = 0;
          for (int64_t e = 0; e < H; ++e) v += state[e] * at(in[2], (d * G * H + g) * H + e);
          return v;
        };
        const auto rb = [&](int64_t g) { return at(in[3], d * 2 * G * H + G * H + g); };
        const auto whole = [&](int64_t g) { return input(g) + rb(g) + recurrent(g, h); };
        Row next(static_cast<size_t>(H)), reset(static_cast<size_t>(H));
        for (int64_t j = 0; j < H && G == 3; ++j) reset[j] = sigmoid(clip(whole(H + j))) * h[j];
        for (int64_t j = 0; j < H; ++j) {
          if (G == 1) {
            next[j] = std::tanh(clip(whole(j)));
          } else if (G == 3) {
            const double z = sigmoid(clip(whole(j)));
            const double candidate =
                k.linear ? input(2 * H + j) + sigmoid(clip(whole(H + j))) * (recurrent(2 * H + j, h) + rb(2 * H + j))
                         : input(2 * H + j) + recurrent(2 * H + j, reset) + rb(2 * H + j);
            next[j] = (1 - z) * std::tanh(clip(candidate)) + z * h[j];
          } else {
            const auto p = [&](int64_t gate) { return at(in[7], d * 3 * H + gate * H + j); };
            const double ig = sigmoid(clip(whole(j) + p(0) * c[j]));
            const double f = k.input_forget ? 1 - ig : sigmoid(clip(whole(2 * H + j) + p(2) * c[j]));
            c[j] = f * c[j] + ig * std::tanh(clip(whole(3 * H + j)));
            next[j] = sigmoid(clip(whole(H + j) + p(1) * c[j])) * std::tanh(c[j]);
          }
        }
        h = next;
        for (int64_t j = 0; j < H; ++j) y[((t * D + d) * k.batch + b) * H + j] = h[j];
      }
      for (int64_t j = 0; j < H; ++j) yh[(d * k.batch + b) * H + j] = h[j], yc[(d * k.batch + b) * H + j] = c[j];
    }
  return {y, yh, yc};
}

void check(const Case& k, bool constants) {
  const char* names[] = {"", "RNN", "", "GRU", "LSTM"};
  Numbers n{static_cast<uint32_t>(k.gates * 100 + k.directions)};
  const int64_t G = k.gates, H = k.hidden, D = k.directions;
  std::vector<Tensor> in(8);
  in[0] = k.batch_first ? n.make({k.batch, k.seq, k.inputs}) : n.make({k.seq, k.batch, k.inputs});
  in[1] = n.make({D, G * H, k.inputs});
  in[2] = n.make({D, G * H, H});
  if (k.bias) in[3] = n.make({D, 2 * G * H});
  if (!k.lengths.empty()) in[4] = tensor<int32_t>({k.batch}, k.lengths);
  if (k.initial) {
    in[5] = k.batch_first ? n.make({k.batch, D, H}) : n.make({D, k.batch, H});
    if (G == 4) in[6] = k.batch_first ? n.make({k.batch, D, H}) : n.make({D, k.batch, H});
  }
  if (k.peephole) in[7] = n.make({D, 3 * H});
  OpRun r{.op = names[G],
          .opset = 14,
          .attrs = {{"hidden_size", H},
                    {"direction", std::string(D == 2      ? "bidirectional"
                                              : k.reverse ? "reverse"
                                                          : "forward")}}};
  r.outputs = G == 4 ? 3 : 2;
  for (int i = 0; i < (G == 4 ? 8 : 6); ++i) r.inputs.push_back(in[i]);
  if (k.batch_first) r.attrs.push_back({"layout", int64_t{1}});
  if (k.clip > 0) r.attrs.push_back({"clip", static_cast<float>(k.clip)});
  if (k.input_forget) r.attrs.push_back({"input_forget", int64_t{1}});
  if (k.linear) r.attrs.push_back({"linear_before_reset", int64_t{1}});
  if (constants) r.constant = {false, true, true};
  const auto got = outputs(r);
  const auto want = reference(k, in);
  for (int o = 0; o < r.outputs; ++o) {
    const auto v = values<float>(got[o]);
    ASSERT_EQ(v.size(), want[o].size());
    for (int64_t d = 0; d < D; ++d)
      for (int64_t b = 0; b < k.batch; ++b)
        for (int64_t t = 0; t < (o == 0 ? k.seq : 1); ++t)
          for (int64_t j = 0; j < H; ++j) {
            const int64_t plain = ((t * D + d) * k.batch + b) * H + j;
            const int64_t at = !k.batch_first ? plain
                               : o == 0       ? ((b * k.seq + t) * D + d) * H + j
                                              : (b * D + d) * H + j;
            ASSERT_NEAR(v[at], want[o][plain], 2e-5)
                << names[G] << " output " << o << " d " << d << " t " << t << " b " << b << " j " << j;
          }
  }
}

TEST(Recurrent, Definition) {
  for (int gates : {1, 3, 4})
    for (int directions : {1, 2})
      for (bool constants : {false, true}) {
        check({.gates = gates, .directions = directions}, constants);
        check({.gates = gates,
               .directions = directions,
               .batch_first = true,
               .bias = false,
               .initial = false,
               .clip = .5},
              constants);
        check({.gates = gates, .directions = directions, .reverse = true, .lengths = {2, 3}}, constants);
      }
  check({.gates = 3, .directions = 2, .batch_first = true, .linear = true, .lengths = {0, 2}}, true);
  check({.gates = 3, .linear = true, .clip = .3}, false);
  check({.gates = 4, .directions = 2, .peephole = true, .lengths = {3, 1}}, true);
  check({.gates = 4, .peephole = true, .input_forget = true}, true);
  check({.gates = 4, .seq = 5, .batch = 9, .inputs = 33, .hidden = 40}, true);
}

TEST(Recurrent, Activations) {
  // One step of RNN with x = 2, all weights 1, h = 0.
  const Tensor one = tensor<float>({1, 1, 1}, {1});
  OpRun r{.op = "RNN",
          .opset = 14,
          .inputs = {tensor<float>({1, 1, 1}, {2}), one, one},
          .attrs = {{"hidden_size", int64_t{1}}}};
  const auto act = [&](const char* name, std::vector<ir::Attr> more = {}) {
    OpRun q = r;
    q.attrs.push_back({"activations", std::vector<std::string>{name}});
    for (auto& a : more) q.attrs.push_back(a);
    return values<float>(output(q))[0];
  };
  EXPECT_EQ(act("Relu"), 2);
  EXPECT_EQ(act("Affine", {{"activation_alpha", Floats{3}}, {"activation_beta", Floats{.5}}}), 6.5f);
  EXPECT_NEAR(act("HardSigmoid"), .9, 1e-6);
  EXPECT_NEAR(act("ScaledTanh", {{"activation_alpha", Floats{2}}, {"activation_beta", Floats{.5}}}), 2 * std::tanh(1.0),
              1e-5);
  EXPECT_NEAR(act("softsign"), 2 / 3., 1e-6);
  r.attrs.push_back({"activations", std::vector<std::string>{"Nonsense"}});
  EXPECT_NE(failure(r).find("'Nonsense'"), std::string::npos);
}

TEST(Recurrent, ShapesAndChecks) {
  const OpRun r{.op = "LSTM", .opset = 14, .attrs = {{"hidden_size", int64_t{4}}}, .outputs = 3};
  const std::vector<ir::Fact> facts = {fact({symbol("T"), symbol("B"), 3}), fact({1, 16, 3}), fact({1, 16, 4})};
  EXPECT_EQ(inferred(r, facts), "{T,1,B,4}");
  EXPECT_EQ(inferred(r, facts, 2), "{1,B,4}");
  EXPECT_NE(inferred(r, {facts[0], fact({1, 16, 2}), facts[2]}).find("dimension 2 is 2, but the input size is 3"),
            std::string::npos);
  EXPECT_EQ(shape(output({.op = "RNN",
                          .opset = 14,
                          .inputs = {tensor<float>({0, 2, 1}, {}), tensor<float>({1, 1, 1}, {1}),
                                     tensor<float>({1, 1, 1}, {1})}})),
            (Ints{0, 1, 2, 1}));
  const Tensor w = tensor<float>({1, 1, 1}, {1});
  EXPECT_NE(failure({.op = "RNN", .opset = 14, .inputs = {w, w, w, Tensor(), tensor<int32_t>({1}, {5})}})
                .find("sequence_lens[0] is 5"),
            std::string::npos);
  EXPECT_NE(failure({.op = "RNN", .opset = 14, .inputs = {tensor<float>({0, int64_t{1} << 60, 1}, {}), w, w}})
                .find("too large"),
            std::string::npos);
  const auto y = output({.op = "RNN",
                         .opset = 14,
                         .inputs = {half({1, 1, 1}, {.5}), half({1, 1, 1}, {1}), half({1, 1, 1}, {1})},
                         .constant = {false, true, true}});
  EXPECT_NEAR(widened(y)[0], std::tanh(.5), 1e-3);
}

}  // namespace
}  // namespace trunnion::ops::test
