#include "ops/nn/recurrent_plain_detail.h"

#include <algorithm>
#include <cmath>

#include "base/checked_math.h"

namespace trunnion::ops {
namespace {

using kernels::RnnAct;
using kernels::RnnActivation;

double activate(const RnnActivation& f, double x) {
  const double a = f.alpha, b = f.beta;
  switch (f.act) {
    case RnnAct::sigmoid:
      return 1 / (1 + std::exp(-x));
    case RnnAct::tanh:
      return std::tanh(x);
    case RnnAct::relu:
      return x < 0 ? 0 : x;
    case RnnAct::affine:
      return a * x + b;
    case RnnAct::leaky_relu:
      return x < 0 ? a * x : x;
    case RnnAct::thresholded_relu:
      return x < a ? 0 : x;
    case RnnAct::scaled_tanh:
      return a * std::tanh(b * x);
    case RnnAct::hard_sigmoid: {
      const double y = a * x + b;
      return y < 0 ? 0 : y > 1 ? 1 : y;
    }
    case RnnAct::elu:
      return x < 0 ? a * std::expm1(x) : x;
    case RnnAct::softsign:
      return x / (1 + std::fabs(x));
    case RnnAct::softplus:
      return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
  }
  return x;
}

// to[i] = row i of m times v, [+ bias[i]]; m has `rows` rows of n.
void multiply(const double* m, const double* v, const double* bias, double* to, int64_t rows, int64_t n) {
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) sum += m[i * n + k] * v[k];
    to[i] = bias ? sum + bias[i] : sum;
  }
}

