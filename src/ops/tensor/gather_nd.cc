// GatherND (ai.onnx 11, 12, 13; com.microsoft 1): slices of the data by index tuples, behind shared batch axes.
#include <algorithm>
#include <cstring>
#include <string>

#include "ops/move.h"
#include "ops/tensor/index_detail.h"

namespace trunnion::ops {
namespace {

int64_t read(const ir::Node& n) { return n.attr("batch_dims", 0); }

Status infer(const ir::Node& n, ir::Facts& f) {
  if (!f.has(0)) return {};
  f.set(0, f.dtype(0));
  if (!f.has_rank(0) || !f.has_rank(1)) return {};
  const int64_t batch = read(n), rank = f.in(0).rank(), width_axis = f.in(1).rank() - 1;
  if (rank < 1 || width_axis < 0)
    return invalid_argument("data and indices need rank 1 at least, have {} and {}", rank, width_axis + 1);
  if (batch < 0 || batch >= std::min<int64_t>(rank, width_axis + 1))
    return invalid_argument("batch_dims {} is out of range for ranks {} and {}", batch, rank, width_axis + 1);
  for (int i = 0; i < batch; ++i) {
    const Dim &a = f.in(0).dim(i), &b = f.in(1).dim(i);
    if (a.is_int() && b.is_int() && !(a == b))
      return invalid_argument("batch axis {} has sizes {} and {}", i, a.value(), b.value());
  }
  const Dim& width = f.in(1).dim(static_cast<int>(width_axis));
  if (!width.is_int()) return {};
  if (width.value() < 1 || width.value() > rank - batch)
    return invalid_argument("the last axis of indices has size {}, needs [1, {}]", width.value(), rank - batch);
  SymShape out(f.in(1).shape().begin(), f.in(1).shape().begin() + width_axis);
  out.insert(out.end(), f.in(0).shape().begin() + batch + width.value(), f.in(0).shape().end());
  f.out(0).type.shape = std::move(out);
  return {};
}

class GatherNdKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new GatherNdKernel(static_cast<int>(read(node))));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    TensorView index = ctx.in(1), &y = ctx.out(0);
    const int width = static_cast<int>(index.dim(index.rank - 1));
    if (product(index.shape(), 0, index.rank - 1) == 0) return {};
    Tensor wide;
    if (index.dtype == DType::i32) {
      TRN_ASSIGN(wide, Tensor::allocate(DType::i64, index.shape()));
      std::copy_n(index.as<const int32_t>(), index.count, wide.data<int64_t>());
      index = wide.view();
    }
    TRN_ASSIGN(const auto offsets, slice_offsets(x, index, batch_dims_));
    const int64_t inner = product(x.shape(), batch_dims_ + width, x.rank);
    if (inner == 0) return {};
    const size_t block = static_cast<size_t>(inner) * size_of(x.dtype);
    ctx.parallel_for(static_cast<int64_t>(offsets.size()), move_grain(block), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const void* from = element(x.data, offsets[k], x.dtype);
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
  explicit GatherNdKernel(int batch_dims) : batch_dims_(batch_dims) {}
  int batch_dims_;
};

constexpr DTypes kTypes = kPlainTypes | DType::string;
constexpr OpDef kDefs[] = {
    {"GatherND", infer, cpu<GatherNdKernel>(kTypes), {.reviewed = 13}},
    {"GatherND",
     infer,
     cpu<GatherNdKernel>(kTypes),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::GatherND 1 (data:T, indices:Tind) -> (output:T) T=basic|bf16 Tind=i32|i64"},
};

}  // namespace

TRUNNION_OPS(gather_nd, kDefs);
}  // namespace trunnion::ops
