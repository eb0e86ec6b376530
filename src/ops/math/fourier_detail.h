// Discrete Fourier transforms of any length in f64, for DFT and STFT.
#pragma once
#include <complex>
#include <cstdint>
#include <vector>

namespace trunnion::ops {

// Powers of two by butterflies, other lengths as a convolution of such (Bluestein). Shared by threads once made.
class Fourier {
 public:
  using Complex = std::complex<double>;
  // n >= 1 and at most 2^40.
  Fourier(int64_t n, bool inverse);
  int64_t size() const { return n_; }
  // data (n elements) in place; an inverse one divides by n. `work` is resized as needed.
  void run(Complex* data, std::vector<Complex>& work) const;

 private:
  void butterflies(Complex* data, bool inverse) const;
  int64_t n_, m_;  // m: the power of two that is computed with
  bool inverse_;
  std::vector<Complex> root_;    // exp(-2 pi i k / m), k < m / 2
  std::vector<Complex> chirp_;   // exp(-+ pi i k^2 / n); empty for powers of two
  std::vector<Complex> kernel_;  // transform of the conjugate chirp
};

}  // namespace trunnion::ops