class PlainRecurrent final : public Kernel {
 public:
  PlainRecurrent(RecurrentParams p, PlainRecurrentOptions o) : p_(std::move(p)), o_(o) {}

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    const int64_t hidden = ctx.in(2).dim(2), batch = ctx.in(0).dim(p_.batch_first ? 0 : 1);
    const int64_t sizes[] = {p_.directions, batch, 2 * p_.gates + 3, hidden};
    const auto needed = checked_product<int64_t>(sizes);
    if (!needed || *needed > int64_t{1} << 48)
      return invalid_argument("a batch of {} with {} hidden elements is too large", batch, hidden);
    ctx.request_scratch(static_cast<size_t>(*needed) * sizeof(double));
    return std::unique_ptr<KernelState>();
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    const int64_t seq = x.dim(p_.batch_first ? 1 : 0), batch = x.dim(p_.batch_first ? 0 : 1);
    const int64_t hidden = ctx.in(2).dim(2);
    if (ctx.in(1).dim(1) != p_.gates * hidden || ctx.in(2).dim(1) != p_.gates * hidden)
      return invalid_argument("inputs 1 and 2 have {} and {} rows, need {}", ctx.in(1).dim(1), ctx.in(2).dim(1),
                              p_.gates * hidden);
    if (ctx.has_in(4)) {
      if (ctx.in(4).count != batch)
        return invalid_argument("sequence_lens has {} elements, the batch has {}", ctx.in(4).count, batch);
      for (int64_t b = 0; b < batch; ++b)
        if (const int32_t n = ctx.in(4).as<int32_t>()[b]; n < 0 || n > seq)
          return invalid_argument("sequence_lens[{}] is {}, expected a value in [0, {}]", b, n, seq);
    }
    // Sequences and directions have nothing to do with one another.
    ctx.parallel_for(p_.directions * batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        run_sequence(ctx, static_cast<int>(i / batch), i % batch, seq, batch, hidden,
                     reinterpret_cast<double*>(ctx.scratch()) + i * floats(hidden));
    });
    return {};
  }

 private:
  // Products with the input and with the state, the state, the reset state.
  int64_t floats(int64_t hidden) const { return (2 * p_.gates + 3) * hidden; }

  void run_sequence(KernelContext& ctx, int d, int64_t b, int64_t seq, int64_t batch, int64_t hidden,
                    double* work) const {
    const int64_t inputs = ctx.in(0).dim(2), rows = p_.gates * hidden;
    double *gx = work, *gh = gx + rows, *h = gh + rows, *c = h + hidden, *reset = c + hidden;
    const auto state_at = [&](const TensorView& v) {
      return v.as<double>() + (p_.batch_first ? b * p_.directions + d : d * batch + b) * hidden;
    };
    const auto initial = [&](int input, double* to) {
      if (ctx.has_in(input))
        std::copy_n(state_at(ctx.in(input)), hidden, to);
      else
        std::fill_n(to, hidden, 0.0);
    };
    initial(5, h);
    initial(6, c);
    const double *w = ctx.in(1).as<const double>() + d * rows * inputs,
                 *r = ctx.in(2).as<const double>() + d * rows * hidden;
    const double* bias = ctx.has_in(3) ? ctx.in(3).as<const double>() + d * 2 * rows : nullptr;
    const double* peephole = ctx.has_in(7) ? ctx.in(7).as<const double>() + d * 3 * hidden : nullptr;
    const int64_t length = ctx.has_in(4) ? ctx.in(4).as<int32_t>()[b] : seq;
    for (int64_t i = 0; i < seq; ++i) {
      const int64_t t = p_.reverses(d) ? seq - 1 - i : i;
      if (t < length) {
        multiply(w, ctx.in(0).as<const double>() + (p_.batch_first ? b * seq + t : t * batch + b) * inputs, bias, gx,
                 rows, inputs);
        multiply(r, h, bias ? bias + rows : nullptr, gh, rows, hidden);
        const auto* f =
            p_.activations.data() + static_cast<size_t>(d) * p_.activations.size() / static_cast<size_t>(p_.directions);
        if (p_.gates == 4)
          lstm(f, gx, gh, peephole, h, c, hidden);
        else if (p_.gates == 3)
          gru(f, gx, gh, r + 2 * hidden * hidden, bias ? bias + rows + 2 * hidden : nullptr, h, reset, hidden);
        else
          for (int64_t k = 0; k < hidden; ++k) h[k] = activate(f[0], clip(gx[k] + gh[k]));
      }
      if (!ctx.has_out(0)) continue;
      const int64_t at = p_.batch_first ? (b * seq + t) * p_.directions + d : (t * p_.directions + d) * batch + b;
      double* y = ctx.out(0).as<double>() + at * hidden;
      t < length ? std::copy_n(h, hidden, y) : std::fill_n(y, hidden, 0.0);
    }
    if (ctx.has_out(1)) std::copy_n(h, hidden, state_at(ctx.out(1)));
    if (p_.cell && ctx.has_out(2)) std::copy_n(c, hidden, state_at(ctx.out(2)));
  }

  double clip(double x) const {
    const double limit = p_.clip;
    return limit > 0 ? (x < -limit ? -limit : x > limit ? limit : x) : x;
  }

  // Gates in the order i o f c.
  void lstm(const RnnActivation* a, const double* gx, const double* gh, const double* peephole, double* h, double* c,
            int64_t hidden) const {
    for (int64_t k = 0; k < hidden; ++k) {
      const auto gate = [&](int64_t g) { return gx[g * hidden + k] + gh[g * hidden + k]; };
      const auto peep = [&](int64_t g, double cell) { return peephole ? peephole[g * hidden + k] * cell : 0.0; };
      const double i = activate(a[0], clip(gate(0) + peep(0, c[k])));
      const double f = o_.input_forget ? 1 - i : activate(a[0], clip(gate(2) + peep(2, c[k])));
      c[k] = f * c[k] + i * activate(a[1], clip(gate(3)));
      h[k] = activate(a[0], clip(gate(1) + peep(1, c[k]))) * activate(a[2], c[k]);
    }
  }

  // Gates in the order z r h; `r_h` are the recurrence weights of the last one.
  void gru(const RnnActivation* a, const double* gx, double* gh, const double* r_h, const double* bias_h, double* h,
           double* reset, int64_t hidden) const {
    const auto gate = [&](int64_t g, int64_t k) {
      return activate(a[0], clip(gx[g * hidden + k] + gh[g * hidden + k]));
    };
    double* last = gh + 2 * hidden;
    if (!o_.linear_before_reset) {
      for (int64_t k = 0; k < hidden; ++k) reset[k] = gate(1, k) * h[k];
      multiply(r_h, reset, bias_h, last, hidden, hidden);
    }
    for (int64_t k = 0; k < hidden; ++k) {
      const double part = o_.linear_before_reset ? gate(1, k) * last[k] : last[k];
      const double candidate = activate(a[1], clip(gx[2 * hidden + k] + part));
      const double z = gate(0, k);
      h[k] = (1 - z) * candidate + z * h[k];
    }
  }

  RecurrentParams p_;
  PlainRecurrentOptions o_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_plain_recurrent(RecurrentParams params, PlainRecurrentOptions options) {
  return std::unique_ptr<Kernel>(new PlainRecurrent(std::move(params), options));
}

}  // namespace trunnion::ops
