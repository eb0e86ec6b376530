// DynamicQuantizeLSTM (com.microsoft 1): LSTM whose inputs and hidden state are quantized to u8 as they come and
// multiplied with 8-bit weights in integers; gates and states are f32.
// The inputs of all times and sequences have one range. The hidden states of a small batch of large layers have one,
// too; else every sequence has its own, so that it does not matter with which others it comes. (ONNX Runtime splits
// such a batch over its threads and takes the range of each part: the same, when it has a thread for each sequence.)
#include <cstring>

#include "kernels/gemm_int8.h"
#include "kernels/quant.h"
#include "kernels/requantize.h"
#include "ops/nn/recurrent_detail.h"
#include "ops/shape.h"
#include "ops/tiles.h"

namespace trunnion::ops {
namespace {

enum Input { kX, kW, kR, kB, kLengths, kH, kC, kP, kWScale, kWZero, kRScale, kRZero };
constexpr int64_t kGates = 4;

bool shares_range(int64_t batch, int64_t hidden) { return batch < 2 || (batch <= 4 && hidden > 256); }

constexpr kernels::RnnActivation kDefaults[] = {
    {kernels::RnnAct::sigmoid}, {kernels::RnnAct::tanh}, {kernels::RnnAct::tanh}};

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const RecurrentParams p, read_recurrent(n, kGates, kDefaults));
  for (int i : {kX, kW, kR, kH, kC}) TRN_TRY(expect_rank(f, i, 3));
  const Dim directions(p.directions);
  const Dim hidden = f.has_rank(kR) ? f.in(kR).dim(1) : p.hidden > 0 ? Dim(p.hidden) : Dim();
  const Dim seq = f.has_rank(kX) ? f.in(kX).dim(0) : Dim(), batch = f.has_rank(kX) ? f.in(kX).dim(1) : Dim();
  const auto same = [&](int input, SymShape want) -> Status {
    if (!f.has_rank(input)) return {};
    const SymShape& have = f.in(input).shape();
    bool fits = have.size() == want.size();
    for (size_t i = 0; fits && i < want.size(); ++i)
      fits = !have[i].is_int() || !want[i].is_int() || have[i] == want[i];
    return fits ? Status{}
                : invalid_argument("input {} has shape {}, it must have shape {}", input, shape_text(have),
                                   shape_text(want));
  };
  const Dim columns = Dim(kGates) * hidden;
  TRN_TRY(same(kW, {directions, f.has_rank(kX) ? f.in(kX).dim(2) : Dim(), columns}));
  TRN_TRY(same(kR, {directions, hidden, columns}));
  TRN_TRY(same(kB, {directions, Dim(2) * columns}));
  TRN_TRY(same(kLengths, {batch}));
  for (int i : {kH, kC}) TRN_TRY(same(i, {directions, batch, hidden}));
  TRN_TRY(same(kP, {directions, Dim(3) * hidden}));
  for (int i : {kWScale, kWZero, kRScale, kRZero})
    if (f.has_rank(i)) TRN_TRY(f.in(i).rank() == 2 ? same(i, {directions, columns}) : same(i, {directions}));
  f.set(0, DType::f32, SymShape{seq, directions, batch, hidden});
  for (int i : {1, 2}) f.set(i, DType::f32, SymShape{directions, batch, hidden});
  return {};
}

size_t aligned(int64_t bytes) { return (static_cast<size_t>(bytes) + 63) / 64 * 64; }

struct State final : KernelState {
  int64_t seq = 0, batch = 0, inputs = 0, hidden = 0;
  kernels::Int8GemmGrid grid;                     // of the inputs' product
  size_t x = 0, w = 0, r = 0;                     // u8 inputs; packed weights that are no constants
  size_t direction_at = 0, direction_stride = 0;  // what follows is in a direction
  size_t gates = 0, gate_rows = 0, h = 0, c = 0, codes = 0, sums = 0, bias = 0, scratch = 0;
  size_t row_scale = 0, row_zero = 0;                       // of the hidden states
  size_t w_scale = 0, r_scale = 0, w_zero = 0, r_zero = 0;  // per column
  size_t slot_at = 0, slot_stride = 0, slot_sums = 0;       // of the inputs' product
};

