// The fp32 micro-kernels, written once over a vector type V. Included inside an unnamed namespace of each rung, after
// V. V has T, kLanes, zero, set1, load, store, load_n and store_n (n lanes, clamped to 0 and kLanes), fma, dot (fma, or
// what a family makes of the values of A and B instead), add, mul, min, max, leaky, sum. min and max return the second
// operand when one is NaN.

// One step over all registers of the tile.
#define TRN_EACH_ROW _Pragma("GCC unroll 16") for (int i = 0; i < MR; ++i)
#define TRN_EACH_VECTOR _Pragma("GCC unroll 8") for (int j = 0; j < NV; ++j)

template <int MR, int NV>
struct Registers {
  typename V::T at[MR][NV];
};

// The general epilogue, out of registers: sums has `rows` rows of `ld` floats, a multiple of the vector length.
[[gnu::noinline]] void finish_rows(const float* sums, int64_t ld, int rows, const GemmMicroArgs& g) {
  const auto alpha = V::set1(g.alpha), beta = V::set1(g.beta), zero = V::zero(), one = V::set1(1.0f);
  const bool hard_swish = g.activation == Activation::hard_swish;
  const auto a = V::set1(hard_swish ? 1.0f / 6.0f : g.act_a), b = V::set1(hard_swish ? 0.5f : g.act_b);
  for (int i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < g.cols; j += V::kLanes) {
      const int64_t left = g.cols - j;
      auto x = V::load(sums + i * ld + j);
      if (g.alpha != 1.0f) x = V::mul(x, alpha);
      if (g.beta != 0.0f) x = V::fma(beta, V::load_n(g.c + i * g.ldc + j, left), x);
      if (g.bias_col) x = V::add(x, V::load_n(g.bias_col + j, left));
      if (g.bias_row) x = V::add(x, V::set1(g.bias_row[i]));
      typename V::T residual = zero;
      if (g.residual) residual = V::load_n(g.residual + i * g.residual_ld + j, left);
      if (g.residual && !g.residual_after_activation) x = V::add(x, residual);
      switch (g.activation) {
        case Activation::relu:
          x = V::max(zero, x);
          break;
        case Activation::clip:
          x = V::min(b, V::max(a, x));
          break;
        case Activation::leaky_relu:
          x = V::leaky(x, a);
          break;
        case Activation::hard_swish:
          x = V::mul(x, V::min(one, V::max(zero, V::fma(x, a, b))));
          break;
        case Activation::hard_sigmoid:
          x = V::min(one, V::max(zero, V::fma(x, a, b)));
          break;
        default:
          break;
      }
      if (g.residual && g.residual_after_activation) x = V::add(x, residual);
      V::store_n(g.c + i * g.ldc + j, x, left);
    }
  }
}

// The common epilogues without leaving the registers: bias per column, residual, bounds.
template <int MR, int NV>
[[gnu::always_inline]] inline void finish(Registers<MR, NV>& r, const GemmMicroArgs& g) {
  if (!g.simple) {
    float sums[MR * NV * V::kLanes];
    TRN_EACH_ROW TRN_EACH_VECTOR V::store(sums + (i * NV + j) * V::kLanes, r.at[i][j]);
    finish_rows(sums, NV * V::kLanes, MR, g);
    return;
  }
  if (g.bias_col) {
    typename V::T bias[NV];
    TRN_EACH_VECTOR bias[j] = V::load_n(g.bias_col + j * V::kLanes, g.cols - j * V::kLanes);
    TRN_EACH_ROW TRN_EACH_VECTOR r.at[i][j] = V::add(r.at[i][j], bias[j]);
  }
  if (g.residual) {
    const float* residual = g.residual;
    TRN_EACH_ROW {
      TRN_EACH_VECTOR r.at[i][j] = V::add(r.at[i][j], V::load_n(residual + j * V::kLanes, g.cols - j * V::kLanes));
      residual += g.residual_ld;
    }
  }
  if (g.activation != Activation::none) {
    const auto low = V::set1(g.act_a), high = V::set1(g.act_b);
    TRN_EACH_ROW TRN_EACH_VECTOR r.at[i][j] = V::min(high, V::max(low, r.at[i][j]));
  }
  float* c = g.c;
  if (g.cols == NV * V::kLanes) {
    TRN_EACH_ROW {
      TRN_EACH_VECTOR V::store(c + j * V::kLanes, r.at[i][j]);
      c += g.ldc;
    }
  } else {
    TRN_EACH_ROW {
      TRN_EACH_VECTOR V::store_n(c + j * V::kLanes, r.at[i][j], g.cols - j * V::kLanes);
      c += g.ldc;
    }
  }
}

