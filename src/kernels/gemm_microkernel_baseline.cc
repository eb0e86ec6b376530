// fp32 micro-kernels for 128-bit vectors (SSE4, NEON, SIMD128) over Highway's static target.
#include "hwy/highway.h"
#include "kernels/gemm_microkernel.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::baseline {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

struct V {
  using D = hn::CappedTag<float, 4>;
  using T = hn::Vec<D>;
  static constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
  static T zero() { return hn::Zero(D()); }
  static T set1(float x) { return hn::Set(D(), x); }
  static T load(const float* p) { return hn::LoadU(D(), p); }
  static void store(float* p, T x) { hn::StoreU(x, D(), p); }
  static T load_n(const float* p, int64_t n) {
    if (n >= kLanes) return load(p);
    HWY_ALIGN float rest[kLanes] = {};
    for (int64_t i = 0; i < n; ++i) rest[i] = p[i];
    return hn::Load(D(), rest);
  }
  static void store_n(float* p, T x, int64_t n) {
    if (n >= kLanes) return store(p, x);
    HWY_ALIGN float rest[kLanes];
    hn::Store(x, D(), rest);
    for (int64_t i = 0; i < n; ++i) p[i] = rest[i];
  }
  static T fma(T a, T b, T c) { return hn::MulAdd(a, b, c); }
  static T dot(T a, T b, T c) { return fma(a, b, c); }
  static T add(T a, T b) { return hn::Add(a, b); }
  static T mul(T a, T b) { return hn::Mul(a, b); }
  static T min(T a, T b) { return hn::Min(a, b); }
  static T max(T a, T b) { return hn::Max(a, b); }
  static T leaky(T x, T slope) { return hn::IfThenElse(hn::Lt(x, hn::Zero(D())), hn::Mul(x, slope), x); }
  static float sum(T x) { return hn::GetLane(hn::SumOfLanes(D(), x)); }
};

#include "kernels/gemm_microkernel_inl.h"

}  // namespace

#if HWY_ARCH_ARM_A64
#define TRN_ROWS_5_TO_8(NV) , tile<5, NV>, tile<6, NV>, tile<7, NV>, tile<8, NV>
constexpr int kRows = 8;  // 16 accumulators of 32 registers
#else
#define TRN_ROWS_5_TO_8(NV)
constexpr int kRows = 4;  // 8 accumulators of 16 registers
#endif

extern const GemmMicroTable kGemmMicroTable;
const GemmMicroTable kGemmMicroTable = {
    V::kLanes,
    2 * V::kLanes,
    kRows,
    1,
    {nullptr, tile<1, 1>, tile<2, 1>, tile<3, 1>, tile<4, 1> TRN_ROWS_5_TO_8(1)},
    {nullptr, tile<1, 2>, tile<2, 2>, tile<3, 2>, tile<4, 2> TRN_ROWS_5_TO_8(2)},
    {nullptr, tile<1, 8>},
    {{},
     {nullptr, narrow<1, 1>, narrow<1, 2>, narrow<1, 3>, narrow<1, 4>},
     {nullptr, narrow<2, 1>, narrow<2, 2>, narrow<2, 3>, narrow<2, 4>},
     {nullptr, narrow<3, 1>, narrow<3, 2>, narrow<3, 3>, narrow<3, 4>},
     {nullptr, narrow<4, 1>, narrow<4, 2>, narrow<4, 3>, narrow<4, 4>}},
};

}  // namespace trunnion::kernels::baseline
HWY_AFTER_NAMESPACE();
