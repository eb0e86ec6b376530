// Compress (ai.onnx 9, 11, 28): the slices along an axis (or the elements of the flattened input) whose condition is
// true. The condition may be shorter than the axis.
#include <algorithm>
#include <string>
#include <vector>

#include "ops/dispatch.h"
#include "ops/move.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

struct Params {
  int64_t axis;
  bool flat;
};
Params read(const ir::Node& n) { return {n.attr("axis", 0), !n.has_attr("axis")}; }

Status infer(const ir::Node& n, ir::Facts& f) {
  const Params p = read(n);
  if (!f.has(0)) return {};
  TRN_TRY(expect_rank(f, 1, 1));
  f.set(0, f.dtype(0));
  if (p.flat) {
    f.out(0).type.shape = unknown_shape(1);
  } else if (f.has_rank(0)) {
    TRN_ASSIGN(const int axis, normalize_axis(p.axis, f.in(0).rank()));
    f.out(0).type.shape = f.in(0).shape();
    (*f.out(0).type.shape)[axis] = Dim();
  }
  return {};
}

class CompressKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    return std::unique_ptr<Kernel>(new CompressKernel(read(node)));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(0), &condition = ctx.in(1);
    Shape dims = p_.flat ? Shape{x.count} : Shape(x.shape());
    int axis = 0;
    if (!p_.flat) {
      TRN_ASSIGN(axis, normalize_axis(p_.axis, x.rank));
    }
    const int rank = static_cast<int>(dims.size());
    const int64_t size = dims[axis], outer = product(dims, 0, axis), inner = product(dims, axis + 1, rank);
    std::vector<int64_t> picked;
    for (int64_t i = 0; i < condition.count; ++i) {
      if (!condition.as<const bool>()[i]) continue;
      if (i >= size) return invalid_argument("condition is true at {}, the axis has size {}", i, size);
      picked.push_back(i);
    }
    dims[axis] = static_cast<int64_t>(picked.size());
    TRN_ASSIGN(TensorView * y, ctx.allocate_output(0, x.dtype, dims));
    if (y->count == 0) return {};
    const size_t block = static_cast<size_t>(inner) * size_of(x.dtype);
    for (int64_t o = 0; o < outer; ++o) {
      const void* from = element(x.data, o * size * inner, x.dtype);
      void* to = element(y->data, o * dims[axis] * inner, x.dtype);
      if (x.dtype != DType::string) {
        kernels::gather_blocks(from, to, picked.data(), dims[axis], size, block);
        continue;
      }
      auto* text = static_cast<std::string*>(to);
      for (const int64_t i : picked) text = std::copy_n(static_cast<const std::string*>(from) + i * inner, inner, text);
    }
    return {};
  }

 private:
  explicit CompressKernel(Params p) : p_(p) {}
  Params p_;
};

constexpr DTypes kTypes = kPlainTypes | DType::string;
constexpr OpDef kDefs[] = {{"Compress", infer, cpu<CompressKernel>(kTypes), {.reviewed = 28, .dynamic = true}}};

}  // namespace

TRUNNION_OPS(compress, kDefs);
}  // namespace trunnion::ops