template <class W>
constexpr bool kHasPairs = requires {
  W::kPairs;
};

// The products of one block of K for one vector of columns, where V has pairs (kPairs, load_pair, load_one, zip_low,
// zip_high, join): broadcasts of two neighbours of A at a time halve their number, which would be the bottleneck. A
// column has two chains then, of the even and the odd k of a segment.
template <class W, int MR, bool kFetch>
[[gnu::always_inline]] inline void multiply_pairs(Registers<MR, 1>& r, const GemmMicroArgs& g) {
  const int64_t step = MR <= kDirectRows ? g.b_step : V::kLanes, length = g.length;
  const float* b = g.b;
  const float* next_b = g.next_b;
  typename V::T low[MR], high[MR];
  TRN_EACH_ROW low[i] = high[i] = V::zero();
  const float* const* rows = g.rows;
  for (int64_t s = 0; s < g.segments; ++s, rows += kRowSlots) {
    const float* a[MR];
    TRN_EACH_ROW a[i] = rows[i] + g.a_offset;
    int64_t k = 0;
#pragma GCC unroll 1
    for (; k + 2 <= length; k += 2, b += 2 * step) {
      if constexpr (kFetch) {
        __builtin_prefetch(next_b, 0, 2);
        next_b += 2 * g.next_b_step;
      }
      const auto even = V::load(b), odd = V::load(b + step);
      const auto b_low = W::zip_low(even, odd), b_high = W::zip_high(even, odd);
      TRN_EACH_ROW {
        const auto x = W::load_pair(a[i] + k);
        low[i] = V::fma(x, b_low, low[i]);
        high[i] = V::fma(x, b_high, high[i]);
      }
    }
    if (k == length) continue;
    const auto even = V::load(b);
    const auto b_low = W::zip_low(even, V::zero()), b_high = W::zip_high(even, V::zero());
    TRN_EACH_ROW {
      const auto x = W::load_one(a[i] + k);
      low[i] = V::fma(x, b_low, low[i]);
      high[i] = V::fma(x, b_high, high[i]);
    }
    b += step;
  }
  TRN_EACH_ROW r.at[i][0] = W::join(low[i], high[i]);
}