class DynamicQuantizeLstm final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& node) {
    TRN_ASSIGN(RecurrentParams p, read_recurrent(node, kGates, kDefaults));
    std::unique_ptr<DynamicQuantizeLstm> kernel(
        new DynamicQuantizeLstm(std::move(p), node.attr("input_forget", 0) != 0));
    for (int i : {kW, kR}) {
      if (!node.input(i)->is_constant()) continue;
      const Tensor& w = node.input(i)->constant();
      if (w.rank() != 3 || w.shape()[0] != kernel->p_.directions || w.count() == 0) continue;
      const int64_t dims[] = {w.shape()[0] * packed_size(w.shape()[1], w.shape()[2])};
      TRN_ASSIGN(Tensor packed, Tensor::allocate(DType::u8, dims));
      pack(w.view(), packed.data<std::byte>());
      (i == kW ? kernel->w_ : kernel->r_) = std::move(packed);
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    const TensorView& x = ctx.in(kX);
    s->seq = x.dim(0);
    s->batch = x.dim(1);
    s->inputs = x.dim(2);
    s->hidden = ctx.in(kR).dim(1);
    // Without features an input may state any number of rows.
    const int64_t cells[] = {std::max<int64_t>(1, s->seq), s->batch, s->hidden, 16 * p_.directions * (kGates + 1)};
    if (element_count(cells) < 0)
      return invalid_argument("input 0 of shape {} is too large for {} cells", shape_text(x.shape()), s->hidden);
    const int64_t columns = kGates * s->hidden, rows = s->seq * s->batch, state = s->batch * s->hidden * 4;
    size_t end = 0;
    const auto take = [&end](int64_t bytes) {
      const size_t at = end;
      end += aligned(bytes);
      return at;
    };
    s->gates = take(rows * columns * 4);
    s->h = take(state);
    s->c = take(state);
    s->gate_rows = take(s->batch * static_cast<int64_t>(sizeof(float*)));
    s->row_scale = take(s->batch * 4);
    s->row_zero = take(s->batch * 4);
    s->codes = take(s->batch * s->hidden);
    s->sums = take(s->batch * columns * 4);
    s->bias = take(columns * 4);
    for (size_t* at : {&s->w_scale, &s->r_scale, &s->w_zero, &s->r_zero}) *at = take(columns * 4);
    s->scratch = take(static_cast<int64_t>(kernels::int8_gemm_scratch_size(columns, s->hidden)));
    s->direction_stride = end;
    end *= static_cast<size_t>(p_.directions);
    s->x = take(rows * s->inputs);
    if (!w_.valid()) s->w = take(p_.directions * packed_size(s->inputs, columns));
    if (!r_.valid()) s->r = take(p_.directions * packed_size(s->hidden, columns));
    if (rows > 0 && columns > 0) {
      s->grid = kernels::int8_gemm_grid(
          rows, columns, s->inputs,
          static_cast<int>(std::max<int64_t>(ctx.threads(), std::min<int64_t>(rows * columns >> 16, 1024))));
      s->slot_sums = aligned(static_cast<int64_t>(kernels::int8_gemm_scratch_size(columns, s->inputs)));
      s->slot_stride =
          s->slot_sums + aligned(std::min(s->grid.row_step, rows) * std::min(s->grid.col_step, columns) * 4);
      s->slot_at =
          take(static_cast<int64_t>(s->slot_stride) * tile_slots(p_.directions * s->grid.count(), ctx.threads()));
    }
    ctx.request_scratch(end);
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    std::span<const int32_t> lengths;
    int64_t longest = s.seq;
    if (ctx.has_in(kLengths)) {
      lengths = {ctx.in(kLengths).as<int32_t>(), static_cast<size_t>(s.batch)};
      longest = 0;
      for (size_t b = 0; b < lengths.size(); ++b) {
        if (lengths[b] < 0 || lengths[b] > s.seq)
          return invalid_argument("sequence_lens[{}] is {}, expected a value in [0, {}]", b, lengths[b], s.seq);
        longest = std::max<int64_t>(longest, lengths[b]);
      }
    }
    std::byte* scratch = ctx.scratch();
    if (!w_.valid()) pack(ctx.in(kW), scratch + s.w);
    if (!r_.valid()) pack(ctx.in(kR), scratch + s.r);
    for (int d = 0; d < p_.directions; ++d) read_columns(ctx, s, d);
    multiply_inputs(ctx, s, longest);
    ctx.parallel_for(p_.directions, 1, [&](int64_t begin, int64_t end) {
      for (int64_t d = begin; d < end; ++d) run_direction(ctx, s, static_cast<int>(d), lengths, longest);
    });
    return {};
  }

