#include "kernels/rnn.h"

#include "kernels/rung_test.h"

namespace trunnion::kernels {
namespace {

double apply(const RnnActivation& a, double x) {
  switch (a.act) {
    case RnnAct::sigmoid:
      return 1 / (1 + std::exp(-x));
    case RnnAct::tanh:
      return std::tanh(x);
    case RnnAct::relu:
      return x > 0 ? x : 0;
    case RnnAct::affine:
      return a.alpha * x + a.beta;
    case RnnAct::leaky_relu:
      return x < 0 ? a.alpha * x : x;
    case RnnAct::thresholded_relu:
      return x >= a.alpha ? x : 0;
    case RnnAct::scaled_tanh:
      return a.alpha * std::tanh(a.beta * x);
    case RnnAct::hard_sigmoid:
      return std::fmin(1, std::fmax(0, a.alpha * x + a.beta));
    case RnnAct::elu:
      return x < 0 ? a.alpha * std::expm1(x) : x;
    case RnnAct::softsign:
      return x / (1 + std::fabs(x));
    case RnnAct::softplus:
      return std::log1p(std::exp(x));
  }
  return 0;
}
double clamp(double x, float clip) { return clip > 0 ? std::fmin(clip, std::fmax(-clip, x)) : x; }

TEST(Rnn, EveryActivation) {
  for_each_rung([] {
    const std::vector<float> x = random_floats(51, -6, 6);
    for (int act = 0; act <= int(RnnAct::softplus); ++act) {
      for (float clip : {0.0f, 2.5f}) {
        const RnnActivation a{static_cast<RnnAct>(act), 0.75f, 0.5f};
        std::vector<float> y(51);
        rnn().activate(x.data(), y.data(), 51, a, clip);
        for (size_t i = 0; i < 51; ++i) ASSERT_NEAR(y[i], apply(a, clamp(x[i], clip)), 2e-6) << act;
      }
    }
  });
}

TEST(Rnn, LstmStep) {
  for_each_rung([] {
    for (size_t hidden : {1, 5, 16, 37}) {
      for (int variant = 0; variant < 8; ++variant) {
        const size_t batch = 2, stride = 4 * hidden + 3;
        const std::vector<float> gates = random_floats(batch * stride, -3, 3),
                                 c0 = random_floats(batch * hidden, -1, 1, 2),
                                 peephole = random_floats(3 * hidden, -1, 1, 3);
        std::vector<float> c(batch * hidden), h(batch * hidden);
        LstmStep s{};
        s.gates = gates.data(), s.gate_stride = static_cast<int64_t>(stride);
        s.c_prev = c0.data(), s.c = c.data(), s.h = h.data(), s.h_stride = static_cast<int64_t>(hidden);
        s.batch = 2, s.hidden = static_cast<int64_t>(hidden);
        s.peephole = variant & 1 ? peephole.data() : nullptr;
        s.clip = variant & 2 ? 1.5f : 0;
        s.input_forget = variant == 4;
        if (variant >= 6) s.f = {RnnAct::hard_sigmoid, 0.2f, 0.5f}, s.g = {RnnAct::relu}, s.out = {RnnAct::softsign};
        rnn().lstm(s);
        for (size_t b = 0; b < batch; ++b) {
          for (size_t k = 0; k < hidden; ++k) {
            const double prev = c0[b * hidden + k];
            const auto gate = [&](size_t which) { return double(gates[b * stride + which * hidden + k]); };
            const auto peep = [&](size_t which, double cell) {
              return s.peephole ? peephole[which * hidden + k] * cell : 0;
            };
            const double i = apply(s.f, clamp(gate(0) + peep(0, prev), s.clip));
            const double f = s.input_forget ? 1 - i : apply(s.f, clamp(gate(2) + peep(2, prev), s.clip));
            const double cell = f * prev + i * apply(s.g, clamp(gate(3), s.clip));
            const double o = apply(s.f, clamp(gate(1) + peep(1, cell), s.clip));
            ASSERT_NEAR(c[b * hidden + k], cell, 2e-6);
            ASSERT_NEAR(h[b * hidden + k], o * apply(s.out, cell), 2e-6);
          }
        }
        std::vector<float> in_place = c0;
        s.c_prev = s.c = in_place.data();
        rnn().lstm(s);
        EXPECT_EQ(in_place, c);
      }
    }
  });
}

TEST(Rnn, GruStep) {
  for_each_rung([] {
    for (size_t hidden : {1, 7, 16, 35}) {
      for (int variant = 0; variant < 8; ++variant) {
        const size_t batch = 2;
        const std::vector<float> x = random_floats(batch * 3 * hidden, -2, 2),
                                 hg = random_floats(batch * 3 * hidden, -2, 2, 2),
                                 h0 = random_floats(batch * hidden, -1, 1, 3);
        std::vector<float> rh(batch * hidden), h(batch * hidden);
        const int64_t n = static_cast<int64_t>(hidden);
        GruStep s{};
        s.x_gates = x.data(), s.x_stride = 3 * n, s.h_gates = hg.data(), s.hg_stride = 3 * n;
        s.h_prev = h0.data(), s.h_prev_stride = n, s.rh = rh.data(), s.h = h.data(), s.h_stride = n;
        s.batch = 2, s.hidden = n;
        s.clip = variant & 2 ? 1.0f : 0;
        s.linear_before_reset = variant & 1;
        if (variant & 4) s.f = {RnnAct::hard_sigmoid, 0.2f, 0.5f}, s.g = {RnnAct::affine, 0.5f, 0.1f};
        rnn().gru_reset(s);
        rnn().gru_update(s);
        for (size_t b = 0; b < batch; ++b) {
          for (size_t k = 0; k < hidden; ++k) {
            const size_t at = b * 3 * hidden + k;
            const double z = apply(s.f, clamp(double(x[at]) + hg[at], s.clip));
            const double r = apply(s.f, clamp(double(x[at + hidden]) + hg[at + hidden], s.clip));
            const double product = hg[at + 2 * hidden];
            const double g =
                apply(s.g, clamp(x[at + 2 * hidden] + (s.linear_before_reset ? r * product : product), s.clip));
            ASSERT_NEAR(rh[b * hidden + k], r * h0[b * hidden + k], 1e-6);
            ASSERT_NEAR(h[b * hidden + k], (1 - z) * g + z * h0[b * hidden + k], 2e-6);
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace trunnion::kernels