// MR rows by NV vectors. kFetch: brings what is wanted next into the second-level cache meanwhile. The chains of
// multiply-adds of an element over the block do not depend on MR, so its bits follow from where its column lies.
template <int MR, int NV, bool kFetch>
void tile_of(const GemmMicroArgs& g) {
  Registers<MR, NV> r;
  TRN_EACH_ROW TRN_EACH_VECTOR r.at[i][j] = V::zero();
  if constexpr (NV == 1 && kHasPairs<V>) {
    multiply_pairs<V, MR, kFetch>(r, g);
  } else {
    constexpr int kPacked = NV == 1 ? V::kLanes : 2 * V::kLanes;  // floats from k to k + 1 in a panel
    const int64_t step = MR <= kDirectRows ? g.b_step : kPacked;
    const float* b = g.b;
    const float* next_b = g.next_b;
    const int64_t panel = g.b_panel_stride, length = g.length;
    const float* const* rows = g.rows;
    for (int64_t s = 0; s < g.segments; ++s, rows += kRowSlots) {
      const float* a[MR];
      TRN_EACH_ROW a[i] = rows[i] + g.a_offset;
#pragma GCC unroll 1
      for (int64_t k = 0; k < length; ++k, b += step) {
        if constexpr (kFetch) {
          __builtin_prefetch(next_b, 0, 2);
          next_b += g.next_b_step;
        }
        typename V::T bv[NV];
        TRN_EACH_VECTOR bv[j] = V::load(b + (j / 2) * panel + (j % 2) * V::kLanes);
        TRN_EACH_ROW {
          const auto x = V::set1(a[i][k]);
          TRN_EACH_VECTOR r.at[i][j] = V::dot(x, bv[j], r.at[i][j]);
        }
      }
    }
  }
  if (!g.first) {
    TRN_EACH_ROW TRN_EACH_VECTOR r.at[i][j] = V::add(V::load(g.partial + (i * NV + j) * V::kLanes), r.at[i][j]);
  }
  if (!g.last) {
    TRN_EACH_ROW TRN_EACH_VECTOR V::store(g.partial + (i * NV + j) * V::kLanes, r.at[i][j]);
    return;
  }
  finish<MR, NV>(r, g);
}

template <int MR, int NV>
void tile(const GemmMicroArgs& g) {
  if constexpr (NV <= 2) {
    if (g.next_b) return tile_of<MR, NV, true>(g);
  }
  tile_of<MR, NV, false>(g);
}

// MR rows by NC columns of dot products; column j of B is contiguous at b + j * b_panel_stride.
template <int MR, int NC>
void narrow(const GemmMicroArgs& g) {
  constexpr int NV = NC;
  Registers<MR, NC> r;
  TRN_EACH_ROW TRN_EACH_VECTOR r.at[i][j] = V::zero();
  const float* b = g.b;
  const float* const* rows = g.rows;
  for (int64_t s = 0; s < g.segments; ++s, rows += kRowSlots, b += g.length) {
    const float* a[MR];
    TRN_EACH_ROW a[i] = rows[i] + g.a_offset;
    int64_t k = 0;
    for (; k + V::kLanes <= g.length; k += V::kLanes) {
      typename V::T bv[NC];
      TRN_EACH_VECTOR bv[j] = V::load(b + j * g.b_panel_stride + k);
      TRN_EACH_ROW {
        const auto x = V::load(a[i] + k);
        TRN_EACH_VECTOR r.at[i][j] = V::dot(x, bv[j], r.at[i][j]);
      }
    }
    if (k < g.length) {
      const int64_t rest = g.length - k;
      typename V::T bv[NC];
      TRN_EACH_VECTOR bv[j] = V::load_n(b + j * g.b_panel_stride + k, rest);
      TRN_EACH_ROW {
        const auto x = V::load_n(a[i] + k, rest);
        TRN_EACH_VECTOR r.at[i][j] = V::dot(x, bv[j], r.at[i][j]);
      }
    }
  }
  float sums[MR * V::kLanes] = {};
  TRN_EACH_ROW TRN_EACH_VECTOR {
    float& sum = sums[i * V::kLanes + j];
    sum = V::sum(r.at[i][j]);
    if (!g.first) sum += g.partial[i * NC + j];
    if (!g.last) g.partial[i * NC + j] = sum;
  }
  if (!g.last) return;
  if (!g.simple) return finish_rows(sums, V::kLanes, MR, g);
  TRN_EACH_ROW TRN_EACH_VECTOR {
    float x = sums[i * V::kLanes + j];
    if (g.bias_col) x += g.bias_col[j];
    if (g.residual) x += g.residual[i * g.residual_ld + j];
    if (g.activation != Activation::none) {  // NaN stays
      x = x < g.act_a ? g.act_a : x;
      x = x > g.act_b ? g.act_b : x;
    }
    g.c[i * g.ldc + j] = x;
  }
}

#undef TRN_EACH_ROW
#undef TRN_EACH_VECTOR
