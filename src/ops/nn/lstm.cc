// LSTM (ai.onnx 1, 7, 14, 22).
#include "ops/nn/recurrent_plain_detail.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

constexpr kernels::RnnActivation kDefaults[] = {
    {kernels::RnnAct::sigmoid}, {kernels::RnnAct::tanh}, {kernels::RnnAct::tanh}};

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const RecurrentParams p, read_recurrent(n, 4, kDefaults));
  return infer_recurrent(p, f);
}

class LstmKernel final : public RecurrentKernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(RecurrentParams p, read_recurrent(node, 4, kDefaults));
    const bool input_forget = node.attr("input_forget", 0) != 0;
    if (node.input(0)->fact.dtype() == DType::f64)
      return make_plain_recurrent(std::move(p), {.input_forget = input_forget});
    auto kernel = std::unique_ptr<LstmKernel>(new LstmKernel(std::move(p), input_forget));
    TRN_TRY(kernel->pack_constants(node));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

 protected:
  void step(const Step& s) const override {
    s.multiply(0, s.h, s.gates, s.gate_stride, true);
    kernels::LstmStep k;
    k.gates = s.gates;
    k.gate_stride = s.gate_stride;
    k.c_prev = s.c;
    k.c = s.c;
    k.h = s.h;
    k.h_stride = s.hidden;
    k.peephole = s.peephole;
    k.batch = s.batch;
    k.hidden = s.hidden;
    k.clip = p_.clip;
    k.input_forget = input_forget_;
    const auto* a = p_.activations.data() + s.direction * 3;
    k.f = a[0];
    k.g = a[1];
    k.out = a[2];
    kernels::rnn().lstm(k);
  }

 private:
  LstmKernel(RecurrentParams p, bool input_forget)
      : RecurrentKernel(std::move(p), {{0, 4}}, false), input_forget_(input_forget) {}
  bool input_forget_;
};

constexpr OpDef kDefs[] = {{"LSTM", infer, cpu_widened<LstmKernel>(kFloats), {.reviewed = 22}}};

}  // namespace

TRUNNION_OPS(lstm, kDefs);
}  // namespace trunnion::ops
