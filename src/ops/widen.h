// The row of a kernel class that knows f32 (and perhaps others) but not the 16-bit floats: these are widened around it.
#pragma once
#include "ops/half_adapter.h"

namespace trunnion::ops {

template <class K>
Result<std::unique_ptr<Kernel>> make_widened(const ir::Node& node) {
  TRN_ASSIGN(auto inner, K::make(node));
  bool any = false;
  for (const ir::Value* v : node.inputs()) any |= v && is_half(v->fact.dtype());
  for (const ir::Value* v : node.outputs()) any |= v && is_half(v->fact.dtype());
  if (!any) return std::unique_ptr<Kernel>(std::move(inner));
  return adapt_half(std::move(inner));
}

template <class K>
constexpr CpuKernel cpu_widened(DTypes types, int typed_by = 0) {
  return {types, &make_widened<K>, typed_by};
}

}  // namespace trunnion::ops
