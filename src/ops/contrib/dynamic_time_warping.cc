// DynamicTimeWarping (com.microsoft 1): the cheapest path through a matrix of costs from its first to its last element.
#include <algorithm>
#include <limits>
#include <vector>

#include "ops/dispatch.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node&, ir::Facts& f) {
  f.set(0, DType::i32, SymShape{Dim(2), Dim()});
  if (!f.has_rank(0)) return {};
  const SymShape& x = f.in(0).shape();
  if ((x.size() != 2 && x.size() != 3) || (x.size() == 3 && x[0].is_int() && !x[0].is_int(1)))
    return invalid_argument("input 0 has shape {}, expected a matrix", shape_text(x));
  return {};
}

class WarpingCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node&) { return std::unique_ptr<Kernel>(new WarpingCpu); }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    if (x.count == 0) return invalid_argument("the matrix of costs has shape {}", shape_text(x.shape()));
    const int64_t rows = x.dim(x.rank - 2), cols = x.dim(x.rank - 1);
    if (rows * cols != x.count) return invalid_argument("input 0 has shape {}", shape_text(x.shape()));
    enum Step : uint8_t { both, down, right };
    // Row 0 and column 0 stand before the matrix.
    constexpr float kNever = std::numeric_limits<float>::infinity();
    std::vector<float> before(static_cast<size_t>(cols) + 1, kNever), now(before);
    std::vector<Step> steps(static_cast<size_t>(x.count));
    before[0] = 0;
    for (int64_t r = 0; r < rows; ++r) {
      now[0] = kNever;
      for (int64_t c = 0; c < cols; ++c) {
        const float diagonal = before[c], above = before[c + 1], left = now[c];
        Step step = right;
        float cost = left;
        if (diagonal < above && diagonal < left) {
          step = both;
          cost = diagonal;
        } else if (above < diagonal && above < left) {
          step = down;
          cost = above;
        }
        now[c + 1] = cost + x.as<const float>()[r * cols + c];
        steps[r * cols + c] = step;
      }
      std::swap(before, now);
    }
    std::vector<std::pair<int32_t, int32_t>> path;
    for (int64_t r = rows - 1, c = cols - 1; r >= 0 && c >= 0;) {
      path.emplace_back(static_cast<int32_t>(r), static_cast<int32_t>(c));
      const Step step = r == 0 ? right : c == 0 ? down : steps[r * cols + c];
      r -= step != right;
      c -= step != down;
    }
    const auto length = static_cast<int64_t>(path.size());
    const int64_t dims[] = {2, length};
    TRN_ASSIGN(TensorView* const y, ctx.allocate_output(0, DType::i32, dims));
    for (int64_t i = 0; i < length; ++i) {
      const auto& [r, c] = path[static_cast<size_t>(length - 1 - i)];
      y->as<int32_t>()[i] = r;
      y->as<int32_t>()[length + i] = c;
    }
    return {};
  }
};

constexpr OpDef kDefs[] = {
    {"DynamicTimeWarping",
     infer,
     cpu<WarpingCpu>(DTypes(DType::f32)),
     {.reviewed = 1, .dynamic = true},
     "com.microsoft",
     "com.microsoft::DynamicTimeWarping 1 (input:F) -> (output:I) F=f32 I=i32"},
};

}  // namespace

TRUNNION_OPS(dynamic_time_warping, kDefs);

}  // namespace trunnion::ops
