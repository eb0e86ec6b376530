// RNN (ai.onnx 1, 7, 14, 22): h = f(x W + h R + biases).
#include "ops/nn/recurrent_plain_detail.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

constexpr kernels::RnnActivation kDefaults[] = {{kernels::RnnAct::tanh}};

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const RecurrentParams p, read_recurrent(n, 1, kDefaults));
  return infer_recurrent(p, f);
}

class RnnKernel final : public RecurrentKernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(RecurrentParams p, read_recurrent(node, 1, kDefaults));
    if (node.input(0)->fact.dtype() == DType::f64) return make_plain_recurrent(std::move(p));
    auto kernel = std::unique_ptr<RnnKernel>(new RnnKernel(std::move(p)));
    TRN_TRY(kernel->pack_constants(node));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

 protected:
  void step(const Step& s) const override {
    s.multiply(0, s.h, s.gates, s.gate_stride, true);
    for (int64_t b = 0; b < s.batch; ++b)
      kernels::rnn().activate(s.gates + b * s.gate_stride, s.h + b * s.hidden, s.hidden,
                              p_.activations[static_cast<size_t>(s.direction)], p_.clip);
  }

 private:
  explicit RnnKernel(RecurrentParams p) : RecurrentKernel(std::move(p), {{0, 1}}, false) {}
};

constexpr OpDef kDefs[] = {{"RNN", infer, cpu_widened<RnnKernel>(kFloats), {.reviewed = 22}}};

}  // namespace

TRUNNION_OPS(rnn, kDefs);
}  // namespace trunnion::ops
