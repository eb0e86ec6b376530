#include "ops/nn/recurrent_detail.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "ops/half_adapter.h"
#include "ops/packing.h"
#include "ops/shape.h"
#include "ops/tiles.h"

namespace trunnion::ops {
namespace {

using kernels::RnnAct;
using kernels::RnnActivation;

struct NamedActivation {
  std::string_view name;
  RnnAct act;
  bool has_alpha, has_beta;
  float alpha, beta;
};
constexpr NamedActivation kActivations[] = {
    {"sigmoid", RnnAct::sigmoid, false, false, 0, 0},
    {"tanh", RnnAct::tanh, false, false, 0, 0},
    {"relu", RnnAct::relu, false, false, 0, 0},
    {"affine", RnnAct::affine, true, true, 1, 0},
    {"leakyrelu", RnnAct::leaky_relu, true, false, .01f, 0},
    {"thresholdedrelu", RnnAct::thresholded_relu, true, false, 1, 0},
    {"scaledtanh", RnnAct::scaled_tanh, true, true, 1, 1},
    {"hardsigmoid", RnnAct::hard_sigmoid, true, true, .2f, .5f},
    {"elu", RnnAct::elu, true, false, 1, 0},
    {"softsign", RnnAct::softsign, false, false, 0, 0},
    {"softplus", RnnAct::softplus, false, false, 0, 0},
};

const NamedActivation* find_activation(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& a : kActivations)
    if (a.name == name) return &a;
  return nullptr;
}

constexpr size_t kAlign = 64;
size_t aligned(int64_t floats) { return (static_cast<size_t>(floats) * sizeof(float) + kAlign - 1) / kAlign * kAlign; }

// Floats of packed weights are kept at multiples of 16, so that every direction starts on a line.
int64_t packed_size(int64_t k, int64_t n) { return (kernels::gemm_packed_b_size(k, n) + 15) / 16 * 16; }

Status same(const ir::Facts& f, int input, int axis, const Dim& want, const char* what) {
  if (!f.has_rank(input)) return {};
  const Dim& d = f.in(input).dim(axis);
  if (d.is_int() && want.is_int() && !(d == want))
    return invalid_argument("input {} has shape {}: dimension {} is {}, but {} is {}", input,
                            shape_text(f.in(input).shape()), axis, d.value(), what, want.value());
  return {};
}

}  // namespace

Result<RecurrentParams> read_recurrent(const ir::Node& node, int gates, std::span<const RnnActivation> defaults) {
  RecurrentParams p;
  p.gates = gates;
  p.cell = gates == 4;
  p.hidden = node.attr("hidden_size", 0);
  p.clip = node.attr("clip", 0.0f);
  p.batch_first = node.since() >= 14 && node.attr("layout", 0) == 1;
  const std::string direction = node.attr("direction", "forward");
  if (direction == "bidirectional")
    p.directions = 2;
  else if (direction == "reverse")
    p.reverse = true;
  else if (direction != "forward" && direction != "foward")  // the latter is the default that version 1 of GRU states
    return invalid_argument("attribute direction is '{}', expected forward, reverse or bidirectional", direction);
  const auto names = node.strings("activations");
  const size_t count = defaults.size() * static_cast<size_t>(p.directions);
  if (names.empty()) {
    for (int d = 0; d < p.directions; ++d) p.activations.insert(p.activations.end(), defaults.begin(), defaults.end());
    return p;
  }
  // One direction's worth is taken for both.
  if (names.size() != count && names.size() != defaults.size())
    return invalid_argument("attribute activations has {} entries, needs {}", names.size(), count);
  const auto alphas = node.floats("activation_alpha"), betas = node.floats("activation_beta");
  size_t alpha = 0, beta = 0;
  for (const auto& name : names) {
    const auto* a = find_activation(name);
    if (!a) return invalid_argument("activation '{}' is unknown", name);
    RnnActivation r{a->act, a->alpha, a->beta};
    if (a->has_alpha && alpha < alphas.size()) r.alpha = alphas[alpha++];
    if (a->has_beta && beta < betas.size()) r.beta = betas[beta++];
    p.activations.push_back(r);
  }
  if (p.activations.size() < count)
    p.activations.insert(p.activations.end(), p.activations.begin(),
                         p.activations.begin() + static_cast<std::ptrdiff_t>(defaults.size()));
  return p;
}