 private:
  DynamicQuantizeLstm(RecurrentParams p, bool input_forget) : p_(std::move(p)), input_forget_(input_forget) {}

  static int64_t packed_size(int64_t k, int64_t n) {
    return static_cast<int64_t>(aligned(kernels::int8_gemm_packed_b_size(k, n)));
  }
  // w is [directions, K, N].
  static void pack(const TensorView& w, std::byte* to) {
    const int64_t k = w.dim(1), n = w.dim(2);
    for (int64_t d = 0; d < w.dim(0) && w.count > 0; ++d)
      kernels::int8_gemm_pack_b(w.as<const uint8_t>() + d * k * n, w.dtype == DType::i8, n, 1, k, n, 0,
                                kernels::int8_gemm_panel_count(n), to + d * packed_size(k, n));
  }

  template <class T>
  static T* part(KernelContext& ctx, const State& s, int d, size_t at) {
    return reinterpret_cast<T*>(ctx.scratch() + s.direction_at + static_cast<size_t>(d) * s.direction_stride + at);
  }

  // Scales and zero points of the weights by column, and the sum of both biases.
  static void read_columns(KernelContext& ctx, const State& s, int d) {
    const int64_t columns = kGates * s.hidden;
    const auto at = [&](const TensorView& t, int64_t j) { return t.rank == 2 ? d * columns + j : d; };
    float *w_scale = part<float>(ctx, s, d, s.w_scale), *r_scale = part<float>(ctx, s, d, s.r_scale),
          *bias = part<float>(ctx, s, d, s.bias);
    auto *w_zero = part<int32_t>(ctx, s, d, s.w_zero), *r_zero = part<int32_t>(ctx, s, d, s.r_zero);
    const auto zero = [&](const TensorView& t, int64_t j) -> int32_t {
      return t.dtype == DType::i8 ? t.as<const int8_t>()[at(t, j)] : t.as<const uint8_t>()[at(t, j)];
    };
    const float* b = ctx.has_in(kB) ? ctx.in(kB).as<float>() + d * 2 * columns : nullptr;
    for (int64_t j = 0; j < columns; ++j) {
      w_scale[j] = ctx.in(kWScale).as<float>()[at(ctx.in(kWScale), j)];
      r_scale[j] = ctx.in(kRScale).as<float>()[at(ctx.in(kRScale), j)];
      w_zero[j] = zero(ctx.in(kWZero), j);
      r_zero[j] = zero(ctx.in(kRZero), j);
      bias[j] = b ? b[j] + b[columns + j] : 0.0f;
    }
  }

  // Quantizes n values by their range.
  static void quantize(const float* x, int64_t n, uint8_t* codes, float* scale, int32_t* zero) {
    float low, high;
    uint8_t z;
    kernels::min_max(x, static_cast<size_t>(n), &low, &high);
    kernels::dynamic_quantize_params(low, high, scale, &z);
    kernels::quantize(kernels::Elem::u8)(x, codes, static_cast<size_t>(n), *scale, z);
    *zero = z;
  }

