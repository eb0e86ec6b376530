// Normalizations: of rows (layer, RMS, skip + layer, Lp), by channel (batch norm), and their building blocks.
// No alignment is required; y may be x itself. Means and variances are computed in two passes over f32 vector
// accumulators. Pointers said to be optional may be null.
#pragma once
#include "kernels/elem.h"

namespace trunnion::kernels {

struct NormKernels {
  // y = (x - mean) / sqrt(var + eps) * scale + bias, by row of cols. scale, bias (cols each), mean, inv_std (rows
  // each; written) are optional.
  void (*layer)(const float* x, const float* scale, const float* bias, float* y, float* mean, float* inv_std,
                int64_t rows, int64_t cols, float eps);
  // y = x / sqrt(mean(x^2) + eps) * scale; scale and inv_rms (rows; written) are optional.
  void (*rms)(const float* x, const float* scale, float* y, float* inv_rms, int64_t rows, int64_t cols, float eps);
  // s = x + skip + add_bias; y = layer(s), or rms(s) when rms is set. add_bias, scale, bias, sum (rows x cols;
  // receives s), mean, inv_std are optional. skip_rows: skip has that many rows, used in turn (rows, or fewer: row r
  // reads skip row r % skip_rows).
  void (*skip)(const float* x, const float* skip, const float* add_bias, const float* scale, const float* bias,
               float* y, float* sum, float* mean, float* inv_std, int64_t rows, int64_t cols, int64_t skip_rows,
               float eps, bool rms);
  // y = x / max(norm(x), tiny) by row, norm L1 or L2; a row of zeros gives zeros.
  void (*lp)(const float* x, float* y, int64_t rows, int64_t cols, int p);
  // Mean and population variance of n contiguous elements (instance and group norm); n = 0 gives NaN.
  void (*moments)(const float* x, int64_t n, float* mean, float* var);
  // The same by column of rows x cols with row stride `stride` (channels-last): mean[cols], var[cols].
  void (*moments_columns)(const float* x, int64_t rows, int64_t cols, int64_t stride, float* mean, float* var);
  // y = x * scale + shift over a plane (NCHW).
  void (*scale_shift)(const float* x, float* y, int64_t n, float scale, float shift);
  // y[r][c] = x[r][c] * scale[c] + shift[c] (NHWC); shift is optional.
  void (*scale_shift_columns)(const float* x, float* y, int64_t rows, int64_t cols, const float* scale,
                              const float* shift);
};
const NormKernels& norm();

// Batch norm constants folded into one multiply-add per channel: scale_out = scale / sqrt(var + eps),
// shift_out = bias - mean * scale_out. scale and bias are optional.
void fold_batch_norm(const float* scale, const float* bias, const float* mean, const float* var, float eps,
                     int64_t channels, float* scale_out, float* shift_out);

// Local response normalization across channels of one image (channels, plane):
// y = x / (k + alpha / size * sum of x^2 over the window of size channels) ^ beta. y may not be x.
void lrn(const float* x, float* y, int64_t channels, int64_t plane, int64_t size, float alpha, float beta, float k);

}  // namespace trunnion::kernels
