// Dropout (ai.onnx 1, 6, 7, 10, 12, 13, 22): the input as it is, or (training) with random elements set to 0 and the
// others scaled up. The second output tells which ones were kept.
#include <cmath>
#include <cstring>

#include "kernels/convert.h"
#include "ops/dispatch.h"
#include "ops/elementwise.h"
#include "ops/move.h"
#include "ops/random/random_detail.h"

namespace trunnion::ops {
namespace {

struct Params {
  bool inputs;    // ratio and training_mode are inputs
  bool training;  // else
  float ratio;
};
Params read(const ir::Node& n) {
  const bool inputs = n.since() >= 12;
  return {inputs, n.since() < 7 && n.attr("is_test", 0) == 0, n.attr("ratio", 0.5f)};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(infer_elementwise(n, f));
  for (int i = 1; i < 3; ++i)
    if (f.has_rank(i) && f.in(i).rank() > 1)
      return invalid_argument("input {} has shape {}, needs a scalar", i, shape_text(f.in(i).shape()));
  const DType mask = n.since() >= 10 ? DType::boolean : f.dtype(0);
  f.set(1, mask, f.has_rank(0) ? std::optional<SymShape>(f.in(0).shape()) : std::nullopt);
  return {};
}

class DropoutKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new DropoutKernel(n));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    double ratio = p_.ratio;
    bool training = p_.training;
    if (p_.inputs) {
      if (ctx.has_in(1)) TRN_TRY(read_ratio(ctx.in(1), ratio));
      training = ctx.has_in(2) && ctx.in(2).count > 0 && ctx.in(2).as<bool>()[0];
    }
    if (!(ratio >= 0 && ratio < 1)) return invalid_argument("ratio is {}, expected a value in [0, 1)", ratio);
    if (training && ratio > 0) {
      if (kFloat8.has(x.dtype)) return drop_float8(ctx, ratio);
      return dispatch<kFloats.bits()>(x.dtype, [&]<class T>() -> Status { return drop<T>(ctx, ratio); });
    }
    if (ctx.has_out(0) && ctx.out(0).data != x.data) copy_elements(ctx, x.data, ctx.out(0).data, x.count, x.dtype);
    if (!ctx.has_out(1)) return {};
    const TensorView& mask = ctx.out(1);
    if (mask.dtype == DType::boolean) {
      const bool yes = true;
      fill_elements(ctx, mask.data, &yes, mask.count, mask.dtype);
      return {};
    }
    return dispatch<kFloats.bits()>(mask.dtype, [&]<class T>() {
      const T one(1.0f);
      fill_elements(ctx, mask.data, &one, mask.count, mask.dtype);
    });
  }

 private:
  explicit DropoutKernel(const ir::Node& n) : p_(read(n)), seeds_(n) {}

  static Status read_ratio(const TensorView& v, double& ratio) {
    if (v.count != 1) return invalid_argument("ratio has {} elements, needs one", v.count);
    if (kFloat8.has(v.dtype)) {
      ratio = static_cast<double>(kernels::small_float_to_f32(*v.as<uint8_t>(), elem(v.dtype)));
      return {};
    }
    return dispatch<kFloats.bits()>(
        v.dtype, [&]<class T>() { ratio = static_cast<double>(static_cast<Compute<T>>(*v.as<T>())); });
  }

  template <class T>
  Status drop(KernelContext& ctx, double ratio) const {
    RandomStream stream = seeds_.next();
    const TensorView& x = ctx.in(0);
    using C = Compute<T>;
    const C scale = static_cast<C>(1 / (1 - ratio));
    for (int64_t i = 0; i < x.count; ++i) {
      const bool keep = stream.uniform() >= ratio;
      if (ctx.has_out(0)) ctx.out(0).as<T>()[i] = keep ? static_cast<T>(static_cast<C>(x.as<T>()[i]) * scale) : T(0.0f);
      if (!ctx.has_out(1)) continue;
      if (ctx.out(1).dtype == DType::boolean)
        ctx.out(1).as<bool>()[i] = keep;
      else
        ctx.out(1).as<T>()[i] = T(keep ? 1.0f : 0.0f);
    }
    return {};
  }

  // The same elements are kept as of any other type.
  Status drop_float8(KernelContext& ctx, double ratio) const {
    RandomStream stream = seeds_.next();
    const TensorView& x = ctx.in(0);
    const auto scale = static_cast<float>(1 / (1 - ratio));
    for (int64_t i = 0; i < x.count; ++i) {
      const bool keep = stream.uniform() >= ratio;
      const float v = keep ? kernels::small_float_to_f32(x.as<uint8_t>()[i], elem(x.dtype)) * scale : 0.0f;
      if (ctx.has_out(0)) ctx.out(0).as<uint8_t>()[i] = kernels::f32_to_small_float(v, elem(x.dtype), {});
      if (ctx.has_out(1)) ctx.out(1).as<bool>()[i] = keep;
    }
    return {};
  }

  Params p_;
  SeedSource seeds_;
};

constexpr OpDef kDefs[] = {
    {"Dropout", infer, cpu<DropoutKernel>(kFloats | kFloat8), {.reviewed = 22, .in_place = {{0, 0}}, .random = true}}};

}  // namespace

TRUNNION_OPS(dropout, kDefs);
}  // namespace trunnion::ops
