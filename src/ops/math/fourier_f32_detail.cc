#include "ops/math/fourier_f32_detail.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace trunnion::ops {
namespace {

using Complex = FourierF32::Complex;

// Products of finite parts; the library's operator also looks after infinities, which takes longer.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
Complex times_i(Complex a) { return {-a.imag(), a.real()}; }

// The transform of kRadix numbers; `sign` is -1, or 1 for the inverse.
template <int kRadix>
void butterfly(Complex* x, float sign) {
  if constexpr (kRadix == 2) {
    const Complex a = x[0], b = x[1];
    x[0] = a + b;
    x[1] = a - b;
  } else if constexpr (kRadix == 3) {
    constexpr float kCos = -0.5f, kSin = 0.866025403784438646763723170752936183f;
    const Complex a = x[0], sum = x[1] + x[2], difference = x[1] - x[2];
    const Complex middle = a + kCos * sum, turned = times_i(sign * kSin * difference);
    x[0] = a + sum;
    x[1] = middle + turned;
    x[2] = middle - turned;
  } else if constexpr (kRadix == 4) {
    const Complex even = x[0] + x[2], odd = x[0] - x[2], sum = x[1] + x[3], turned = times_i(sign * (x[1] - x[3]));
    x[0] = even + sum;
    x[1] = odd + turned;
    x[2] = even - sum;
    x[3] = odd - turned;
  } else {
    constexpr float kCos1 = 0.309016994374947424102293417182819059f, kSin1 = 0.951056516295153572116439333379382143f;
    constexpr float kCos2 = -0.809016994374947424102293417182819059f, kSin2 = 0.587785252292473129168705954639072769f;
    const Complex a = x[0], s1 = x[1] + x[4], d1 = x[1] - x[4], s2 = x[2] + x[3], d2 = x[2] - x[3];
    const auto pair = [&](int k, float c1, float c2, float n1, float n2) {
      const Complex middle = a + c1 * s1 + c2 * s2, turned = times_i(sign * n1 * d1 + sign * n2 * d2);
      x[k] = middle + turned;
      x[5 - k] = middle - turned;
    };
    x[0] = a + s1 + s2;
    pair(1, kCos1, kCos2, kSin1, kSin2);
    pair(2, kCos2, kCos1, kSin2, -kSin1);
  }
}

}  // namespace

bool FourierF32::takes(int64_t n) {
  for (int64_t f : {2, 3, 5})
    while (n > 0 && n % f == 0) n /= f;
  return n == 1;
}

FourierF32::FourierF32(int64_t n, bool inverse) : n_(n), inverse_(inverse) {
  int64_t rest = n;
  for (; rest % 4 == 0; rest /= 4) factors_.push_back(4);
  if (rest % 2 == 0) {
    rest /= 2;
    factors_.push_back(2);
    std::swap(factors_.front(), factors_.back());
  }
  for (int f : {3, 5})
    for (; rest % f == 0; rest /= f) factors_.push_back(f);
  root_.resize(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k) {
    const double angle = (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    root_[static_cast<size_t>(k)] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
  }
}

// `done`: the product of the radices before. From (done, radix, rest) to (radix, done, rest), outermost first.
template <int kRadix>
void FourierF32::pass(const Complex* from, Complex* to, int64_t done) const {
  const int64_t rest = n_ / done / kRadix;
  const float sign = inverse_ ? 1.0f : -1.0f;
  for (int64_t k = 0; k < done; ++k)
    for (int64_t i = 0; i < rest; ++i) {
      Complex x[kRadix];
      for (int b = 0; b < kRadix; ++b) x[b] = from[i + rest * (b + kRadix * k)];
      butterfly<kRadix>(x, sign);
      to[i + rest * k] = x[0];
      for (int c = 1; c < kRadix; ++c)
        to[i + rest * (k + done * c)] = i == 0 ? x[c] : times(x[c], root_[static_cast<size_t>(c * done * i)]);
    }
}

void FourierF32::run(Complex* data, std::vector<Complex>& work) const {
  work.resize(static_cast<size_t>(n_));
  Complex *from = data, *to = work.data();
  int64_t done = 1;
  for (int f : factors_) {
    switch (f) {
      case 2:
        pass<2>(from, to, done);
        break;
      case 3:
        pass<3>(from, to, done);
        break;
      case 4:
        pass<4>(from, to, done);
        break;
      default:
        pass<5>(from, to, done);
    }
    done *= f;
    std::swap(from, to);
  }
  const auto scale = static_cast<float>(1 / static_cast<double>(n_));
  for (int64_t k = 0; k < n_; ++k) data[k] = inverse_ ? from[k] * scale : from[k];
}

}  // namespace trunnion::ops
