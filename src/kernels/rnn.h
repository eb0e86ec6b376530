// The element-wise part of one time step of LSTM, GRU and RNN; the products X W and h R are already in `gates`.
// Gate order is ONNX's (LSTM i o f c, GRU z r h). Rows are contiguous; no alignment is required.
#pragma once
#include "kernels/elem.h"

namespace trunnion::kernels {

// Activations of ONNX's RNN operators. sigmoid and tanh are the fast ones.
enum class RnnAct : uint8_t {
  sigmoid,
  tanh,
  relu,
  affine,            // alpha x + beta
  leaky_relu,        // alpha
  thresholded_relu,  // alpha
  scaled_tanh,       // alpha tanh(beta x)
  hard_sigmoid,      // alpha x + beta
  elu,               // alpha
  softsign,
  softplus,
};
struct RnnActivation {
  RnnAct act = RnnAct::tanh;
  float alpha = 0;
  float beta = 0;
};

struct LstmStep {
  const float* gates;   // batch rows of 4 hidden, before activation (biases included), row stride gate_stride
  int64_t gate_stride;  // >= 4 hidden
  const float* c_prev;  // batch x hidden
  float* c;             // batch x hidden; may be c_prev
  float* h;             // batch rows of hidden, row stride h_stride
  int64_t h_stride;
  const float* peephole;  // 3 x hidden in the order i o f, or null
  int64_t batch;
  int64_t hidden;
  float clip = 0;             // 0: none; else gates are clamped to [-clip, clip] before activation
  bool input_forget = false;  // f = 1 - i
  RnnActivation f{RnnAct::sigmoid}, g{RnnAct::tanh}, out{RnnAct::tanh};
};

struct GruStep {
  // First part: rh = r * h_prev for the product with R_h (linear_before_reset = 0 only).
  // Second part: h = (1 - z) * g(h~) + z * h_prev.
  const float* x_gates;  // batch rows of 3 hidden: X W + Wb (+ Rb for z and r; + Rb_h too when not linear_before_reset)
  int64_t x_stride;
  const float* h_gates;  // batch rows: h R. reset() reads z r; update() reads z r h, of which h is rh R_h, or with
  int64_t hg_stride;     //   linear_before_reset h_prev R_h + Rb_h
  const float* h_prev;   // batch x hidden, row stride h_prev_stride
  int64_t h_prev_stride;
  float* rh;  // reset() writes batch x hidden, contiguous
  float* h;   // update() writes, row stride h_stride; may be h_prev
  int64_t h_stride;
  int64_t batch;
  int64_t hidden;
  float clip = 0;
  bool linear_before_reset = false;
  RnnActivation f{RnnAct::sigmoid}, g{RnnAct::tanh};
};

struct RnnKernels {
  void (*lstm)(const LstmStep& step);
  void (*gru_reset)(const GruStep& step);
  void (*gru_update)(const GruStep& step);
  // y = act(clip(x)), n elements (the RNN operator; generic activation of a range). In place allowed.
  void (*activate)(const float* x, float* y, int64_t n, const RnnActivation& act, float clip);
};
const RnnKernels& rnn();

}  // namespace trunnion::kernels
