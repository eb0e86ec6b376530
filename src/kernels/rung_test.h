// For kernel tests: every rung the CPU has, errors in ULP, awkward floats.
#pragma once
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/cpu_info.h"

namespace trunnion::kernels {

// Calls test() once per rung that the CPU has, with that rung forced.
template <class Test>
void for_each_rung(Test&& test) {
  for (Rung rung : {Rung::baseline, Rung::avx2, Rung::avx512}) {
    if (rung > cpu_info().rung) continue;
    force_rung_for_test(rung);
    SCOPED_TRACE(rung_name(rung));
    test();
  }
  force_rung_for_test(cpu_info().rung);
}

// |y - exact| in units of the last place of exact as f32; 0 when both are NaN or equal, huge when only one is NaN.
inline double ulp_error(float y, double exact) {
  const float nearest = static_cast<float>(exact);
  if (std::isnan(y) || std::isnan(exact)) return std::isnan(y) && std::isnan(exact) ? 0 : 1e30;
  if (y == nearest) return 0;
  if (std::isinf(y) || std::isinf(nearest)) {
    // The neighbour of infinity counts as one apart.
    const double limit = std::numeric_limits<float>::max();
    return (std::fabs(y) >= limit && std::fabs(nearest) >= limit && std::signbit(y) == std::signbit(nearest)) ? 1
                                                                                                              : 1e30;
  }
  const int exponent = exact == 0 ? -126 : std::ilogb(exact) < -126 ? -126 : std::ilogb(exact);
  return std::fabs(static_cast<double>(y) - exact) / std::ldexp(1.0, exponent - 23);
}

// Floats of every magnitude and sign, the special ones first.
inline std::vector<float> awkward_floats(size_t count = 60000) {
  std::vector<float> v = {0.0f,   -0.0f,  1.0f,  -1.0f,  0.5f,   -0.5f,  1.5f,    2.5f,    -2.5f,  88.0f,
                          88.72f, 88.73f, 89.0f, -87.3f, -87.4f, -88.0f, -103.9f, -104.0f, -105.0f};
  const float inf = std::numeric_limits<float>::infinity();
  for (float f : {inf, -inf, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::max(),
                  std::numeric_limits<float>::lowest(), std::numeric_limits<float>::min(),
                  std::numeric_limits<float>::denorm_min(), -std::numeric_limits<float>::denorm_min()}) {
    v.push_back(f);
  }
  std::mt19937 random(7);
  while (v.size() < count / 2) v.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  std::uniform_real_distribution<float> narrow(-12.0f, 12.0f), wide(-110.0f, 110.0f);
  while (v.size() < count) {
    v.push_back(narrow(random));
    v.push_back(wide(random));
  }
  return v;
}

inline std::vector<float> random_floats(size_t n, float low = -2.0f, float high = 2.0f, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> v(n);
  for (float& f : v) f = distribution(random);
  return v;
}

}  // namespace trunnion::kernels
