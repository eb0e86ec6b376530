#include "ops/packing.h"

#include <utility>

#include "base/error.h"
#include "ops/half_adapter.h"
#include "ops/shape.h"
#include "tensor/alignment.h"

namespace trunnion::ops {
namespace {

thread_local PackPlace* t_place = nullptr;

}  // namespace

PackScope::PackScope(PackPlace* place) : before_(std::exchange(t_place, place)) {}
PackScope::~PackScope() { t_place = before_; }

Result<Tensor> pack_source(const Tensor& operand, const Packing& how) {
  if (how.dtype == DType::f32 && (operand.dtype() == DType::f16 || operand.dtype() == DType::bf16)) {
    TRN_ASSIGN(Tensor even, aligned(operand));
    return to_f32(even);
  }
  return how.any_alignment ? operand : aligned(operand);
}

Result<Tensor> pack_here(const Tensor& operand, const Packing& how, PackFill fill) {
  if (!operand.raw())
    return error(Code::fail, "the elements of a constant of shape {} are gone", shape_text(operand.shape()));
  TRN_ASSIGN(const Tensor source, pack_source(operand, how));
  const int64_t size[] = {how.count};
  TRN_ASSIGN(Tensor packed, Tensor::allocate(how.dtype, size));
  fill(source, 0, how.units, packed.raw());
  return packed;
}

Result<Tensor> pack(const Tensor& operand, const Packing& how, PackFill fill) {
  return t_place ? t_place->pack(operand, how, fill) : pack_here(operand, how, fill);
}

Result<Tensor> pack_lists(const ir::Node& node, std::string_view layout, std::span<const std::string_view> lists,
                          ListFill make) {
  return t_place ? t_place->pack_lists(node, layout, lists, make) : make();
}

}  // namespace trunnion::ops