  // The gates' part of the inputs, for all times up to the longest sequence and all directions.
  void multiply_inputs(KernelContext& ctx, const State& s, int64_t longest) const {
    const int64_t rows = longest * s.batch, columns = kGates * s.hidden;
    if (rows == 0 || columns == 0) return;
    auto* codes = reinterpret_cast<uint8_t*>(ctx.scratch() + s.x);
    float x_scale = 1;
    int32_t x_zero = 0;
    quantize(ctx.in(kX).as<float>(), rows * s.inputs, codes, &x_scale, &x_zero);
    for (int d = 0; d < p_.directions; ++d) {
      float* scale = part<float>(ctx, s, d, s.w_scale);
      for (int64_t j = 0; j < columns; ++j) scale[j] *= x_scale;
    }
    const std::byte* packed = w_.valid() ? w_.data<std::byte>() : ctx.scratch() + s.w;
    const kernels::Int8GemmGrid& g = s.grid;
    for_each_tile(
        ctx, p_.directions * g.count(), ctx.scratch() + s.slot_at, s.slot_stride, [&](int64_t i, std::byte* own) {
          const int d = static_cast<int>(i / g.count());
          const int64_t index = i % g.count(), row = index / g.col_tiles * g.row_step,
                        col = index % g.col_tiles * g.col_step;
          const int64_t row_end = std::min(rows, row + g.row_step), cols = std::min(columns - col, g.col_step);
          if (row >= row_end) return;
          auto* sums = reinterpret_cast<int32_t*>(own + s.slot_sums);
          kernels::Int8GemmArgs a =
              product(s, packed + d * packed_size(s.inputs, columns), ctx.in(kW), part<int32_t>(ctx, s, d, s.w_zero));
          a.m = row_end - row;
          a.k = s.inputs;
          a.a = codes + row * s.inputs;
          a.a_row_stride = s.inputs;
          a.a_zero = &x_zero;
          a.c = reinterpret_cast<int32_t*>(reinterpret_cast<uintptr_t>(sums) -
                                           static_cast<uintptr_t>(col) * sizeof(int32_t));
          a.ldc = cols;
          kernels::int8_gemm_tile(a, 0, a.m, col, col + cols, own);
          kernels::requantize().to_f32({sums, cols, a.m, cols, nullptr, part<float>(ctx, s, d, s.w_scale) + col, true},
                                       part<float>(ctx, s, d, s.gates) + row * columns + col, columns, nullptr);
        });
  }

  static kernels::Int8GemmArgs product(const State& s, const std::byte* packed, const TensorView& w,
                                       const int32_t* zero) {
    kernels::Int8GemmArgs a;
    a.n = kGates * s.hidden;
    a.packed_b = packed;
    a.b_signed = w.dtype == DType::i8;
    a.b_zero = zero;
    a.b_zero_per_col = true;
    return a;
  }

  // gates[b] += h[b] R + bias for one step; null for a sequence that has ended.
  void multiply_state(KernelContext& ctx, const State& s, int d, const float* h, float* const* gates) const {
    const int64_t columns = kGates * s.hidden;
    auto* codes = part<uint8_t>(ctx, s, d, s.codes);
    auto* sums = part<int32_t>(ctx, s, d, s.sums);
    auto* scales = part<float>(ctx, s, d, s.row_scale);
    auto* zeros = part<int32_t>(ctx, s, d, s.row_zero);
    const bool shared = shares_range(s.batch, s.hidden);
    if (shared) {
      quantize(h, s.batch * s.hidden, codes, scales, zeros);
    } else {
      for (int64_t b = 0; b < s.batch; ++b)
        quantize(h + b * s.hidden, s.hidden, codes + b * s.hidden, scales + b, zeros + b);
    }
    const std::byte* packed = r_.valid() ? r_.data<std::byte>() : ctx.scratch() + s.r;
    kernels::Int8GemmArgs a =
        product(s, packed + d * packed_size(s.hidden, columns), ctx.in(kR), part<int32_t>(ctx, s, d, s.r_zero));
    a.m = s.batch;
    a.k = s.hidden;
    a.a = codes;
    a.a_row_stride = s.hidden;
    a.a_zero = zeros;
    a.a_zero_per_row = !shared;
    a.c = sums;
    a.ldc = columns;
    kernels::int8_gemm_tile(a, 0, s.batch, 0, columns, part<std::byte>(ctx, s, d, s.scratch));
    const float *r_scale = part<float>(ctx, s, d, s.r_scale), *bias = part<float>(ctx, s, d, s.bias);
    for (int64_t b = 0; b < s.batch; ++b) {
      float* to = gates[b];
      if (!to) continue;
      const float scale = scales[shared ? 0 : b];
      const int32_t* sum = sums + b * columns;
      for (int64_t j = 0; j < columns; ++j) to[j] = to[j] + static_cast<float>(sum[j]) * (scale * r_scale[j]) + bias[j];
    }
  }

