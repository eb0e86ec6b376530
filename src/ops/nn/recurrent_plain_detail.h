// LSTM, GRU and RNN by plain loops: double precision, for which there is no packed kernel.
#pragma once
#include "ops/nn/recurrent_detail.h"

namespace trunnion::ops {

struct PlainRecurrentOptions {
  bool input_forget = false;         // LSTM
  bool linear_before_reset = false;  // GRU
};

// f64. Which of the three it is follows from params.gates.
Result<std::unique_ptr<Kernel>> make_plain_recurrent(RecurrentParams params, PlainRecurrentOptions options = {});

}  // namespace trunnion::ops
