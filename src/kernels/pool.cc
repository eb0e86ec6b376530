// Max pooling with positions, and of other types: plain loops over windows, but for bytes.
#include "kernels/pool.h"

#include <limits>
#include <type_traits>

#include "kernels/pool_window.h"

namespace trunnion::kernels {
namespace {

template <class T>
void run(const T* x, T* y, int64_t* indices, int64_t planes, const PoolShape& s, bool column_major) {
  T lowest = std::numeric_limits<T>::lowest();
  if constexpr (std::is_floating_point_v<T>) lowest = -std::numeric_limits<T>::infinity();
  const int64_t in_plane = s.in[0] * s.in[1] * s.in[2];
  for (int64_t p = 0; p < planes; ++p, x += in_plane) {
    for (int64_t o0 = 0; o0 < s.out[0]; ++o0) {
      const Window w0 = window(s, 0, o0);
      for (int64_t o1 = 0; o1 < s.out[1]; ++o1) {
        const Window w1 = window(s, 1, o1);
        for (int64_t o2 = 0; o2 < s.out[2]; ++o2) {
          const Window w2 = window(s, 2, o2);
          T best = lowest;
          int64_t at[3] = {-1, 0, 0};
          for (int64_t k0 = w0.first; k0 < w0.last; ++k0) {
            for (int64_t k1 = w1.first; k1 < w1.last; ++k1) {
              for (int64_t k2 = w2.first; k2 < w2.last; ++k2) {
                const int64_t i0 = w0.start + k0 * s.dilation[0], i1 = w1.start + k1 * s.dilation[1];
                const int64_t i2 = w2.start + k2 * s.dilation[2];
                const T v = x[(i0 * s.in[1] + i1) * s.in[2] + i2];
                // The first of equal ones; the first NaN wins over numbers.
                if (v > best || at[0] < 0 || (v != v && best == best)) {
                  best = v;
                  at[0] = i0, at[1] = i1, at[2] = i2;
                }
              }
            }
          }
          *y++ = best;
          if (!indices) continue;
          const int64_t position =
              column_major ? at[0] + s.in[0] * (at[1] + s.in[1] * at[2]) : (at[0] * s.in[1] + at[1]) * s.in[2] + at[2];
          *indices++ = at[0] < 0 ? -1 : s.index_base + p * in_plane + position;
        }
      }
    }
  }
}

}  // namespace

bool max_pool(Elem type, const void* x, void* y, int64_t* indices, int64_t planes, const PoolShape& shape,
              bool column_major) {
  const bool vectors = !indices && (shape.kernel[2] - 1) * shape.dilation[2] < kMaxByteSpan;
  switch (type) {
    case Elem::f32:
      run(static_cast<const float*>(x), static_cast<float*>(y), indices, planes, shape, column_major);
      return true;
    case Elem::f64:
      run(static_cast<const double*>(x), static_cast<double*>(y), indices, planes, shape, column_major);
      return true;
    case Elem::i8:
      if (vectors)
        pool().max_i8(static_cast<const int8_t*>(x), static_cast<int8_t*>(y), planes, shape);
      else
        run(static_cast<const int8_t*>(x), static_cast<int8_t*>(y), indices, planes, shape, column_major);
      return true;
    case Elem::u8:
      if (vectors)
        pool().max_u8(static_cast<const uint8_t*>(x), static_cast<uint8_t*>(y), planes, shape);
      else
        run(static_cast<const uint8_t*>(x), static_cast<uint8_t*>(y), indices, planes, shape, column_major);
      return true;
    default:
      return false;
  }
}

}  // namespace trunnion::kernels
