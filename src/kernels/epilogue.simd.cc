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

// The activation is a constant of each instance, so that the choice is not made per vector.
template <Activation kActivation>
void rows_of(float a, float b, float* x, int64_t ld, int64_t rows, int64_t cols) {
  namespace e = epilogue;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(e::d));
  for (int64_t i = 0; i < rows; ++i, x += ld) {
    int64_t j = 0;
    for (; j + lanes <= cols; j += lanes) {
      hn::StoreU(e::activate(kActivation, hn::LoadU(e::d, x + j), a, b), e::d, x + j);
    }
    if (j < cols) e::store_n(x + j, e::activate(kActivation, e::load_n(x + j, cols - j), a, b), cols - j);
  }
}

void activate(Activation activation, float a, float b, float* x, int64_t ld, int64_t rows, int64_t cols) {
  switch (activation) {
    case Activation::none:
      return;
    case Activation::relu:
      return rows_of<Activation::relu>(a, b, x, ld, rows, cols);
    case Activation::clip:
      return rows_of<Activation::clip>(a, b, x, ld, rows, cols);
    case Activation::leaky_relu:
      return rows_of<Activation::leaky_relu>(a, b, x, ld, rows, cols);
    case Activation::sigmoid:
      return rows_of<Activation::sigmoid>(a, b, x, ld, rows, cols);
    case Activation::tanh:
      return rows_of<Activation::tanh>(a, b, x, ld, rows, cols);
    case Activation::silu:
      return rows_of<Activation::silu>(a, b, x, ld, rows, cols);
    case Activation::hard_swish:
      return rows_of<Activation::hard_swish>(a, b, x, ld, rows, cols);
    case Activation::hard_sigmoid:
      return rows_of<Activation::hard_sigmoid>(a, b, x, ld, rows, cols);
    case Activation::gelu:
      return rows_of<Activation::gelu>(a, b, x, ld, rows, cols);
    case Activation::gelu_tanh:
      return rows_of<Activation::gelu_tanh>(a, b, x, ld, rows, cols);
  }
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
