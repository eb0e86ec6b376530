// AttnLSTM (com.microsoft 1): an LSTM that reads, beside its input, what an attention over a memory made of its last
// state: context = softmax(V tanh(M MW + h QW)) M, attention = (h, context) AW, or the context where there is no AW.
#include <algorithm>
#include <cmath>

#include "kernels/gemm.h"
#include "ops/nn/recurrent_detail.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

using kernels::RnnAct;
using kernels::RnnActivation;

enum Input { kX, kW, kR, kB, kLengths, kH, kC, kP, kQW, kMW, kV, kM, kMemoryLengths, kAW };

Result<RecurrentParams> read(const ir::Node& n) {
  const RnnActivation defaults[] = {{RnnAct::sigmoid}, {RnnAct::tanh}, {RnnAct::tanh}};
  return read_recurrent(n, 4, defaults);
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const RecurrentParams p, read(n));
  for (int i : {kQW, kMW, kV, kM})
    if (!f.has(i)) return invalid_argument("input {} is left out: the attention needs QW, MW, V and M", i);
  const DType type = f.dtype(kX);
  const auto dim = [&](int input, int axis) { return f.has_rank(input) ? f.in(input).dim(axis) : Dim(); };
  constexpr int kRanks[] = {3, 3, 3, 2, 1, 3, 3, 2, 3, 3, 2, 3, 1, 3};
  for (int i = 0; i < 14; ++i) TRN_TRY(expect_rank(f, i, kRanks[i]));
  const Dim d(p.directions), seq = dim(kX, 0), batch = dim(kX, 1), depth = dim(kM, 2);
  const Dim hidden = p.hidden > 0 ? Dim(p.hidden) : dim(kR, 2), attended = dim(kMW, 2);
  const Dim attention = f.has(kAW) ? dim(kAW, 2) : depth;
  const std::pair<int, SymShape> wanted[] = {{kW, {d, Dim(4) * hidden, dim(kX, 2) + attention}},
                                             {kR, {d, Dim(4) * hidden, hidden}},
                                             {kB, {d, Dim(8) * hidden}},
                                             {kLengths, {batch}},
                                             {kH, {d, batch, hidden}},
                                             {kC, {d, batch, hidden}},
                                             {kP, {d, Dim(3) * hidden}},
                                             {kQW, {d, hidden, attended}},
                                             {kMW, {d, depth, attended}},
                                             {kV, {d, attended}},
                                             {kM, {batch, Dim(), depth}},
                                             {kMemoryLengths, {batch}},
                                             {kAW, {d, depth + hidden, attention}}};
  for (const auto& [i, shape] : wanted) {
    if (!f.has_rank(i)) continue;
    for (size_t a = 0; a < shape.size(); ++a) {
      const Dim& have = f.in(i).shape()[a];
      if (have.is_int() && shape[a].is_int() && have.value() != shape[a].value())
        return invalid_argument("input {} has shape {}, needs {}", i, shape_text(f.in(i).shape()), shape_text(shape));
    }
  }
  f.set(0, type, SymShape{seq, d, batch, hidden});
  for (int i : {1, 2}) f.set(i, type, SymShape{d, batch, hidden});
  return {};
}

// c [m, n] = (add ? c : 0) + a [m, k] * b; element (i, j) of b is b[i * b_row + j * b_col].
void multiply(const float* a, int64_t lda, const float* b, int64_t b_row, int64_t b_col, float* c, int64_t m, int64_t k,
              int64_t n, bool add, std::byte* scratch) {
  if (m == 0 || n == 0) return;
  kernels::GemmArgs g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.a = a;
  g.a_row_stride = lda;
  g.b = b;
  g.b_k_stride = b_row;
  g.b_n_stride = b_col;
  g.c = c;
  g.ldc = n;
  g.epilogue.beta = add ? 1 : 0;
  kernels::gemm_tile(g, 0, m, 0, n, scratch);
}

struct State final : KernelState {
  int64_t seq = 0, batch = 0, inputs = 0, hidden = 0, steps = 0, depth = 0, attended = 0, attention = 0;
  // Where the parts of the scratch begin, in floats.
  size_t keys = 0, query = 0, context = 0, read = 0, h = 0, c = 0, sums = 0, x = 0, align = 0, last_h = 0, last_c = 0,
         gemm = 0;
};

class AttnLstmCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(RecurrentParams p, read(n));
    return std::unique_ptr<Kernel>(new AttnLstmCpu(std::move(p), n.attr("input_forget", 0) != 0));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto state = std::make_unique<State>();
    State& s = *state;
    const TensorView &x = ctx.in(kX), &memory = ctx.in(kM);
    s.seq = x.dim(0);
    s.batch = x.dim(1);
    s.inputs = x.dim(2);
    s.hidden = ctx.in(kR).dim(2);
    s.steps = memory.dim(1);
    s.depth = memory.dim(2);
    s.attended = ctx.in(kMW).dim(2);
    s.attention = ctx.has_in(kAW) ? ctx.in(kAW).dim(2) : s.depth;
    const int64_t gates = 4 * s.hidden;
    size_t end = 0;
    bool fits = true;
    const auto take = [&](size_t* at, std::initializer_list<int64_t> dims) {
      constexpr int64_t kMost = int64_t{1} << 56;
      const int64_t count = element_count({dims.begin(), dims.size()});
      fits = fits && count >= 0 && count < kMost;
      *at = end;
      if (fits) end += (static_cast<size_t>(count) + 15) / 16 * 16;
    };
    take(&s.keys, {s.batch, s.steps, s.attended});
    take(&s.query, {s.batch, s.attended});
    take(&s.context, {s.batch, s.depth});
    take(&s.read, {s.batch, s.attention});
    for (size_t* at : {&s.h, &s.c, &s.last_h, &s.last_c}) take(at, {s.batch, s.hidden});
    take(&s.sums, {s.batch, gates});
    take(&s.x, {s.batch, s.inputs});
    take(&s.align, {s.steps});
    // A memory without depth may state any number of rows.
    if (!fits)
      return invalid_argument("inputs of shape {} and {} are too large", shape_text(x.shape()),
                              shape_text(memory.shape()));
    s.gemm = end;
    const std::pair<int64_t, int64_t> products[] = {
        {s.attended, s.depth}, {s.attended, s.hidden},  {gates, s.inputs},      {gates, s.attention},
        {gates, s.hidden},     {s.attention, s.hidden}, {s.attention, s.depth},
    };
    size_t most = 0;
    for (const auto& [n, k] : products) most = std::max(most, kernels::gemm_scratch_size(n, k));
    ctx.request_scratch(end * sizeof(float) + most);
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    TRN_TRY(check_lengths(ctx, kLengths, s.batch, s.seq));
    TRN_TRY(check_lengths(ctx, kMemoryLengths, s.batch, s.steps));
    for (int d = 0; d < p_.directions; ++d) TRN_TRY(run_direction(ctx, s, d));
    return {};
  }

 private:
  AttnLstmCpu(RecurrentParams p, bool input_forget) : p_(std::move(p)), input_forget_(input_forget) {}

  static Status check_lengths(KernelContext& ctx, int input, int64_t count, int64_t most) {
    for (int64_t i = 0; ctx.has_in(input) && i < count; ++i)
      if (const int32_t n = ctx.in(input).as<int32_t>()[i]; n < 1 || n > most)
        return invalid_argument("element {} of input {} is {}, expected a length in [1, {}]", i, input, n, most);
    return {};
  }
  static int64_t length(const KernelContext& ctx, int input, int64_t row, int64_t otherwise) {
    return ctx.has_in(input) ? ctx.in(input).as<int32_t>()[row] : otherwise;
  }

  // The part of an input that belongs to a direction, or null.
  const float* part(KernelContext& ctx, int input, int d) const {
    return ctx.has_in(input) ? ctx.in(input).as<float>() + d * (ctx.in(input).count / p_.directions) : nullptr;
  }

  Status run_direction(KernelContext& ctx, const State& s, int d) const {
    auto* floats = reinterpret_cast<float*>(ctx.scratch());
    auto* scratch = reinterpret_cast<std::byte*>(floats + s.gemm);
    const int64_t gates = 4 * s.hidden, state = s.batch * s.hidden, width = s.inputs + s.attention;
    const float *w = part(ctx, kW, d), *r = part(ctx, kR, d), *b = part(ctx, kB, d), *memory = ctx.in(kM).as<float>();
    float *keys = floats + s.keys, *query = floats + s.query, *context = floats + s.context,
          *attention = floats + s.read, *h = floats + s.h, *c = floats + s.c, *sums = floats + s.sums,
          *x = floats + s.x, *last_h = floats + s.last_h, *last_c = floats + s.last_c;
    for (float* zeros : {h, c, last_h, last_c}) std::fill_n(zeros, state, 0.0f);
    std::fill_n(attention, s.batch * s.attention, 0.0f);
    std::fill_n(x, s.batch * s.inputs, 0.0f);
    if (const float* from = part(ctx, kH, d)) std::copy_n(from, state, h);
    if (const float* from = part(ctx, kC, d)) std::copy_n(from, state, c);
    multiply(memory, s.depth, part(ctx, kMW, d), s.attended, 1, keys, s.batch * s.steps, s.depth, s.attended, false,
             scratch);
    float* y = ctx.has_out(0) ? ctx.out(0).as<float>() : nullptr;
    if (y)
      for (int64_t t = 0; t < s.seq; ++t) std::fill_n(y + (t * p_.directions + d) * state, state, 0.0f);

    for (int64_t t = 0; t < s.seq; ++t) {
      if (ctx.cancelled()) return error(Code::fail, "the run was terminated");
      const auto ends = [&](int64_t row) { return length(ctx, kLengths, row, s.seq); };
      // A sequence of its own length is read backwards from its end.
      const auto source = [&](int64_t row) { return p_.reverses(d) ? ends(row) - 1 - t : t; };
      for (int64_t row = 0; row < s.batch; ++row) {
        if (t >= ends(row)) continue;
        std::copy_n(ctx.in(kX).as<float>() + (source(row) * s.batch + row) * s.inputs, s.inputs, x + row * s.inputs);
      }
      multiply(x, s.inputs, w, 1, width, sums, s.batch, s.inputs, gates, false, scratch);
      multiply(attention, s.attention, w + s.inputs, 1, width, sums, s.batch, s.attention, gates, true, scratch);
      multiply(h, s.hidden, r, 1, s.hidden, sums, s.batch, s.hidden, gates, true, scratch);
      if (b)
        for (int64_t row = 0; row < s.batch; ++row)
          for (int64_t i = 0; i < gates; ++i) sums[row * gates + i] += b[i] + b[gates + i];
      kernels::LstmStep step;
      step.gates = sums;
      step.gate_stride = gates;
      step.c_prev = step.c = c;
      step.h = h;
      step.h_stride = s.hidden;
      step.peephole = part(ctx, kP, d);
      step.batch = s.batch;
      step.hidden = s.hidden;
      step.clip = p_.clip;
      step.input_forget = input_forget_;
      step.f = p_.activations[static_cast<size_t>(3 * d)];
      step.g = p_.activations[static_cast<size_t>(3 * d) + 1];
      step.out = p_.activations[static_cast<size_t>(3 * d) + 2];
      kernels::rnn().lstm(step);
      for (int64_t row = 0; row < s.batch; ++row) {
        if (t >= ends(row)) continue;
        const int64_t at = row * s.hidden;
        if (y) std::copy_n(h + at, s.hidden, y + (source(row) * p_.directions + d) * state + at);
        if (t + 1 < ends(row)) continue;
        std::copy_n(h + at, s.hidden, last_h + at);
        std::copy_n(c + at, s.hidden, last_c + at);
      }
      multiply(h, s.hidden, part(ctx, kQW, d), s.attended, 1, query, s.batch, s.hidden, s.attended, false, scratch);
      for (int64_t row = 0; row < s.batch; ++row)
        attend(s, keys + row * s.steps * s.attended, query + row * s.attended, part(ctx, kV, d),
               memory + row * s.steps * s.depth, length(ctx, kMemoryLengths, row, s.steps), floats + s.align,
               context + row * s.depth);
      if (const float* aw = part(ctx, kAW, d)) {
        multiply(h, s.hidden, aw, s.attention, 1, attention, s.batch, s.hidden, s.attention, false, scratch);
        multiply(context, s.depth, aw + s.hidden * s.attention, s.attention, 1, attention, s.batch, s.depth,
                 s.attention, true, scratch);
      } else {
        std::copy_n(context, s.batch * s.depth, attention);
      }
    }
    if (ctx.has_out(1)) std::copy_n(last_h, state, ctx.out(1).as<float>() + d * state);
    if (ctx.has_out(2)) std::copy_n(last_c, state, ctx.out(2).as<float>() + d * state);
    return {};
  }

  // The mean of the memory's rows, weighted by how well their keys go with the query.
  static void attend(const State& s, const float* keys, const float* query, const float* v, const float* memory,
                     int64_t steps, float* align, float* context) {
    float most = -INFINITY;
    for (int64_t t = 0; t < steps; ++t) {
      float sum = 0;
      for (int64_t i = 0; i < s.attended; ++i) sum += v[i] * std::tanh(keys[t * s.attended + i] + query[i]);
      align[t] = sum;
      most = std::max(most, sum);
    }
    double total = 0;
    for (int64_t t = 0; t < steps; ++t) {
      float& a = align[t];
      a = std::exp(a - most);
      total += static_cast<double>(a);
    }
    std::fill_n(context, s.depth, 0.0f);
    for (int64_t t = 0; t < steps; ++t) {
      const auto weight = static_cast<float>(static_cast<double>(align[t]) / total);
      for (int64_t i = 0; i < s.depth; ++i) context[i] += weight * memory[t * s.depth + i];
    }
  }

  RecurrentParams p_;
  bool input_forget_;
};

constexpr OpDef kDefs[] = {
    {"AttnLSTM",
     infer,
     cpu<AttnLstmCpu>(kF32),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::AttnLSTM 1 (X:T, W:T, R:T, B?:T, sequence_lens?:T1, initial_h?:T, initial_c?:T, P?:T, QW?:T, "
     "MW?:T, V?:T, M?:T, memory_seq_lens?:T1, AW?:T) -> (Y?:T, Y_h?:T, Y_c?:T) {activation_alpha:fs, "
     "activation_beta:fs, activations:ss, clip:f, direction:s='forward', hidden_size:i, input_forget:i=0} T=f32|f64 "
     "T1=i32"}};

}  // namespace

TRUNNION_OPS(attn_lstm, kDefs);

}  // namespace trunnion::ops
