// Look-up of reductions, the plain loops for other types, and the (outer, axis, inner) form of a set of reduced
// dimensions.
#include "kernels/reduce.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/arg_extreme_table.h"
#include "kernels/convert.h"
#include "kernels/reduce_table.h"

namespace trunnion::kernels {
namespace {

using Op = ReduceOp;

// Sums of integers wrap: they are kept unsigned.
template <class T>
struct SumTypeOf {
  using type = std::make_unsigned_t<T>;
};
template <>
struct SumTypeOf<double> {
  using type = double;
};
template <class T>
using SumType = typename SumTypeOf<T>::type;

template <class T, bool kMax>
T extreme(const T* x, int64_t axis, int64_t step) {
  T best = kMax ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  if constexpr (std::is_floating_point_v<T>) {
    best = kMax ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
  }
  for (int64_t k = 0; k < axis; ++k) {
    const T v = x[k * step];
    if (v != v) return v;
    if (kMax ? v > best : v < best) best = v;
  }
  return best;
}

template <Op kOp, class T>
T column(const T* x, int64_t axis, int64_t step) {
  if constexpr (kOp == Op::max) return extreme<T, true>(x, axis, step);
  if constexpr (kOp == Op::min) return extreme<T, false>(x, axis, step);
  if constexpr (kOp == Op::l2 || kOp == Op::log_sum || kOp == Op::log_sum_exp) {
    double sum = 0, max = 0;
    if constexpr (kOp == Op::log_sum_exp) {
      max = static_cast<double>(extreme<T, true>(x, axis, step));
      if (axis == 0) max = -std::numeric_limits<double>::infinity();
      if (!(max - max == 0)) return static_cast<T>(std::is_integral_v<T> ? 0.0 : max);
    }
    for (int64_t k = 0; k < axis; ++k) {
      const double v = static_cast<double>(x[k * step]);
      sum += kOp == Op::l2 ? v * v : kOp == Op::log_sum ? v : std::exp(v - max);
    }
    const double r = kOp == Op::l2 ? std::sqrt(sum) : max + std::log(sum);
    if constexpr (std::is_integral_v<T>) {
      T out;
      convert(Elem::f64, sizeof(T) == 8 ? Elem::i64 : Elem::i32)(&r, &out, 1, {});
      return out;
    }
    return static_cast<T>(r);
  } else if constexpr (kOp != Op::max && kOp != Op::min) {
    using S = SumType<T>;
    S acc = kOp == Op::prod ? S(1) : S(0);
    for (int64_t k = 0; k < axis; ++k) {
      const T v = x[k * step];
      if constexpr (kOp == Op::prod) acc *= static_cast<S>(v);
      if constexpr (kOp == Op::sum || kOp == Op::mean) acc += static_cast<S>(v);
      if constexpr (kOp == Op::sum_square) acc += static_cast<S>(v) * static_cast<S>(v);
      if constexpr (kOp == Op::l1) acc += v < 0 ? S(0) - static_cast<S>(v) : static_cast<S>(v);
    }
    const T total = static_cast<T>(acc);
    if constexpr (kOp == Op::mean) {
      if constexpr (std::is_integral_v<T>) return axis == 0 ? T(0) : static_cast<T>(total / static_cast<T>(axis));
      return total / static_cast<T>(axis);
    }
    return total;
  }
}

constexpr bool joins(Op op) { return op <= Op::prod || op == Op::sum_square || op == Op::l1; }

template <Op kOp, class T>
SumType<T> joined(SumType<T> acc, T v) {
  using S = SumType<T>;
  if constexpr (kOp == Op::prod) return acc * static_cast<S>(v);
  if constexpr (kOp == Op::sum || kOp == Op::mean) return acc + static_cast<S>(v);
  if constexpr (kOp == Op::sum_square) return acc + static_cast<S>(v) * static_cast<S>(v);
  if constexpr (kOp == Op::l1) return acc + (v < 0 ? S(0) - static_cast<S>(v) : static_cast<S>(v));
}

// Many columns: row by row over a block of them, in the order of column().
template <Op kOp, class T>
void columns(const T* x, T* y, const ReduceShape& s) {
  constexpr int64_t kBlock = 512;
  for (int64_t c = 0; c < s.inner; c += kBlock) {
    const int64_t n = s.inner - c < kBlock ? s.inner - c : kBlock;
    if constexpr (kOp == Op::max || kOp == Op::min) {
      T best[kBlock];
      for (int64_t i = 0; i < n; ++i) best[i] = x[c + i];
      for (int64_t k = 1; k < s.axis; ++k) {
        const T* row = x + k * s.stride + c;
        for (int64_t i = 0; i < n; ++i) {
          const bool better = kOp == Op::max ? row[i] > best[i] : row[i] < best[i];
          best[i] = better || (row[i] != row[i] && best[i] == best[i]) ? row[i] : best[i];
        }
      }
      for (int64_t i = 0; i < n; ++i) y[c + i] = best[i];
    } else {
      SumType<T> acc[kBlock];
      for (int64_t i = 0; i < n; ++i) acc[i] = kOp == Op::prod ? SumType<T>(1) : SumType<T>(0);
      for (int64_t k = 0; k < s.axis; ++k) {
        const T* row = x + k * s.stride + c;
        for (int64_t i = 0; i < n; ++i) acc[i] = joined<kOp, T>(acc[i], row[i]);
      }
      for (int64_t i = 0; i < n; ++i) {
        y[c + i] = static_cast<T>(acc[i]);
        if constexpr (kOp == Op::mean) y[c + i] = static_cast<T>(y[c + i] / static_cast<T>(s.axis));
      }
    }
  }
}

template <Op kOp, class T>
void run(const void* xv, void* yv, const ReduceShape& shape) {
  const T* x = static_cast<const T*>(xv);
  T* y = static_cast<T*>(yv);
  for (int64_t o = 0; o < shape.outer; ++o, x += shape.axis * shape.stride, y += shape.stride) {
    if constexpr (joins(kOp) && !std::is_same_v<T, bool>) {
      if (shape.inner >= 8 && shape.axis > 0) {
        columns<kOp, T>(x, y, shape);
        continue;
      }
    }
    for (int64_t i = 0; i < shape.inner; ++i) y[i] = column<kOp, T>(x + i, shape.axis, shape.stride);
  }
}

template <class T>
ReduceFn every(Op op) {
  switch (op) {
    case Op::sum:
      return &run<Op::sum, T>;
    case Op::mean:
      return &run<Op::mean, T>;
    case Op::max:
      return &run<Op::max, T>;
    case Op::min:
      return &run<Op::min, T>;
    case Op::prod:
      return &run<Op::prod, T>;
    case Op::sum_square:
      return &run<Op::sum_square, T>;
    case Op::l1:
      return &run<Op::l1, T>;
    case Op::l2:
      return &run<Op::l2, T>;
    case Op::log_sum:
      return &run<Op::log_sum, T>;
    case Op::log_sum_exp:
      return &run<Op::log_sum_exp, T>;
  }
  return nullptr;
}
template <class T>
ReduceFn extremes(Op op) {
  return op == Op::max ? &run<Op::max, T> : op == Op::min ? &run<Op::min, T> : nullptr;
}

}  // namespace

ReduceFn reduce(Op op, Elem type) {
  if (int(op) >= kReduceOps) return nullptr;
  switch (type) {
    case Elem::f32:
      return reduce_table().fn[int(op)];
    case Elem::f64:
      return every<double>(op);
    case Elem::i32:
      return every<int32_t>(op);
    case Elem::i64:
      return every<int64_t>(op);
    case Elem::u32:
      return every<uint32_t>(op);
    case Elem::u64:
      return every<uint64_t>(op);
    case Elem::i8:
      return extremes<int8_t>(op);
    case Elem::i16:
      return extremes<int16_t>(op);
    case Elem::u8:
      return extremes<uint8_t>(op);
    case Elem::u16:
      return extremes<uint16_t>(op);
    case Elem::boolean:
      return extremes<bool>(op);
    default:
      return nullptr;
  }
}

ArgFn arg_extreme(bool largest, bool select_last, Elem type) {
  const int row = arg_row(type);
  return row < 0 ? nullptr : arg_table().fn[row][largest][select_last];
}

bool reduce_shape(const int64_t* dims, const bool* reduced, int rank, ReduceShape& shape) {
  shape = ReduceShape{};
  int stage = 0;  // 0 before, 1 in, 2 behind the reduced dimensions
  for (int d = 0; d < rank; ++d) {
    if (dims[d] == 1) continue;
    if (reduced[d]) {
      if (stage == 2) return false;
      stage = 1;
      shape.axis *= dims[d];
    } else if (stage == 0) {
      shape.outer *= dims[d];
    } else {
      stage = 2;
      shape.inner *= dims[d];
    }
  }
  shape.stride = shape.inner;
  return true;
}

}  // namespace trunnion::kernels
