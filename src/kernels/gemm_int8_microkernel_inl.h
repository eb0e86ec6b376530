// The 8-bit integer micro-kernels, written once over a vector type V. Included inside an unnamed namespace of each
// rung, after V, which has: T, kLanes, zero, set1, load, store_n, mul, sub, group (four bytes of A to every lane) and
// dot<kSigned>(sum, a, b): sum plus the products of one group.

#define TRN_EACH_ROW _Pragma("GCC unroll 16") for (int i = 0; i < MR; ++i)
#define TRN_EACH_VECTOR _Pragma("GCC unroll 8") for (int j = 0; j < NV; ++j)

template <int MR, int NV, bool kSigned>
void int8_tile(const Int8MicroArgs& g) {
  typename V::T sum[MR][NV];
  TRN_EACH_ROW TRN_EACH_VECTOR sum[i][j] = V::zero();
  const unsigned char* b = static_cast<const unsigned char*>(g.b);
  const unsigned char* const* rows = g.rows;
  const int64_t bytes = g.groups * 4;
  for (int64_t s = 0; s < g.segments; ++s, rows += kInt8RowSlots) {
    const unsigned char* a[MR];
    TRN_EACH_ROW a[i] = rows[i] + g.a_offset;
#pragma GCC unroll 1
    for (int64_t k = 0; k < bytes; k += 4, b += NV * V::kLanes * 4) {
      typename V::T bv[NV];
      TRN_EACH_VECTOR bv[j] = V::load(b + j * V::kLanes * 4);
      TRN_EACH_ROW {
        const auto x = V::template group<kSigned>(a[i] + k);
        TRN_EACH_VECTOR sum[i][j] = V::dot(sum[i][j], x, bv[j]);
      }
    }
  }
  typename V::T sums[NV];
  TRN_EACH_VECTOR sums[j] = V::load(g.col_sums + j * V::kLanes);
  TRN_EACH_ROW {
    const auto zero = V::set1(g.a_zero[i]);
    TRN_EACH_VECTOR sum[i][j] = V::sub(sum[i][j], V::mul(zero, sums[j]));
  }
  if (g.b_zero) {
    TRN_EACH_VECTOR sums[j] = V::load(g.b_zero + j * V::kLanes);
    TRN_EACH_ROW {
      const auto term = V::set1(g.row_terms[i]);
      TRN_EACH_VECTOR sum[i][j] = V::sub(sum[i][j], V::mul(term, sums[j]));
    }
  }
  int32_t* c = g.c;
  TRN_EACH_ROW {
    TRN_EACH_VECTOR V::store_n(c + j * V::kLanes, sum[i][j], g.cols - j * V::kLanes);
    c += g.ldc;
  }
}

#undef TRN_EACH_ROW
#undef TRN_EACH_VECTOR
