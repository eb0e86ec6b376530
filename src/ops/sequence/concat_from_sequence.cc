// ConcatFromSequence (ai.onnx 11): joins the tensors of a sequence along an axis, or (new_axis) stacks them.
#include "ops/move.h"
#include "ops/sequence/sequence_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

Status infer(const ir::Node& n, ir::Facts& f) {
  const int64_t stack = n.attr("new_axis", 0);
  if (stack != 0 && stack != 1) return invalid_argument("attribute new_axis is {}, it must be 0 or 1", stack);
  set_type(f, Type::tensor(element_type(f, 0).dtype));
  return {};
}

class ConcatFromSequence final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new ConcatFromSequence(n.attr("axis", 0), n.attr("new_axis", 0) != 0));
  }

  Status run(KernelContext& ctx) const override {
    TRN_ASSIGN(const Value v, input_sequence(ctx, 0));
    const auto& items = v.sequence().items;
    if (items.empty()) return invalid_argument("the sequence is empty");
    for (const Value& item : items)
      if (!item.is_tensor()) return invalid_argument("the elements of the sequence are no tensors");
    const Tensor& first = items[0].tensor();
    const DType type = first.dtype();
    if (is_sub_byte(type)) return not_implemented("elements of type {}", dtype_name(type));
    const int rank = first.rank();
    TRN_ASSIGN(const int axis, normalize_axis(axis_, stack_ ? rank + 1 : rank));
    Shape dims = first.shape();
    if (stack_) dims.insert(dims.begin() + axis, 1);
    int64_t sum = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      const Tensor& t = items[i].tensor();
      bool fits = t.dtype() == type && t.rank() == rank;
      for (int d = 0; fits && d < rank; ++d)
        fits = (!stack_ && d == axis) || t.shape()[static_cast<size_t>(d)] == first.shape()[static_cast<size_t>(d)];
      if (!fits)
        return invalid_argument("element {} has shape {} and element 0 shape {}: they cannot be joined along axis {}",
                                i, shape_text(t.shape()), shape_text(first.shape()), axis);
      sum += stack_ ? 1 : t.shape()[static_cast<size_t>(axis)];
    }
    dims[static_cast<size_t>(axis)] = sum;
    TRN_ASSIGN(TensorView * y, ctx.allocate_output(0, type, dims));
    if (y->count == 0) return {};
    const int64_t outer = product(dims, 0, axis), row = y->count / outer;
    int64_t at = 0;
    for (const Value& item : items) {
      const int64_t width = item.tensor().count() / outer;
      if (width == 0) continue;
      const kernels::CopyShape box{2, {outer, width}, {width, 1}, {row, 1}};
      copy_strided(ctx, item.tensor().raw(), element(y->data, at, type), box, type);
      at += width;
    }
    return {};
  }

 private:
  ConcatFromSequence(int64_t axis, bool stack) : axis_(axis), stack_(stack) {}
  int64_t axis_;
  bool stack_;
};

constexpr OpDef kDefs[] = {
    {"ConcatFromSequence", infer, cpu<ConcatFromSequence>(kAllTypes, -1), {.reviewed = 11, .dynamic = true}}};

}  // namespace

TRUNNION_OPS(concat_from_sequence, kDefs);

}  // namespace trunnion::ops
