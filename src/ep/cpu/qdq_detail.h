// What the rewrites of DequantizeLinear -> operator -> QuantizeLinear groups share: the nodes at both ends of a group,
// when they are 8-bit with constant scales, and what of a group is left without readers.
#pragma once
#include <string_view>
#include <unordered_set>

#include "ep/cpu/fusion.h"

namespace trunnion::ep {

// One constant scale and zero point; zero is null where it is absent and counts as 0.
struct QuantPoint {
  DType type = DType::undefined;  // u8 or i8
  ir::Value *scale_value = nullptr, *zero_value = nullptr;
  float scale = 0;
  int32_t zero = 0;
  friend bool operator==(const QuantPoint& a, const QuantPoint& b) {
    return a.type == b.type && a.scale == b.scale && a.zero == b.zero;
  }
};

// A DequantizeLinear of 8-bit codes to f32. Its scales are constant, positive and one for all or one for each position
// of an axis.
struct Dequantized {
  ir::Node* node = nullptr;
  ir::Value* codes = nullptr;
  DType type = DType::undefined;
  const Tensor* scales = nullptr;

  bool single() const { return scales->count() == 1; }
  QuantPoint point() const;  // of a single one
  // Single, or one scale for each position of this axis of the codes, which have this rank.
  bool along(int axis, int rank) const;
};
std::optional<Dequantized> dequantized(const ir::Value* v);
// The same of a node; and a QuantizeLinear from f32 to 8 bits with one scale for all.
std::optional<Dequantized> as_dequantize(ir::Node* n);
std::optional<QuantPoint> as_quantize(const ir::Node* n);
// The QuantizeLinear (as above) that alone reads the value.
ir::Node* only_quantize(const ir::Value* v);

// Inserts nodes beside those that they stand for. Those stay, without readers, until sweep().
class QdqRewriter {
 public:
  QdqRewriter(ir::Graph& graph, passes::PassContext& context) : rw(graph, kName, context.log), graph_(graph) {}
  static constexpr std::string_view kName = "QDQSelectorActionTransformer";

  // The node's scale and zero point inputs; a zero point that is absent becomes a constant.
  Status add_terms(const ir::Node* n, DType type, std::vector<ir::Value*>& inputs);
  // `made` computes what `old` did, with this fact. It is read in its place.
  void take_over(ir::Value* old, ir::Value* made, ir::Node* before);
  void leave(ir::Node* n) { left_.insert(n); }
  // Erases the left nodes that nobody reads, and the constants that only they read.
  void sweep();

  ir::Rewriter rw;

 private:
  ir::Graph& graph_;
  std::unordered_set<const ir::Node*> left_;
};

// Operators that only move elements, and Relu and Clip, work on codes: DequantizeLinear goes behind them,
// QuantizeLinear in front of them where a group needs it there. What then stands side by side and cancels goes.
Status move_quantization(ir::Graph& graph, QdqRewriter& q);
// Operators of ai.onnx that the integer ones can stand for, when all around them is quantized.
bool has_integer_form(const ir::Node& n);

}  // namespace trunnion::ep