Status infer_recurrent(const RecurrentParams& p, ir::Facts& f) {
  for (int i : {0, 1, 2, 5, 6}) TRN_TRY(expect_rank(f, i, 3));
  TRN_TRY(expect_rank(f, 3, 2));
  TRN_TRY(expect_rank(f, 4, 1));
  TRN_TRY(expect_rank(f, 7, 2));
  const Dim directions(p.directions);
  Dim hidden = p.hidden > 0 ? Dim(p.hidden) : f.has_rank(2) ? f.in(2).dim(2) : Dim();
  const Dim batch = f.has_rank(0) ? f.in(0).dim(p.batch_first ? 0 : 1) : Dim(),
            seq = f.has_rank(0) ? f.in(0).dim(p.batch_first ? 1 : 0) : Dim();
  const int direction_axis = p.batch_first ? 1 : 0;
  for (int i : {1, 2, 3, 7}) TRN_TRY(same(f, i, 0, directions, "the number of directions"));
  for (int i : {5, 6}) {
    TRN_TRY(same(f, i, direction_axis, directions, "the number of directions"));
    TRN_TRY(same(f, i, 1 - direction_axis, batch, "the batch size"));
    TRN_TRY(same(f, i, 2, hidden, "the hidden size"));
  }
  for (int i : {1, 2}) TRN_TRY(same(f, i, 1, Dim(p.gates) * hidden, "the number of gates times the hidden size"));
  TRN_TRY(same(f, 2, 2, hidden, "the hidden size"));
  TRN_TRY(same(f, 3, 1, Dim(2 * p.gates) * hidden, "twice the number of gates times the hidden size"));
  TRN_TRY(same(f, 7, 1, Dim(3) * hidden, "three times the hidden size"));
  TRN_TRY(same(f, 4, 0, batch, "the batch size"));
  if (f.has_rank(0)) TRN_TRY(same(f, 1, 2, f.in(0).dim(2), "the input size"));
  const DType type = f.dtype(0);
  f.set(0, type, p.batch_first ? SymShape{batch, seq, directions, hidden} : SymShape{seq, directions, batch, hidden});
  for (int i = 1; i < (p.cell ? 3 : 2); ++i)
    f.set(i, type, p.batch_first ? SymShape{batch, directions, hidden} : SymShape{directions, batch, hidden});
  return {};
}

struct RecurrentKernel::State final : KernelState {
  int64_t seq = 0, batch = 0, inputs = 0, hidden = 0;
  kernels::GemmGrid input_grid;
  std::vector<kernels::GemmGrid> step_grid;  // of every part of R
  // Places in scratch. What a direction owns is stepped by direction_stride.
  size_t w_at = 0, r_at = 0;  // packed weights that are no constants
  size_t direction_at = 0, direction_stride = 0;
  size_t bias = 0, recurrent_bias = 0, gates = 0, h = 0, c = 0, saved = 0, work = 0, gemm = 0;  // in a direction
  size_t gemm_stride = 0;                                                                       // of one running tile
  size_t input_gemm_at = 0;
};

Status RecurrentKernel::pack_constants(const ir::Node& node) {
  for (int i : {1, 2}) {
    const ir::Value* v = node.input(i);
    if (!v || !v->is_constant()) continue;
    const Tensor& t = v->constant();
    if (t.rank() != 3 || t.shape()[0] != p_.directions || t.shape()[1] % p_.gates ||
        (i == 2 && t.shape()[1] != p_.gates * t.shape()[2]))
      return invalid_argument("input {} has shape {}, needs [{}, {} * hidden size, ...]", i,
                              shape_text(std::span<const int64_t>(t.shape())), p_.directions, p_.gates);
    if ((t.dtype() != DType::f32 && !is_half(t.dtype())) || t.count() == 0) continue;
    const int64_t rows = t.shape()[1], columns = t.shape()[2];
    int64_t size = i == 1 ? packed_size(columns, rows) : 0;
    for (const Part& part : parts_)
      if (i == 2) size += packed_size(columns, part.count * columns);
    std::vector<int64_t> numbers{i};
    for (const Part& part : parts_) numbers.push_back(part.count);
    const Packing how{.layout = "recurrence",
                      .numbers = numbers,
                      .dtype = DType::f32,
                      .count = p_.directions * size,
                      .units = p_.directions};
    TRN_ASSIGN((i == 1 ? w_ : r_), pack(t, how, [&](const Tensor& source, int64_t begin, int64_t end, void* packed) {
                 for (int64_t d = begin; d < end; ++d) {
                   const float* from = source.data<float>() + d * rows * columns;
                   float* to = static_cast<float*>(packed) + d * size;
                   i == 1 ? pack_w(from, columns, rows, to) : pack_r(from, columns, to);
                 }
               }));
  }
  return {};
}

