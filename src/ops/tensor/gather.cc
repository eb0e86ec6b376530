// Gather (ai.onnx 1, 11, 13): entries of one axis by index; negative indices count from the end.
#include <algorithm>
#include <string>

#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

int64_t read(const ir::Node& n) { return n.attr("axis", 0); }

Status infer(const ir::Node& n, ir::Facts& f) {
  if (!f.has(0)) return {};
  f.set(0, f.dtype(0));
  if (!f.has_rank(0)) return {};
  const SymShape& in = f.in(0).shape();
  TRN_ASSIGN(const int axis, normalize_axis(read(n), f.in(0).rank()));
  if (!f.has_rank(1)) return {};
  SymShape out(in.begin(), in.begin() + axis);
  out.insert(out.end(), f.in(1).shape().begin(), f.in(1).shape().end());
  out.insert(out.end(), in.begin() + axis + 1, in.end());
  f.out(0).type.shape = std::move(out);
  const auto content = f.in(0).rank() == 1 ? f.dims(0) : std::nullopt;
  const auto index = f.in(1).rank() <= 1 ? f.ints(1) : std::nullopt;
  if (!content || !index || index->size() > static_cast<size_t>(ir::kMaxContent)) return {};
  const int64_t count = static_cast<int64_t>(content->size());
  std::vector<Dim> picked;
  for (int64_t i : *index) {
    if (i < -count || i >= count) return invalid_argument("index {} is out of range for axis 0 of size {}", i, count);
    picked.push_back((*content)[i < 0 ? i + count : i]);
  }
  f.out(0).content = std::move(picked);
  return {};
}

class GatherKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new GatherKernel(read(node)));
  }

  Status run(KernelContext& ctx) const override {
    return ctx.in(1).dtype == DType::i32 ? gather<int32_t>(ctx) : gather<int64_t>(ctx);
  }

 private:
  explicit GatherKernel(int64_t axis) : axis_(axis) {}

  template <class I>
  Status gather(KernelContext& ctx) const {
    const TensorView &x = ctx.in(0), &index = ctx.in(1);
    TensorView& y = ctx.out(0);
    TRN_ASSIGN(const int axis, normalize_axis(axis_, x.rank));
    const int64_t outer = product(x.shape(), 0, axis), count = x.dim(axis),
                  inner = product(x.shape(), axis + 1, x.rank);
    const I* at = index.as<const I>();
    if (!kernels::indices_valid(at, index.count, count)) {
      int64_t i = 0;
      while (at[i] >= -count && at[i] < count) ++i;
      return invalid_argument("indices element out of data bounds, idx={} must be within the inclusive range [{},{}]",
                              at[i], -count, count - 1);
    }
    if (y.count == 0) return {};
    const size_t block = static_cast<size_t>(inner) * size_of(x.dtype);
    // Blocks of the output in order; a piece may span several outer entries.
    ctx.parallel_for(outer * index.count, move_grain(block), [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t o = begin / index.count, i = begin % index.count, n = std::min(index.count - i, end - begin);
        const void* from = element(x.data, o * count * inner, x.dtype);
        void* to = element(y.data, begin * inner, x.dtype);
        if (x.dtype == DType::string)
          strings(static_cast<const std::string*>(from), static_cast<std::string*>(to), at + i, n, count, inner);
        else
          kernels::gather_blocks(from, to, at + i, n, count, block);
        begin += n;
      }
    });
    return {};
  }

  template <class I>
  static void strings(const std::string* x, std::string* y, const I* index, int64_t n, int64_t count, int64_t inner) {
    for (int64_t k = 0; k < n; ++k, y += inner)
      std::copy_n(x + (index[k] < 0 ? index[k] + count : index[k]) * inner, inner, y);
  }

  int64_t axis_;
};

constexpr DTypes kTypes = kPlainTypes | DType::string;
constexpr OpDef kDefs[] = {{"Gather", infer, cpu<GatherKernel>(kTypes), {.reviewed = 13}}};

}  // namespace

TRUNNION_OPS(gather, kDefs);
}  // namespace trunnion::ops
