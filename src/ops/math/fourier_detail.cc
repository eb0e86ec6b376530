#include "ops/math/fourier_detail.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace trunnion::ops {
namespace {

// Products of finite parts; the library's operator also looks after infinities, which takes longer.
Fourier::Complex times(Fourier::Complex a, Fourier::Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
Fourier::Complex turn(double fraction) { return std::polar(1.0, 2 * std::numbers::pi * fraction); }

}  // namespace

Fourier::Fourier(int64_t n, bool inverse) : n_(n), m_(1), inverse_(inverse) {
  const bool power = (n & (n - 1)) == 0;
  while (m_ < (power ? n : 2 * n - 1)) m_ *= 2;
  root_.resize(static_cast<size_t>(m_ / 2));
  for (int64_t k = 0; k < m_ / 2; ++k)
    root_[static_cast<size_t>(k)] = turn(-static_cast<double>(k) / static_cast<double>(m_));
  if (power) return;
  const auto count = static_cast<size_t>(n);
  chirp_.resize(count);
  kernel_.assign(static_cast<size_t>(m_), Complex());
  for (size_t k = 0; k < count; ++k) {
    // k^2 modulo 2n keeps the angle small.
    const auto square = static_cast<double>(static_cast<unsigned __int128>(k) * k % (2 * count));
    chirp_[k] = turn((inverse ? 0.5 : -0.5) * square / static_cast<double>(n));
    kernel_[k] = std::conj(chirp_[k]);
    if (k > 0) kernel_[static_cast<size_t>(m_) - k] = kernel_[k];
  }
  butterflies(kernel_.data(), false);
}

void Fourier::run(Complex* data, std::vector<Complex>& work) const {
  if (chirp_.empty()) {
    butterflies(data, inverse_);
  } else {
    work.assign(static_cast<size_t>(m_), Complex());
    for (size_t k = 0; k < chirp_.size(); ++k) work[k] = times(data[k], chirp_[k]);
    butterflies(work.data(), false);
    for (size_t k = 0; k < work.size(); ++k) work[k] = times(work[k], kernel_[k]);
    butterflies(work.data(), true);
    const double scale = 1 / static_cast<double>(m_);
    for (size_t k = 0; k < chirp_.size(); ++k) data[k] = times(work[k] * scale, chirp_[k]);
  }
  if (!inverse_) return;
  const double scale = 1 / static_cast<double>(n_);
  for (int64_t k = 0; k < n_; ++k) data[k] *= scale;
}

// In place, length m: bit reversal, then pairs at growing distance.
void Fourier::butterflies(Complex* data, bool inverse) const {
  for (int64_t i = 1, j = 0; i < m_; ++i) {
    int64_t bit = m_ >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(data[i], data[j]);
  }
  for (int64_t half = 1; half < m_; half *= 2) {
    const int64_t step = m_ / (2 * half);
    for (int64_t start = 0; start < m_; start += 2 * half)
      for (int64_t k = 0; k < half; ++k) {
        const Complex root = root_[static_cast<size_t>(k * step)];
        const Complex odd = times(data[start + k + half], inverse ? std::conj(root) : root);
        data[start + k + half] = data[start + k] - odd;
        data[start + k] += odd;
      }
  }
}

}  // namespace trunnion::ops