void RecurrentKernel::pack_w(const float* w, int64_t inputs, int64_t rows, float* to) const {
  kernels::gemm_pack_b(w, 1, inputs, inputs, rows, 0, kernels::gemm_panel_count(rows), to);
}

void RecurrentKernel::pack_r(const float* r, int64_t hidden, float* to) const {
  for (const Part& part : parts_) {
    const int64_t rows = part.count * hidden;
    kernels::gemm_pack_b(r + part.begin * hidden * hidden, 1, hidden, hidden, rows, 0, kernels::gemm_panel_count(rows),
                         to);
    to += packed_size(hidden, rows);
  }
}

Result<std::unique_ptr<KernelState>> RecurrentKernel::prepare(PrepareContext& ctx) const {
  auto s = std::make_unique<State>();
  const TensorView& x = ctx.in(0);
  s->seq = x.dim(p_.batch_first ? 1 : 0);
  s->batch = x.dim(p_.batch_first ? 0 : 1);
  s->inputs = x.dim(2);
  s->hidden = ctx.in(2).dim(2);
  const int64_t rows = p_.gates * s->hidden, m = s->seq * s->batch;
  if (ctx.in(1).dim(1) != rows || ctx.in(2).dim(1) != rows)
    return invalid_argument("inputs 1 and 2 have {} and {} rows, need {}", ctx.in(1).dim(1), ctx.in(2).dim(1), rows);
  // Without features an input may state any number of rows.
  const int64_t cells[] = {std::max<int64_t>(1, s->seq), s->batch, s->hidden, 16 * p_.directions * (p_.gates + 1)};
  if (element_count(cells) < 0)
    return invalid_argument("input 0 of shape {} is too large for {} cells", shape_text(x.shape()), s->hidden);
  const int threads = ctx.threads(), step_threads = p_.directions == 1 ? threads : 1;
  s->input_grid = kernels::gemm_grid(m, rows, s->inputs, threads);
  size_t end = 0;
  const auto take = [&end](int64_t floats) {
    const size_t at = end;
    end += aligned(floats);
    return at;
  };
  int64_t r_size = 0, slots = 1;
  s->gemm_stride = 0;
  for (const Part& part : parts_) {
    const int64_t n = part.count * s->hidden;
    r_size += packed_size(s->hidden, n);
    s->step_grid.push_back(kernels::gemm_grid(s->batch, n, s->hidden, step_threads));
    slots = std::max(slots, tile_slots(s->step_grid.back().count(), step_threads));
    s->gemm_stride = std::max(s->gemm_stride,
                              aligned(static_cast<int64_t>(kernels::gemm_scratch_size(n, s->hidden) / sizeof(float))));
  }
  s->bias = take(rows);
  s->recurrent_bias = take(rows);
  s->gates = take(m * rows);
  s->h = take(s->batch * s->hidden);
  s->c = take(s->batch * s->hidden);
  s->saved = take(2 * s->batch * s->hidden);
  s->work = take(s->batch * (p_.gates + 1) * s->hidden);
  s->gemm = end;
  end += s->gemm_stride * static_cast<size_t>(slots);
  s->direction_stride = end;
  s->direction_at = 0;
  end *= static_cast<size_t>(p_.directions);
  if (!w_.valid()) s->w_at = take(p_.directions * packed_size(s->inputs, rows));
  if (!r_.valid()) s->r_at = take(p_.directions * r_size);
  s->input_gemm_at = end;
  const size_t input_stride =
      aligned(static_cast<int64_t>(kernels::gemm_scratch_size(rows, s->inputs) / sizeof(float)));
  end += input_stride * static_cast<size_t>(tile_slots(p_.directions * s->input_grid.count(), threads));
  ctx.request_scratch(end);
  return std::unique_ptr<KernelState>(std::move(s));
}

