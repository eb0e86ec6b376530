// The element-wise part of a time step of LSTM and GRU, and the step with its product.
#include <fmt/format.h>

#include "kernels/gemm.h"
#include "kernels/rnn.h"
#include "measured.h"

namespace trunnion::bench {
namespace {

using namespace kernels;

void lstm_gates(int64_t batch, int64_t hidden) {
  add(fmt::format("lstm_gates/{}x{}", batch, hidden), {0, 4.0 * 7 * static_cast<double>(batch * hidden)}, [=] {
    const auto gates = random_floats(batch * hidden * 4), c = random_floats(batch * hidden),
               h = random_floats(batch * hidden);
    return [=] {
      LstmStep s{};
      s.gates = gates.get(), s.gate_stride = 4 * hidden, s.c_prev = c.get(), s.c = c.get();
      s.h = h.get(), s.h_stride = hidden, s.batch = batch, s.hidden = hidden;
      s.f = {RnnAct::sigmoid}, s.g = {RnnAct::tanh}, s.out = {RnnAct::tanh};
      rnn().lstm(s);
    };
  });
}

void gru_gates(int64_t batch, int64_t hidden) {
  add(fmt::format("gru_gates/{}x{}", batch, hidden), {0, 4.0 * 8 * static_cast<double>(batch * hidden)}, [=] {
    const auto x = random_floats(batch * hidden * 3), r = random_floats(batch * hidden * 3),
               h = random_floats(batch * hidden), rh = random_floats(batch * hidden);
    return [=] {
      GruStep s{};
      s.x_gates = x.get(), s.x_stride = 3 * hidden, s.h_gates = r.get(), s.hg_stride = 3 * hidden;
      s.h_prev = h.get(), s.h_prev_stride = hidden, s.rh = rh.get(), s.h = h.get(), s.h_stride = hidden;
      s.batch = batch, s.hidden = hidden, s.linear_before_reset = true;
      s.f = {RnnAct::sigmoid}, s.g = {RnnAct::tanh};
      rnn().gru_update(s);
    };
  });
}

// h R, then the gates.
void lstm_step(int64_t batch, int64_t hidden) {
  const double weights = static_cast<double>(4 * hidden * hidden);
  const Work work{2.0 * weights * static_cast<double>(batch),
                  4.0 * (weights + 12.0 * static_cast<double>(batch * hidden))};
  add(fmt::format("lstm_step/{}x{}", batch, hidden), work, [=] {
    const int64_t n = 4 * hidden;
    const auto r = random_floats(hidden * n, -0.1f, 0.1f), packed = random_floats(gemm_packed_b_size(hidden, n)),
               gates = random_floats(batch * n), c = random_floats(batch * hidden), h = random_floats(batch * hidden);
    const auto scratch = random_bytes(gemm_scratch_size(n, hidden));
    gemm_pack_b(r.get(), n, 1, hidden, n, 0, gemm_panel_count(n), packed.get());
    return [=] {
      GemmArgs g;
      g.m = batch, g.n = n, g.k = hidden, g.a = h.get(), g.a_row_stride = hidden, g.c = gates.get(), g.ldc = n;
      g.packed_b = packed.get();
      gemm_tile(g, 0, batch, 0, n, static_cast<float*>(scratch.get()));
      LstmStep s{};
      s.gates = gates.get(), s.gate_stride = n, s.c_prev = c.get(), s.c = c.get(), s.h = h.get(), s.h_stride = hidden;
      s.batch = batch, s.hidden = hidden;
      s.f = {RnnAct::sigmoid}, s.g = {RnnAct::tanh}, s.out = {RnnAct::tanh};
      rnn().lstm(s);
    };
  });
}

}  // namespace

void suite() {
  for (const int64_t hidden : {64, 128, 512})
    for (const int64_t batch : {1, 16}) lstm_gates(batch, hidden), gru_gates(batch, hidden), lstm_step(batch, hidden);
}

}  // namespace trunnion::bench
