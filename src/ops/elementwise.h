// What element-wise operators share: inference, symbolic contents, and kernels over kernels/unary.h and binary.h.
#pragma once
#include <functional>

#include "kernels/binary.h"
#include "kernels/broadcast.h"
#include "kernels/unary.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {

// out(0) has the type and shape of input 0 and no content.
Status infer_elementwise(const ir::Node&, ir::Facts& f);
// The same with booleans.
Status infer_elementwise_bool(const ir::Node&, ir::Facts& f);

// Elements for one piece of parallel work (about 20 us) of an operation on that type.
int64_t unary_grain(kernels::UnaryOp op, DType type);
int64_t binary_grain(kernels::BinaryOp op, DType type);

// y = op(x).
class UnaryKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node, kernels::UnaryOp op,
                                              kernels::UnaryParams params = {});
  Status run(KernelContext& ctx) const override;

 private:
  UnaryKernel(kernels::UnaryFn fn, kernels::UnaryParams params, size_t size, int64_t grain)
      : fn_(fn), params_(params), size_(size), grain_(grain) {}
  kernels::UnaryFn fn_;
  kernels::UnaryParams params_;
  size_t size_;
  int64_t grain_;
};

// How the shapes of a binary operator come together. Before opset 7, attributes `broadcast` and `axis` say at which
// axis of A the shape of B stands.
struct BroadcastRule {
  bool legacy = false;
  bool enabled = false;  // legacy: attribute broadcast
  int64_t axis = 0;      // legacy: attribute axis, when has_axis
  bool has_axis = false;
  bool per_channel = false;  // PRelu before opset 7: a rank-1 B stands at axis 1
};
BroadcastRule read_broadcast(const ir::Node& node);

// The shape of B with ones behind it, so that it broadcasts against A as the rule says; an error when it can't.
Result<SymShape> aligned_shape(const BroadcastRule& rule, const SymShape& a, const SymShape& b);

// Infers the output of a binary operator with that element type: shape, and content when `content` is given and both
// inputs have content.
using ContentFn = Dim (*)(const Dim& a, const Dim& b);
Status infer_binary(const ir::Node& node, ir::Facts& f, DType out, ContentFn content = nullptr);

// Contents element by element, scalars repeated; nothing when one is unknown or the output is no small integer tensor.
void set_content(ir::Facts& f, ContentFn content);

// True when the dimension is known not to be negative whatever its symbols are: an integer, or one symbol.
bool is_not_negative(const Dim& d);

// y = op(a, b) with broadcasting.
class BinaryKernel final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node, kernels::BinaryOp op);
  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override;
  Status run(KernelContext& ctx) const override;

 private:
  BinaryKernel(kernels::BinaryOp op, BroadcastRule rule) : op_(op), rule_(rule) {}
  kernels::BinaryOp op_;
  BroadcastRule rule_;
};

// The broadcast plan of concrete shapes under the rule.
Result<kernels::BroadcastPlan> plan_broadcast(const BroadcastRule& rule, std::span<const int64_t> a,
                                              std::span<const int64_t> b);

// A MakeFn for an operation that needs no attributes.
template <kernels::UnaryOp kOp>
Result<std::unique_ptr<Kernel>> make_unary(const ir::Node& node) {
  return UnaryKernel::make(node, kOp);
}
template <kernels::BinaryOp kOp>
Result<std::unique_ptr<Kernel>> make_binary(const ir::Node& node) {
  return BinaryKernel::make(node, kOp);
}

}  // namespace trunnion::ops