void RecurrentKernel::Step::multiply(int part, const float* a, float* to, int64_t ld, bool accumulate,
                                     const float* bias) const {
  const State& s = *state;
  const auto& all = kernel->parts_;
  int64_t skip = 0, per_direction = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const int64_t size = packed_size(hidden, all[i].count * hidden);
    if (static_cast<int>(i) < part) skip += size;
    per_direction += size;
  }
  const float* packed =
      kernel->r_.valid() ? kernel->r_.data<float>() : reinterpret_cast<const float*>(ctx->scratch() + s.r_at);
  kernels::GemmArgs g;
  g.m = batch;
  g.n = all[static_cast<size_t>(part)].count * hidden;
  g.k = hidden;
  g.a = a;
  g.a_row_stride = hidden;
  g.packed_b = packed + direction * per_direction + skip;
  g.c = to;
  g.ldc = ld;
  g.epilogue.beta = accumulate ? 1.0f : 0.0f;
  g.epilogue.bias_col = bias;
  std::byte* scratch = ctx->scratch() + s.direction_at + static_cast<size_t>(direction) * s.direction_stride + s.gemm;
  const auto& grid = s.step_grid[static_cast<size_t>(part)];
  if (grid.count() == 1 || kernel->p_.directions == 2) {
    kernels::gemm_tile(g, 0, g.m, 0, g.n, scratch);
    return;
  }
  for_each_tile(*ctx, grid.count(), scratch, s.gemm_stride,
                [&](int64_t i, std::byte* own) { kernels::gemm_tile(g, grid, i, own); });
}

Status RecurrentKernel::run(KernelContext& ctx) const {
  const State& s = *ctx.state<State>();
  const int64_t rows = p_.gates * s.hidden;
  std::span<const int32_t> lengths;
  if (ctx.has_in(4)) {
    const TensorView& l = ctx.in(4);
    if (l.count != s.batch)
      return invalid_argument("sequence_lens has {} elements, the batch has {}", l.count, s.batch);
    for (int64_t b = 0; b < s.batch; ++b) {
      const int32_t n = l.as<int32_t>()[b];
      if (n < 0 || n > s.seq)
        return invalid_argument("sequence_lens[{}] is {}, expected a value in [0, {}]", b, n, s.seq);
      if (n < s.seq) lengths = {l.as<int32_t>(), static_cast<size_t>(s.batch)};
    }
  }
  std::byte* scratch = ctx.scratch();
  const int64_t w_size = packed_size(s.inputs, rows);
  int64_t r_size = 0;
  for (const Part& part : parts_) r_size += packed_size(s.hidden, part.count * s.hidden);
  if ((!w_.valid() || !r_.valid()) && s.hidden > 0)
    ctx.parallel_for(2 * p_.directions, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t d = i / 2;
        if (i % 2 == 0 && !w_.valid())
          pack_w(ctx.in(1).as<float>() + d * rows * s.inputs, s.inputs, rows,
                 reinterpret_cast<float*>(scratch + s.w_at) + d * w_size);
        if (i % 2 == 1 && !r_.valid())
          pack_r(ctx.in(2).as<float>() + d * rows * s.hidden, s.hidden,
                 reinterpret_cast<float*>(scratch + s.r_at) + d * r_size);
      }
    });
  const auto part = [&](int d, size_t at) {
    return reinterpret_cast<float*>(scratch + s.direction_at + static_cast<size_t>(d) * s.direction_stride + at);
  };
  for (int d = 0; d < p_.directions; ++d) {
    float *bias = part(d, s.bias), *recurrent = part(d, s.recurrent_bias);
    std::fill_n(bias, rows, 0.0f);
    std::fill_n(recurrent, rows, 0.0f);
    if (!ctx.has_in(3)) continue;
    const float *wb = ctx.in(3).as<float>() + d * 2 * rows, *rb = wb + rows;
    const int64_t split = split_bias_ ? rows - s.hidden : rows;
    for (int64_t i = 0; i < split; ++i) bias[i] = wb[i] + rb[i];
    for (int64_t i = split; i < rows; ++i) {
      bias[i] = wb[i];
      recurrent[i] = rb[i];
    }
  }
  const float* w = w_.valid() ? w_.data<float>() : reinterpret_cast<const float*>(scratch + s.w_at);
  const int64_t tiles = s.input_grid.count();
  const size_t stride = aligned(static_cast<int64_t>(kernels::gemm_scratch_size(rows, s.inputs) / sizeof(float)));
  for_each_tile(ctx, p_.directions * tiles, scratch + s.input_gemm_at, stride, [&](int64_t i, std::byte* own) {
    const int d = static_cast<int>(i / tiles);
    kernels::GemmArgs g;
    g.m = s.seq * s.batch;
    g.n = rows;
    g.k = s.inputs;
    g.a = ctx.in(0).as<float>();
    g.a_row_stride = s.inputs;
    g.packed_b = w + d * w_size;
    g.c = part(d, s.gates);
    g.ldc = rows;
    g.epilogue.bias_col = part(d, s.bias);
    kernels::gemm_tile(g, s.input_grid, i % tiles, own);
  });
  if (p_.directions == 1) {
    run_direction(ctx, s, 0, lengths);
    return {};
  }
  ctx.parallel_for(2, 1, [&](int64_t begin, int64_t end) {
    for (int64_t d = begin; d < end; ++d) run_direction(ctx, s, static_cast<int>(d), lengths);
  });
  return {};
}

