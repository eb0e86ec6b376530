// How an x.simd.cc is compiled and its table chosen. Such a file begins with
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "kernels/x.simd.cc"
//   #include "kernels/rung_table.h"
//   #include "hwy/foreach_target.h"
//   #include "hwy/highway.h"
// defines `constexpr T kTable = {...};` in trunnion::kernels::HWY_NAMESPACE, and ends, under
// #if HWY_ONCE, with a function whose body is TRN_RUNG_TABLE(kTable). No HWY_EXPORT: libhwy is not linked, and the
// engine's own rung governs every kernel.
#pragma once

// The baseline is x86-64-v2, which has no AES: without this Highway's lowest target would be scalar.
#ifndef HWY_DISABLE_PCLMUL_AES
#define HWY_DISABLE_PCLMUL_AES
#endif
#include "base/cpu_info.h"
#include "hwy/detect_targets.h"

#if HWY_TARGETS & HWY_AVX3
#define TRN_RUNG_AVX512(table) \
  case Rung::avx512:           \
    return N_AVX3::table;
#else
#define TRN_RUNG_AVX512(table)
#endif
#if HWY_TARGETS & HWY_AVX2
#define TRN_RUNG_AVX2(table) \
  case Rung::avx2:           \
    return N_AVX2::table;
#else
#define TRN_RUNG_AVX2(table)
#endif

// The body of an accessor: returns the table of the active rung.
#define TRN_RUNG_TABLE(table)            \
  switch (active_rung()) {               \
    TRN_RUNG_AVX512(table)               \
    TRN_RUNG_AVX2(table)                 \
    default:                             \
      return HWY_STATIC_DISPATCH(table); \
  }
