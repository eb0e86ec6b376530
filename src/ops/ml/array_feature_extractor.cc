// ArrayFeatureExtractor (ai.onnx.ml 1): picks columns of the last dimension.
#include "ops/dispatch.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node&, ir::Facts& f) {
  f.set(0, f.dtype(0));
  if (!f.has_rank(0)) return {};
  SymShape y = f.in(0).shape();
  if (y.empty()) return invalid_argument("input 0 is a scalar");
  if (y.size() == 1) y = {Dim(1), Dim()};
  y.back() = f.has_rank(1) ? element_count(f.in(1).shape()) : Dim();
  f.set(0, f.dtype(0), std::move(y));
  return {};
}

class ArrayFeatureExtractor final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) {
    return std::unique_ptr<Kernel>(new ArrayFeatureExtractor);
  }
  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &index = ctx.in(1), &y = ctx.out(0);
    const int64_t columns = x.dim(x.rank - 1), picks = index.count, rows = columns == 0 ? 0 : x.count / columns;
    const auto* at = index.as<const int64_t>();
    for (int64_t i = 0; i < picks; ++i)
      if (at[i] < 0 || at[i] >= columns)
        return invalid_argument("input 1 has the index {}, the last dimension of input 0 has {} entries", at[i],
                                columns);
    return dispatch_size(x.dtype, [&]<class T>() {
      ctx.parallel_for(rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, picks)),
                       [&](int64_t begin, int64_t end) {
                         for (int64_t r = begin; r < end; ++r)
                           for (int64_t i = 0; i < picks; ++i)
                             y.as<T>()[r * picks + i] = x.as<const T>()[r * columns + at[i]];
                       });
    });
  }
};

constexpr OpDef kDefs[] = {
    {"ArrayFeatureExtractor",
     infer,
     cpu<ArrayFeatureExtractor>(DType::f32 | DType::f64 | DType::i64 | DType::i32 | DType::string),
     {.reviewed = 1},
     "ai.onnx.ml"},
};

}  // namespace

TRUNNION_OPS(array_feature_extractor, kDefs);

}  // namespace trunnion::ops
