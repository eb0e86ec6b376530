// Activations over rows, behind a GEMM or convolution.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/epilogue.simd.cc"
#include "kernels/epilogue.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/epilogue-inl.h"
#include "kernels/rung_table.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

template <Activation kActivation>
void rows_of(float a, float b, float* x, int64_t ld, int64_t rows, int64_t cols) {
  namespace e = epilogue;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(e::d));
  if (ld == cols) {  // one long row
    cols *= rows;
    rows = 1;
  }
  for (int64_t i = 0; i < rows; ++i, x += ld) {
    int64_t j = 0;
    for (; j + lanes <= cols; j += lanes) {
      hn::StoreU(e::activate(kActivation, hn::LoadU(e::d, x + j), a, b), e::d, x + j);
    }
    if (j < cols) e::store_n(x + j, e::activate(kActivation, e::load_n(x + j, cols - j), a, b), cols - j);
  }
}

void activate(Activation activation, float a, float b, float* x, int64_t ld, int64_t rows, int64_t cols) {
  epilogue::with_activation(activation,
                            [&]<Activation kActivation>() HWY_ATTR { rows_of<kActivation>(a, b, x, ld, rows, cols); });
}

}  // namespace

constexpr EpilogueTable kEpilogueTable = {&activate};
}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {

static const EpilogueTable& table() { TRN_RUNG_TABLE(kEpilogueTable) }

void apply_activation(Activation activation, float a, float b, float* x, int64_t ld, int64_t rows, int64_t cols) {
  table().activate(activation, a, b, x, ld, rows, cols);
}

}  // namespace trunnion::kernels
#endif