void RecurrentKernel::run_direction(KernelContext& ctx, const State& s, int d, std::span<const int32_t> lengths) const {
  const int64_t hidden = s.hidden, rows = p_.gates * hidden, size = s.batch * hidden;
  const auto part = [&](size_t at) {
    return reinterpret_cast<float*>(ctx.scratch() + s.direction_at + static_cast<size_t>(d) * s.direction_stride + at);
  };
  const auto row_bytes = static_cast<size_t>(hidden) * sizeof(float);
  // Row b of a state tensor of all directions.
  const auto state_row = [&](const TensorView& v, int64_t b) {
    return v.as<float>() + (p_.batch_first ? b * p_.directions + d : d * s.batch + b) * hidden;
  };
  float *h = part(s.h), *c = part(s.c), *saved = part(s.saved);
  for (int64_t b = 0; b < s.batch; ++b) {
    if (row_bytes == 0) break;
    ctx.has_in(5) ? std::memcpy(h + b * hidden, state_row(ctx.in(5), b), row_bytes)
                  : std::memset(h + b * hidden, 0, row_bytes);
    ctx.has_in(6) ? std::memcpy(c + b * hidden, state_row(ctx.in(6), b), row_bytes)
                  : std::memset(c + b * hidden, 0, row_bytes);
  }
  Step step{this,
            &ctx,
            &s,
            d,
            s.batch,
            hidden,
            nullptr,
            p_.batch_first ? s.seq * rows : rows,
            h,
            p_.cell ? c : nullptr,
            part(s.work),
            part(s.recurrent_bias),
            ctx.has_in(7) ? ctx.in(7).as<float>() + d * 3 * hidden : nullptr};
  for (int64_t i = 0; i < s.seq && size > 0; ++i) {
    const int64_t t = p_.reverses(d) ? s.seq - 1 - i : i;
    step.gates = part(s.gates) + (p_.batch_first ? t : t * s.batch) * rows;
    // Sequences that do not reach to t keep their state, and their output is 0.
    const auto ended = [&](int64_t b) { return !lengths.empty() && t >= lengths[static_cast<size_t>(b)]; };
    for (int64_t b = 0; b < s.batch; ++b)
      if (ended(b)) {
        std::memcpy(saved + b * hidden, h + b * hidden, row_bytes);
        std::memcpy(saved + size + b * hidden, c + b * hidden, row_bytes);
      }
    this->step(step);
    for (int64_t b = 0; b < s.batch; ++b)
      if (ended(b)) {
        std::memcpy(h + b * hidden, saved + b * hidden, row_bytes);
        std::memcpy(c + b * hidden, saved + size + b * hidden, row_bytes);
      }
    if (!ctx.has_out(0)) continue;
    for (int64_t b = 0; b < s.batch; ++b) {
      const int64_t at = p_.batch_first ? (b * s.seq + t) * p_.directions + d : (t * p_.directions + d) * s.batch + b;
      float* y = ctx.out(0).as<float>() + at * hidden;
      ended(b) ? std::memset(y, 0, row_bytes) : std::memcpy(y, h + b * hidden, row_bytes);
    }
  }
  for (int o = 1; o < (p_.cell ? 3 : 2); ++o)
    for (int64_t b = 0; b < s.batch && ctx.has_out(o) && row_bytes > 0; ++b)
      std::memcpy(state_row(ctx.out(o), b), (o == 1 ? h : c) + b * hidden, row_bytes);
}

}  // namespace trunnion::ops
