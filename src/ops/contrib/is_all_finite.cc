// IsAllFinite (com.microsoft 1): whether no element of any input is infinite or NaN (or only one of the two is asked).
#include <algorithm>

#include "kernels/unary.h"
#include "ops/dispatch.h"
#include "ops/op.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node&, ir::Facts& f) {
  f.set(0, DType::boolean, SymShape{});
  return {};
}

class IsAllFiniteCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    const bool inf_only = n.attr("isinf_only", 0) != 0, nan_only = n.attr("isnan_only", 0) != 0;
    if (inf_only && nan_only) return invalid_argument("attributes isinf_only and isnan_only are both set");
    return std::unique_ptr<Kernel>(new IsAllFiniteCpu(!nan_only, !inf_only));
  }

  Status run(KernelContext& ctx) const override {
    bool found = false;
    for (int i = 0; i < ctx.inputs() && !found; ++i) {
      const TensorView& x = ctx.in(i);
      const auto is_inf = kernels::is_inf(elem(x.dtype), true, true), is_nan = kernels::is_nan(elem(x.dtype));
      const auto size = static_cast<int64_t>(size_of(x.dtype));
      constexpr int64_t kPart = 1024;
      bool hits[kPart];
      for (int64_t at = 0; at < x.count && !found; at += kPart) {
        const auto n = static_cast<size_t>(std::min(kPart, x.count - at));
        const std::byte* from = x.as<std::byte>() + at * size;
        const auto any = [&] { return std::find(hits, hits + n, true) != hits + n; };
        if (inf_) is_inf(from, hits, n), found = any();
        if (nan_ && !found) is_nan(from, hits, n), found = any();
      }
    }
    *ctx.out(0).as<bool>() = !found;
    return {};
  }

 private:
  IsAllFiniteCpu(bool inf, bool nan) : inf_(inf), nan_(nan) {}
  bool inf_, nan_;
};

constexpr OpDef kDefs[] = {{"IsAllFinite",
                            infer,
                            cpu<IsAllFiniteCpu>(kFloats),
                            {.reviewed = 1},
                            "com.microsoft",
                            "com.microsoft::IsAllFinite 1 (input*:V) -> (output:T) {isinf_only:i=0, isnan_only:i=0} "
                            "V=float|bf16 T=bool"}};

}  // namespace

TRUNNION_OPS(is_all_finite, kDefs);

}  // namespace trunnion::ops
