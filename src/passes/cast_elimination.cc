// CastElimination: casts to the type that the value has already, and the first of two casts where it loses nothing.
#include "passes/clean.h"
#include "passes/rules.h"

namespace trunnion::passes {
namespace {

bool casts_to_own_type(const ir::Node& n) {
  if (!is_op(&n, "Cast") && !is_op(&n, "CastLike")) return false;
  const DType from = n.input(0)->fact.dtype();
  return n.input(0)->fact.type.is_tensor() && from != DType::undefined && from == n.output(0)->fact.dtype();
}

int integer_bits(DType t) { return t == DType::boolean ? 1 : bits_of(t); }

// Bits of precision: integers up to 2^n are exact.
int mantissa(DType t) {
  switch (t) {
    case DType::f64:
      return 53;
    case DType::f32:
      return 24;
    case DType::f16:
      return 11;
    case DType::bf16:
      return 8;
    default:
      return 0;
  }
}

// Every value of `a` is a value of `b`.
bool embeds(DType a, DType b) {
  if (a == b) return true;
  const bool from_integer = is_integer(a) || a == DType::boolean;
  if (from_integer && is_integer(b)) {
    const bool from_signed = is_signed_integer(a), to_signed = is_signed_integer(b);
    if (from_signed && !to_signed) return false;
    return integer_bits(b) - to_signed >= integer_bits(a) - from_signed;
  }
  if (from_integer) return mantissa(b) >= integer_bits(a) - is_signed_integer(a);
  if (a == DType::f16) return b == DType::f32 || b == DType::f64;
  if (a == DType::bf16) return b == DType::f32 || b == DType::f64;
  return a == DType::f32 && b == DType::f64;
}

// Cast(Cast(x, middle), to) is Cast(x, to), also for what is out of range of `to`.
bool skips_middle(DType from, DType middle, DType to) {
  if (!embeds(from, middle)) return false;
  if (from == to) return true;
  if (from == DType::boolean) return mantissa(to) || is_integer(to);
  // Between floats and integers, what happens out of range depends on the type that is read.
  if (is_float(middle) == is_float(from))
    return is_float(from) ? mantissa(to) > 0 : mantissa(to) || is_integer(to) || to == DType::boolean;
  return embeds(from, to);
}

bool plain(const ir::Node* n) { return is_op(n, "Cast") && n->attrs().size() == 1; }  // no saturate or round_mode

}  // namespace

Status cast_elimination(ir::Graph& graph, PassContext& context) {
  ir::Rewriter rw(graph, "CastElimination", context.log);
  for (ir::Node* n = graph.first(); n; n = n->next()) {
    ir::Node* first = plain(n) && n->input(0) ? n->input(0)->producer() : nullptr;
    if (!plain(first) || !first->input(0)->fact.type.is_tensor()) continue;
    const DType from = first->input(0)->fact.dtype(), middle = first->output(0)->fact.dtype(),
                to = n->output(0)->fact.dtype();
    if (from == DType::undefined || middle == DType::undefined || to == DType::undefined ||
        !skips_middle(from, middle, to))
      continue;
    rw.begin("cast of a cast", {first, n});
    rw.set_input(n, 0, first->input(0));
    rw.absorb(n, first);
  }
  TRN_TRY(bypass_all(graph, rw, "cast to the same type",
                     [](ir::Node& n) { return casts_to_own_type(n) ? n.input(0) : nullptr; }));
  context.changes += rw.changes();
  return {};
}

}  // namespace trunnion::passes
