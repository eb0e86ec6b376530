// GRU (ai.onnx 1, 3, 7, 14, 22).
#include "ops/nn/recurrent_plain_detail.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

constexpr kernels::RnnActivation kDefaults[] = {{kernels::RnnAct::sigmoid}, {kernels::RnnAct::tanh}};

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const RecurrentParams p, read_recurrent(n, 3, kDefaults));
  return infer_recurrent(p, f);
}

class GruKernel final : public RecurrentKernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(RecurrentParams p, read_recurrent(node, 3, kDefaults));
    const bool linear = node.since() >= 3 && node.attr("linear_before_reset", 0) != 0;
    if (node.input(0)->fact.dtype() == DType::f64)
      return make_plain_recurrent(std::move(p), {.linear_before_reset = linear});
    // The hidden gate is multiplied with the state, or on its own with the reset state.
    std::vector<Part> parts = linear ? std::vector<Part>{{0, 3}} : std::vector<Part>{{0, 2}, {2, 1}};
    auto kernel = std::unique_ptr<GruKernel>(new GruKernel(std::move(p), std::move(parts), linear));
    TRN_TRY(kernel->pack_constants(node));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

 protected:
  void step(const Step& s) const override {
    const int64_t width = 3 * s.hidden;
    float *products = s.work, *reset = s.work + s.batch * width;
    kernels::GruStep k;
    k.x_gates = s.gates;
    k.x_stride = s.gate_stride;
    k.h_gates = products;
    k.hg_stride = width;
    k.h_prev = s.h;
    k.h_prev_stride = s.hidden;
    k.rh = reset;
    k.h = s.h;
    k.h_stride = s.hidden;
    k.batch = s.batch;
    k.hidden = s.hidden;
    k.clip = p_.clip;
    k.linear_before_reset = linear_;
    const auto* a = p_.activations.data() + s.direction * 2;
    k.f = a[0];
    k.g = a[1];
    if (linear_) {
      s.multiply(0, s.h, products, width, false, s.recurrent_bias);
    } else {
      s.multiply(0, s.h, products, width, false);
      kernels::rnn().gru_reset(k);
      s.multiply(1, reset, products + 2 * s.hidden, width, false);
    }
    kernels::rnn().gru_update(k);
  }

 private:
  GruKernel(RecurrentParams p, std::vector<Part> parts, bool linear)
      : RecurrentKernel(std::move(p), std::move(parts), linear), linear_(linear) {}
  bool linear_;
};

constexpr OpDef kDefs[] = {{"GRU", infer, cpu_widened<GruKernel>(kFloats), {.reviewed = 22}}};

}  // namespace

TRUNNION_OPS(gru, kDefs);
}  // namespace trunnion::ops
