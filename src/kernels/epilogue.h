// What a GEMM or convolution does to its sums before they are stored: bias, residual, activation.
#pragma once
#include <cstdint>

namespace trunnion::kernels {

enum class Activation : unsigned char {
  none,
  relu,
  clip,        // min(max(x, a), b)
  leaky_relu,  // x < 0 ? a * x : x
  sigmoid,
  tanh,
  silu,          // x * sigmoid(x)
  hard_swish,    // x * clip(x / 6 + 0.5, 0, 1)
  hard_sigmoid,  // clip(a * x + b, 0, 1)
  gelu,          // 0.5 * x * (1 + erf(x / sqrt(2)))
  gelu_tanh,     // 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
};

// C = act(alpha * sum + beta * C + bias_col[n] + bias_row[m] + residual[m, n]); with residual_after_activation
// the residual is added behind the activation instead. Null pointers are left out. The residual may be C itself.
// NaN passes through every activation.
struct Epilogue {
  float alpha = 1.0f;
  float beta = 0.0f;                // 0: the old C is not read
  const float* bias_col = nullptr;  // one per column of C (output channel)
  const float* bias_row = nullptr;  // one per row of C; not for convolutions
  const float* residual = nullptr;  // same rows as C
  int64_t residual_ld = 0;          // floats from one row to the next
  bool residual_after_activation = false;
  Activation activation = Activation::none;
  float a = 0.0f;
  float b = 0.0f;
};

// What each rung provides.
struct EpilogueTable {
  void (*activate)(Activation activation, float a, float b, float* x, int64_t ld, int64_t rows, int64_t cols);
};

// Applies one activation to x[i * ld + j], i < rows, j < cols, in place (vectorised, at most a few ulp off).
void apply_activation(Activation activation, float a, float b, float* x, int64_t ld, int64_t rows, int64_t cols);

}  // namespace trunnion::kernels
