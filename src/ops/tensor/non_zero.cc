// NonZero (ai.onnx 9, 13): the coordinates of elements that are not zero, one column each, in row-major order.
#include <algorithm>
#include <complex>
#include <vector>

#include "ops/dispatch.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node&, ir::Facts& f) {  // a scalar has one coordinate
  f.set(0, DType::i64, SymShape{f.has_rank(0) ? Dim(std::max(1, f.in(0).rank())) : Dim(), Dim()});
  return {};
}

template <class T>
bool is_zero(const T& v) {
  if constexpr (std::is_same_v<T, std::string>)
    return v.empty();
  else if constexpr (kIsHalf<T>)
    return (v.bits & 0x7fff) == 0;
  else
    return v == T(0);
}

class NonZeroKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new NonZeroKernel); }

  Status run(KernelContext& ctx) const override {
    if (ctx.in(0).dtype == DType::c64) return find<std::complex<float>>(ctx);
    if (ctx.in(0).dtype == DType::c128) return find<std::complex<double>>(ctx);
    return dispatch<kTypes.bits()>(ctx.in(0).dtype, [&]<class T>() { return find<T>(ctx); });
  }

  static constexpr DTypes kTypes = kNumeric | DType::boolean | DType::string | kComplex;

 private:
  template <class T>
  static Status find(KernelContext& ctx) {
    const TensorView& x = ctx.in(0);
    const T* v = x.as<const T>();
    // Blocks count first, so that each knows where its columns begin.
    constexpr int64_t kBlock = 16384;
    const int64_t blocks = (x.count + kBlock - 1) / kBlock;
    std::vector<int64_t> at(static_cast<size_t>(blocks) + 1, 0);
    ctx.parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b)
        for (int64_t i = b * kBlock; i < std::min(x.count, (b + 1) * kBlock); ++i) at[b + 1] += !is_zero(v[i]);
    });
    for (int64_t b = 0; b < blocks; ++b) at[b + 1] += at[b];
    const int rank = std::max(1, x.rank);
    const int64_t dims[] = {rank, at[blocks]};
    TRN_ASSIGN(TensorView * y, ctx.allocate_output(0, DType::i64, dims));
    const Shape shape = x.rank ? Shape(x.shape()) : Shape{1};
    ctx.parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        int64_t column = at[b];
        for (int64_t i = b * kBlock; i < std::min(x.count, (b + 1) * kBlock); ++i) {
          if (is_zero(v[i])) continue;
          int64_t rest = i;
          for (int d = rank - 1; d >= 0; --d) {
            y->as<int64_t>()[d * at[blocks] + column] = rest % shape[d];
            rest /= shape[d];
          }
          ++column;
        }
      }
    });
    return {};
  }
};

constexpr OpDef kDefs[] = {
    {"NonZero", infer, cpu<NonZeroKernel>(NonZeroKernel::kTypes), {.reviewed = 13, .dynamic = true}}};

}  // namespace

TRUNNION_OPS(non_zero, kDefs);
}  // namespace trunnion::ops
