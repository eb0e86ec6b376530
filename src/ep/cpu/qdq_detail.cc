#include "ep/cpu/qdq_detail.h"

#include <algorithm>
#include <cmath>

namespace trunnion::ep {
namespace {

bool is_quant_op(const ir::Node* n, std::string_view op) {
  return n && (n->domain().empty() || n->domain() == "com.microsoft") && n->op_type() == op &&
         n->outputs().size() == 1 && n->output(0) && n->attr("block_size", 0) == 0;
}

bool is_byte(DType t) { return t == DType::u8 || t == DType::i8; }

bool good_scale(float s) { return std::isnormal(s) && s > 0; }

// Scales that are constant, f32 and positive, with zero points of the type to match.
const Tensor* good_scales(const ir::Node& n, DType type) {
  const Tensor* scale = passes::constant_input(n, 1);
  if (!scale || scale->dtype() != DType::f32 || scale->count() < 1 || scale->rank() > 1) return nullptr;
  const auto s = scale->span<float>();
  if (!std::all_of(s.begin(), s.end(), good_scale)) return nullptr;
  if (!n.input(2)) return scale;
  const Tensor* zero = passes::constant_input(n, 2);
  return zero && zero->dtype() == type && zero->count() == scale->count() && zero->rank() <= 1 ? scale : nullptr;
}

QuantPoint point_of(const ir::Node& n, DType type) {
  QuantPoint p{type, n.input(1), n.input(2), *n.input(1)->constant().data<float>(), 0};
  if (p.zero_value)
    p.zero = type == DType::i8 ? *p.zero_value->constant().data<int8_t>() : *p.zero_value->constant().data<uint8_t>();
  return p;
}

}  // namespace

QuantPoint Dequantized::point() const { return point_of(*node, type); }

bool Dequantized::along(int axis, int rank) const {
  if (single()) return true;
  const int64_t given = node->attr("axis", 1);
  return codes->fact.has_rank() && codes->fact.rank() == rank && (given < 0 ? given + rank : given) == axis &&
         codes->fact.dim(axis).is_int(scales->count()) && scales->rank() == 1;
}

std::optional<Dequantized> as_dequantize(ir::Node* n) {
  if (!is_quant_op(n, "DequantizeLinear") || n->output(0)->fact.dtype() != DType::f32) return std::nullopt;
  const DType type = n->input(0)->fact.dtype();
  const Tensor* scales = is_byte(type) ? good_scales(*n, type) : nullptr;
  if (!scales) return std::nullopt;
  return Dequantized{n, n->input(0), type, scales};
}

std::optional<Dequantized> dequantized(const ir::Value* v) {
  return v && v->producer() ? as_dequantize(v->producer()) : std::nullopt;
}

std::optional<QuantPoint> as_quantize(const ir::Node* n) {
  if (!is_quant_op(n, "QuantizeLinear") || n->input(0)->fact.dtype() != DType::f32 || n->attr("precision", 0) != 0)
    return std::nullopt;
  const DType type = n->output(0)->fact.dtype();
  const Tensor* scales = is_byte(type) ? good_scales(*n, type) : nullptr;
  if (!scales || scales->count() != 1) return std::nullopt;
  return point_of(*n, type);
}

ir::Node* only_quantize(const ir::Value* v) {
  ir::Node* n = only_user(v);
  return n && n->input(0) == v && as_quantize(n) ? n : nullptr;
}

Status QdqRewriter::add_terms(const ir::Node* n, DType type, std::vector<ir::Value*>& inputs) {
  inputs.push_back(n->input(1));
  if (n->input(2)) {
    inputs.push_back(n->input(2));
    return {};
  }
  TRN_ASSIGN(Tensor zero, Tensor::allocate(type, n->input(1)->constant().shape()));
  std::fill_n(zero.data<int8_t>(), zero.count(), int8_t{0});  // both types have one byte
  inputs.push_back(rw.constant(n->input(1)->name() + "_zero_point", std::move(zero)));
  return {};
}

void QdqRewriter::take_over(ir::Value* old, ir::Value* made, ir::Node* before) {
  made->fact = old->fact;
  rw.replace_or_copy(old, made, before, 13);
}

void QdqRewriter::sweep() {
  for (ir::Node* n = graph_.last(); n;) {
    ir::Node* before = n->prev();
    if (left_.contains(n)) {
      const std::vector<ir::Value*> inputs(n->inputs().begin(), n->inputs().end());
      if (rw.erase_if_unused(n)) rw.erase_unused_constants(inputs);
    }
    n = before;
  }
  left_.clear();
}

}  // namespace trunnion::ep
