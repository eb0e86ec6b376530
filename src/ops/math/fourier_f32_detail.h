// Discrete Fourier transforms of complex f32 signals in f32, for lengths that are products of 2, 3, 4 and 5: the
// mixed-radix algorithm of FFTPACK, which numpy uses for such signals too. Other lengths and types go by Fourier.
#pragma once
#include <complex>
#include <cstdint>
#include <vector>

namespace trunnion::ops {

class FourierF32 {
 public:
  using Complex = std::complex<float>;
  static bool takes(int64_t n);
  FourierF32(int64_t n, bool inverse);  // takes(n)
  // data (n elements) in place; an inverse one divides by n. `work` is resized as needed.
  void run(Complex* data, std::vector<Complex>& work) const;

 private:
  template <int kRadix>
  void pass(const Complex* from, Complex* to, int64_t done) const;
  int64_t n_;
  bool inverse_;
  std::vector<int> factors_;
  std::vector<Complex> root_;  // exp(-+ 2 pi i k / n)
};

}  // namespace trunnion::ops
