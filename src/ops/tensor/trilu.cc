// Trilu (ai.onnx 14; com.microsoft 1): the upper or lower triangle of matrices; the rest becomes zero.
#include <algorithm>

#include "ops/dispatch.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

bool read_upper(const ir::Node& n) { return n.attr("upper", 1) != 0; }

Status infer(const ir::Node&, ir::Facts& f) {
  if (!f.has(0)) return {};
  if (f.has_rank(0) && f.in(0).rank() < 2)
    return invalid_argument("input 0 has rank {}, needs 2 at least", f.in(0).rank());
  f.set(0, f.dtype(0), f.in(0).type.shape);
  return {};
}

class TriluKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new TriluKernel(read_upper(node)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    int64_t k = 0;
    if (ctx.has_in(1)) {
      if (ctx.in(1).count != 1) return invalid_argument("k has {} elements, needs one", ctx.in(1).count);
      k = read_ints(ctx.in(1))[0];
    }
    if (x.count == 0) return {};
    const int64_t rows = x.dim(x.rank - 2), cols = x.dim(x.rank - 1);
    k = std::clamp(k, -rows, cols);
    return dispatch_size(x.dtype, [&]<class T>() {
      ctx.parallel_for(x.count / cols, std::max<int64_t>(1, 16384 / cols), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          // The diagonal's column: the upper triangle begins there, the lower one ends behind it.
          const int64_t diagonal = r % rows + k;
          const int64_t first = upper_ ? std::clamp<int64_t>(diagonal, 0, cols) : 0;
          const int64_t last = upper_ ? cols : std::clamp<int64_t>(diagonal + 1, 0, cols);
          const T* from = x.as<const T>() + r * cols;
          T* to = ctx.out(0).as<T>() + r * cols;
          std::fill_n(to, first, T{});
          if (from != to) std::copy(from + first, from + last, to + first);
          std::fill_n(to + last, cols - last, T{});
        }
      });
    });
  }

 private:
  explicit TriluKernel(bool upper) : upper_(upper) {}
  bool upper_;
};

constexpr DTypes kTypes = kPlainTypes | DType::string;
constexpr OpDef kDefs[] = {
    {"Trilu", infer, cpu<TriluKernel>(kTypes), {.reviewed = 14, .in_place = {{0, 0}}}},
    {"Trilu",
     infer,
     cpu<TriluKernel>(kTypes),
     {.reviewed = 1, .in_place = {{0, 0}}},
     "com.microsoft",
     "com.microsoft::Trilu 1 (X:T, k?:i64) -> (Y:T) {upper:i=1} T=num|bf16|bool"},
};

}  // namespace

TRUNNION_OPS(trilu, kDefs);
}  // namespace trunnion::ops