  void run_direction(KernelContext& ctx, const State& s, int d, std::span<const int32_t> lengths,
                     int64_t longest) const {
    const int64_t hidden = s.hidden, size = s.batch * hidden;
    const auto row_bytes = static_cast<size_t>(hidden) * sizeof(float),
               bytes = static_cast<size_t>(size) * sizeof(float);
    float *h = part<float>(ctx, s, d, s.h), *c = part<float>(ctx, s, d, s.c);
    auto** gates = part<float*>(ctx, s, d, s.gate_rows);
    if (size == 0) return;
    const auto start = [&](int input, float* to) {
      ctx.has_in(input) ? std::memcpy(to, ctx.in(input).as<float>() + d * size, bytes) : std::memset(to, 0, bytes);
    };
    start(kH, h);
    start(kC, c);
    float* y = ctx.has_out(0) ? ctx.out(0).as<float>() : nullptr;
    float* last_h = ctx.has_out(1) ? ctx.out(1).as<float>() + d * size : nullptr;
    float* last_c = ctx.has_out(2) ? ctx.out(2).as<float>() + d * size : nullptr;
    const auto length = [&](int64_t b) { return lengths.empty() ? s.seq : lengths[static_cast<size_t>(b)]; };
    const auto time = [&](int64_t b, int64_t i) { return p_.reverses(d) ? length(b) - 1 - i : i; };
    // A sequence's states go out when it ends; one without elements gives zeros.
    const auto finish = [&](int64_t b, bool zeros) {
      const auto store = [&](float* to, const float* from) {
        if (to) zeros ? std::memset(to, 0, row_bytes) : std::memcpy(to, from, row_bytes);
      };
      store(last_h ? last_h + b * hidden : nullptr, h + b * hidden);
      store(last_c ? last_c + b * hidden : nullptr, c + b * hidden);
    };
    for (int64_t b = 0; b < s.batch; ++b)
      if (length(b) == 0) finish(b, true);
    kernels::LstmStep k;
    k.gate_stride = kGates * hidden;
    k.h_stride = hidden;
    k.peephole = ctx.has_in(kP) ? ctx.in(kP).as<float>() + d * 3 * hidden : nullptr;
    k.hidden = hidden;
    k.clip = p_.clip;
    k.input_forget = input_forget_;
    const auto* act = p_.activations.data() + d * 3;
    k.f = act[0];
    k.g = act[1];
    k.out = act[2];
    for (int64_t i = 0; i < longest; ++i) {
      for (int64_t b = 0; b < s.batch; ++b)
        gates[b] =
            i < length(b) ? part<float>(ctx, s, d, s.gates) + (time(b, i) * s.batch + b) * kGates * hidden : nullptr;
      multiply_state(ctx, s, d, h, gates);
      for (int64_t b = 0; b < s.batch; ++b) {
        if (!gates[b]) {
          std::memset(h + b * hidden, 0, row_bytes);  // counts for a shared range only
          continue;
        }
        k.gates = gates[b];
        k.c_prev = k.c = c + b * hidden;
        k.h = h + b * hidden;
        k.batch = 1;
        kernels::rnn().lstm(k);
        if (y) std::memcpy(y + ((time(b, i) * p_.directions + d) * s.batch + b) * hidden, k.h, row_bytes);
        if (i + 1 == length(b)) finish(b, false);
      }
    }
    if (!y) return;
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t t = length(b); t < s.seq; ++t)
        std::memset(y + ((t * p_.directions + d) * s.batch + b) * hidden, 0, row_bytes);
  }

  RecurrentParams p_;
  bool input_forget_;
  Tensor w_, r_;  // packed; invalid when not constant
};

constexpr OpDef kDefs[] = {
    {"DynamicQuantizeLSTM",
     infer,
     cpu<DynamicQuantizeLstm>(kF32),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::DynamicQuantizeLSTM 1 (X:T, W:T2, R:T2, B?:T, sequence_lens?:T1, initial_h?:T, initial_c?:T, "
     "P?:T, W_scale:T, W_zero_point:T2, R_scale:T, "
     "R_zero_point:T2) -> (Y?:T, Y_h?:T, Y_c?:T) {activation_alpha:fs, activation_beta:fs, activations:ss, clip:f, "
     "direction:s='forward', hidden_size:i, "
     "input_forget:i=0} T=f32 T1=i32 T2=u8|i8"},
};

}  // namespace

TRUNNION_OPS(dynamic_quantize_lstm, kDefs);

}  // namespace trunnion::ops
