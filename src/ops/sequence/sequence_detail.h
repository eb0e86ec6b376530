// What operators on sequences share.
#pragma once
#include "ops/op.h"

namespace trunnion::ops {

// Input i as a sequence; an error when it is something else.
inline Result<Value> input_sequence(KernelContext& ctx, int i) {
  Value v = ctx.input_value(i);
  if (v.kind() != Value::Kind::sequence) return invalid_argument("input {} is no sequence", i);
  return v;
}

// The element type of input i, unknown when it is not a sequence (yet).
inline Type element_type(const ir::Facts& f, int i) {
  if (!f.has(i) || f.in(i).type.kind != Type::Kind::sequence || !f.in(i).type.inner) return {};
  return *f.in(i).type.inner;
}

inline void set_type(ir::Facts& f, Type type) {
  f.out(0) = {};
  f.out(0).type = std::move(type);
}

}  // namespace trunnion::ops
