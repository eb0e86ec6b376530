// Reductions of the last and of a middle dimension, and the place of the largest element.
#include <fmt/format.h>

#include "kernels/reduce.h"
#include "measured.h"

namespace trunnion::bench {
namespace {

using namespace kernels;

constexpr ReduceShape kShapes[] = {
    {128, 768, 1, 1}, {256, 3136, 1, 1}, {1, 80, 8400, 8400}, {1, 21, 16384, 16384}, {12, 128, 128, 128}};

template <class F>
void add_reduction(const char* name, Elem type, size_t result_bytes, F run) {
  for (const ReduceShape& s : kShapes) {
    const int64_t in = s.outer * s.axis * s.inner, out = s.outer * s.inner;
    const double bytes = static_cast<double>(in) * elem_bits(type) / 8 + static_cast<double>(out * result_bytes);
    add(fmt::format("{}/{}x{}x{}", name, s.outer, s.axis, s.inner), {0, bytes}, [=] {
      const auto x = random_floats(in * 2), y = random_floats(out * 2);
      return [=] { run(x.get(), y.get(), s); };
    });
  }
}

}  // namespace

void suite() {
  constexpr std::pair<const char*, ReduceOp> kOps[] = {{"sum", ReduceOp::sum},
                                                       {"mean", ReduceOp::mean},
                                                       {"max", ReduceOp::max},
                                                       {"l2", ReduceOp::l2},
                                                       {"log_sum_exp", ReduceOp::log_sum_exp}};
  for (const auto& [name, op] : kOps)
    add_reduction(name, Elem::f32, 4,
                  [f = reduce(op, Elem::f32)](const float* x, float* y, const ReduceShape& s) { f(x, y, s); });
  add_reduction("sum_i64", Elem::i64, 8,
                [f = reduce(ReduceOp::sum, Elem::i64)](const float* x, float* y, const ReduceShape& s) { f(x, y, s); });
  add_reduction("arg_max", Elem::f32, 8,
                [f = arg_extreme(true, false, Elem::f32)](const float* x, float* y, const ReduceShape& s) {
                  f(x, reinterpret_cast<int64_t*>(y), s);
                });
}

}  // namespace trunnion::bench
