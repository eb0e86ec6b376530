// ReverseSequence (ai.onnx 10, 28): for each batch entry, reverses its first sequence_lens entries along the time axis.
#include <algorithm>
#include <cstring>
#include <string>

#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

struct Params {
  int64_t batch_axis, time_axis;
};
Params read(const ir::Node& n) { return {n.attr("batch_axis", 1), n.attr("time_axis", 0)}; }

Status infer(const ir::Node& n, ir::Facts& f) {
  const Params p = read(n);
  if (!f.has(0)) return {};
  if (p.batch_axis + p.time_axis != 1 || p.batch_axis * p.time_axis != 0)
    return invalid_argument("batch_axis {} and time_axis {} need to be 0 and 1, or 1 and 0", p.batch_axis, p.time_axis);
  f.set(0, f.dtype(0), f.in(0).type.shape);
  TRN_TRY(expect_rank(f, 1, 1));
  if (!f.has_rank(0)) return {};
  if (f.in(0).rank() < 2) return invalid_argument("input 0 has rank {}, needs 2 at least", f.in(0).rank());
  const Dim& batch = f.in(0).dim(static_cast<int>(p.batch_axis));
  if (f.has_rank(1) && batch.is_int() && f.in(1).dim(0).is_int() && !(batch == f.in(1).dim(0)))
    return invalid_argument("sequence_lens has {} entries, the batch axis has size {}", f.in(1).dim(0).value(),
                            batch.value());
  return {};
}

class ReverseSequenceKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new ReverseSequenceKernel(read(node)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &lengths = ctx.in(1);
    TensorView& y = ctx.out(0);
    const bool time_first = p_.time_axis == 0;
    const int64_t times = x.dim(time_first ? 0 : 1), batch = x.dim(time_first ? 1 : 0),
                  inner = product(x.shape(), 2, x.rank);
    const auto* length = lengths.as<const int64_t>();
    if (lengths.count != batch) return invalid_argument("sequence_lens has {} entries, needs {}", lengths.count, batch);
    for (int64_t b = 0; b < batch; ++b)
      if (length[b] < 0 || length[b] > times)
        return invalid_argument("sequence length {} is outside [0, {}]", length[b], times);
    if (x.count == 0) return {};
    const size_t block = static_cast<size_t>(inner) * size_of(x.dtype);
    ctx.parallel_for(times * batch, move_grain(block), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const int64_t t = time_first ? k / batch : k % times, b = time_first ? k % batch : k / times;
        const int64_t source = t < length[b] ? length[b] - 1 - t : t;
        const void* from = element(x.data, (time_first ? source * batch + b : b * times + source) * inner, x.dtype);
        void* to = element(y.data, k * inner, x.dtype);
        if (x.dtype == DType::string)
          std::copy_n(static_cast<const std::string*>(from), inner, static_cast<std::string*>(to));
        else
          std::memcpy(to, from, block);
      }
    });
    return {};
  }

 private:
  explicit ReverseSequenceKernel(Params p) : p_(p) {}
  Params p_;
};

constexpr DTypes kTypes = kPlainTypes | DType::string;
constexpr OpDef kDefs[] = {{"ReverseSequence", infer, cpu<ReverseSequenceKernel>(kTypes), {.reviewed = 28}}};

}  // namespace

TRUNNION_OPS(reverse_sequence, kDefs);
}  // namespace trunnion::ops
