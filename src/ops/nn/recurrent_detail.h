// What LSTM, GRU and RNN share: attributes, inference, and the walk over time. One matrix product gives the inputs'
// part of all gates for all times; then every step multiplies the state with the recurrence weights and calls the cell.
#pragma once
#include "kernels/gemm.h"
#include "kernels/rnn.h"
#include "ops/op.h"

namespace trunnion::ops {

struct RecurrentParams {
  int gates = 1;      // 4, 3 or 1
  bool cell = false;  // LSTM: has a cell state
  int directions = 1;
  bool reverse = false;  // of the first direction; the second one always is
  bool batch_first = false;
  int64_t hidden = 0;  // 0: as the weights say
  float clip = 0;
  std::vector<kernels::RnnActivation> activations;  // all of direction 0, then those of direction 1
  bool reverses(int direction) const { return direction == 1 || reverse; }
};

// `defaults` are the activations of one direction.
Result<RecurrentParams> read_recurrent(const ir::Node& node, int gates,
                                       std::span<const kernels::RnnActivation> defaults);

// Outputs Y, Y_h and, with a cell state, Y_c.
Status infer_recurrent(const RecurrentParams& p, ir::Facts& f);

// f32; other types are widened around it.
class RecurrentKernel : public Kernel {
 public:
  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override;
  Status run(KernelContext& ctx) const override;
  bool reads_input(int i) const override { return !(i == 1 && w_.valid()) && !(i == 2 && r_.valid()); }

 protected:
  struct State;
  // One step of one direction over the whole batch.
  struct Step {
    const RecurrentKernel* kernel;
    KernelContext* ctx;
    const State* state;
    int direction;
    int64_t batch, hidden;
    float* gates;  // the inputs' part, biases included: batch rows, gates * hidden each
    int64_t gate_stride;
    float *h, *c;                 // batch x hidden: the state, replaced by the step. c is null without a cell state
    float* work;                  // batch x (gates + 1) * hidden of the step's own
    const float* recurrent_bias;  // split_bias cells: gates * hidden, zeros but for the last gate
    const float* peephole;        // or null

    // c = [c +] a * (part of R) [+ bias]; a is batch x hidden.
    void multiply(int part, const float* a, float* to, int64_t ld, bool accumulate, const float* bias = nullptr) const;
  };
  virtual void step(const Step& s) const = 0;

  // The recurrence weights are packed in parts: gates [begin, begin + count).
  struct Part {
    int begin, count;
  };
  RecurrentKernel(RecurrentParams p, std::vector<Part> parts, bool split_bias)
      : p_(std::move(p)), parts_(std::move(parts)), split_bias_(split_bias) {}
  // Packs the weights that are constant.
  Status pack_constants(const ir::Node& node);

  RecurrentParams p_;

 private:
  void pack_w(const float* w, int64_t inputs, int64_t rows, float* to) const;
  void pack_r(const float* r, int64_t hidden, float* to) const;
  void run_direction(KernelContext& ctx, const State& s, int direction, std::span<const int32_t> lengths) const;

  std::vector<Part> parts_;
  bool split_bias_;  // GRU with linear_before_reset: the last gate's recurrence bias stays with the recurrence
  Tensor w_, r_;     // packed, direction after direction; invalid when not constant
};

}  // namespace trunnion::ops
