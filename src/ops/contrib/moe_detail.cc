#include "ops/contrib/moe_detail.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/binary.h"
#include "kernels/gemm.h"
#include "kernels/softmax.h"
#include "kernels/unary.h"
#include "ops/shape.h"
#include "ops/tiles.h"

namespace trunnion::ops {
namespace {

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

Status expect_like(const ir::Facts& f, int i, const SymShape& want) {
  if (!f.has_rank(i)) return {};
  const SymShape& have = f.in(i).shape();
  bool fits = have.size() == want.size();
  for (size_t d = 0; fits && d < have.size(); ++d) fits = !have[d].is_int() || !want[d].is_int() || have[d] == want[d];
  if (fits) return {};
  return invalid_argument("input {} has shape {}, expected {}", i, shape_text(have), shape_text(want));
}

// Where things are in the scratch of a run.
struct Places {
  size_t probabilities, picks, weights, offsets, order, rows, first, second, inner, answer, slots, slot_gemm,
      slot_stride, end;
};
Places places(const MoeShape& s, int64_t top, int threads) {
  Places p{};
  const auto take = [&p](int64_t elements, size_t size) {
    const size_t at = p.end;
    p.end += aligned(static_cast<size_t>(elements) * size);
    return at;
  };
  p.probabilities = take(s.experts * s.tokens, sizeof(float));
  p.picks = take(s.tokens * top, sizeof(int64_t));
  p.weights = take(s.tokens * top, sizeof(float));
  p.offsets = take(s.experts + 1, sizeof(int64_t));
  p.order = take(s.tokens * top, sizeof(int64_t));
  p.rows = take(s.tokens, sizeof(const float*));
  p.first = take(s.tokens * s.width, sizeof(float));
  p.second = take(s.third ? s.tokens * s.inner : 0, sizeof(float));
  p.inner = take(s.width != s.inner ? s.tokens * s.inner : 0, sizeof(float));
  p.answer = take(s.tokens * s.hidden, sizeof(float));
  p.slots = p.end;
  const int64_t k = std::max(s.hidden, s.inner), n = std::max({s.hidden, s.inner, s.width});
  p.slot_gemm = aligned(static_cast<size_t>(k * kernels::gemm_panel_width()) * sizeof(float));
  p.slot_stride = p.slot_gemm + aligned(kernels::gemm_scratch_size(n, k));
  p.end += p.slot_stride * static_cast<size_t>(std::max(threads, 1));
  return p;
}

// The best experts of every token, the first of equal ones, and their weights.
void route(const MoeParams& p, const MoeShape& s, const MoeArgs& a, float* probabilities, int64_t* picks,
           float* weights) {
  kernels::softmax().rows(a.scores, probabilities, s.tokens, s.experts);
  for (int64_t t = 0; t < s.tokens; ++t) {
    const float *score = a.scores + t * s.experts, *probability = probabilities + t * s.experts;
    float sum = 0;
    for (int64_t i = 0; i < p.top; ++i) {
      int64_t best = -1;
      for (int64_t e = 0; e < s.experts; ++e) {
        const bool taken = std::find(picks + t * p.top, picks + t * p.top + i, e) != picks + t * p.top + i;
        if (!taken && (best < 0 || score[e] > score[best])) best = e;
      }
      picks[t * p.top + i] = best;
      const float weight = a.weights ? a.weights[t * s.experts + best] : probability[best];
      weights[t * p.top + i] = weight;
      sum += weight;
    }
    if (p.normalize && sum != 0)
      for (int64_t i = 0; i < p.top; ++i) weights[t * p.top + i] /= sum;
  }
}

void activate(const MoeParams& p, const MoeShape& s, int64_t row, const float* first, const float* second, float* to) {
  const float* g = first + row * s.width;
  float* y = to + row * s.inner;
  const auto count = static_cast<size_t>(s.inner);
  using Activation = MoeParams::Activation;
  if (p.activation == Activation::swiglu) {
    const float limit = p.limit > 0 ? p.limit : std::numeric_limits<float>::infinity();
    const int64_t step = p.fusion == 1 ? 2 : 1;
    const float* l = second ? second + row * s.inner : p.fusion == 1 ? g + 1 : g + s.inner;
    for (int64_t i = 0; i < s.inner; ++i) {
      const float gate = std::min(g[i * step], limit), linear = std::clamp(l[i * step], -limit, limit);
      y[i] = gate / (1 + std::exp(-p.alpha * gate)) * (linear + p.beta);
    }
    return;
  }
  using kernels::UnaryOp;
  const UnaryOp op = p.activation == Activation::relu   ? UnaryOp::relu
                     : p.activation == Activation::gelu ? UnaryOp::gelu_tanh
                     : p.activation == Activation::silu ? UnaryOp::silu
                                                        : UnaryOp::identity;
  kernels::unary(op, kernels::Elem::f32)(g, y, count, {.a = 1});
  if (second)
    kernels::binary(kernels::BinaryOp::mul, kernels::Elem::f32, kernels::BinaryShape::vector_vector)(
        y, second + row * s.inner, y, count);
}

}  // namespace

Result<MoeParams> read_moe(const ir::Node& n) {
  MoeParams p;
  using Activation = MoeParams::Activation;
  const std::string name = n.attr("activation_type", "relu");
  if (name == "identity")
    p.activation = Activation::identity;
  else if (name == "relu")
    p.activation = Activation::relu;
  else if (name == "gelu")
    p.activation = Activation::gelu;
  else if (name == "silu")
    p.activation = Activation::silu;
  else if (name == "swiglu")
    p.activation = Activation::swiglu;
  else
    return not_implemented("attribute activation_type is '{}'", name);
  p.top = n.attr("k", 1);
  p.normalize = n.attr("normalize_routing_weights", 0) != 0;
  p.fusion = n.attr("swiglu_fusion", 0);
  p.alpha = n.attr("activation_alpha", 1.0f);
  p.beta = n.attr("activation_beta", 0.0f);
  p.limit = n.attr("swiglu_limit", 0.0f);
  if (n.attr("swiglu_limit_after_activation", 0) != 0)
    return not_implemented("attribute swiglu_limit_after_activation is set");
  if (p.top < 1) return invalid_argument("attribute k is {}, expected 1 or more", p.top);
  if (p.fusion < 0 || p.fusion > 2) return invalid_argument("attribute swiglu_fusion is {}, expected 0 to 2", p.fusion);
  return p;
}

int64_t expert_panels(int64_t k, int64_t n) { return (kernels::gemm_packed_b_size(k, n) + 15) / 16 * 16; }

Status infer_moe(const MoeParams& p, ir::Facts& f, const MoeInputs& in, const int64_t per_element[3]) {
  f.set(0, f.dtype(0));
  if (!f.has_rank(0)) return {};
  const SymShape& x = f.in(0).shape();
  if (x.size() != 2 && x.size() != 3)
    return invalid_argument("input 0 has shape {}, needs 2 or 3 dimensions", shape_text(x));
  f.set(0, f.dtype(0), x);
  const Dim tokens = x.size() == 2 ? x[0] : x[0] * x[1], hidden = x.back();
  if (!f.has_rank(in.weights[0]) || f.in(in.weights[0]).rank() != 3) return expect_rank(f, in.weights[0], 3);
  const Dim experts = f.in(in.weights[0]).dim(0), width = f.in(in.weights[0]).dim(1);
  const bool fused = p.activation == MoeParams::Activation::swiglu && p.fusion != 0;
  const bool third = f.has(in.weights[2]);
  if (p.activation == MoeParams::Activation::swiglu && fused == third)
    return invalid_argument("swiglu with swiglu_fusion {} {} fc3", p.fusion, fused ? "takes no" : "needs");
  if (fused && width.is_int() && width.value() % 2 != 0)
    return invalid_argument("fc1 has {} rows, which do not divide into two halves", width.value());
  const Dim inner = fused ? floor_div(width, Dim(2)) : width;
  if (experts.is_int() && p.top > experts.value())
    return invalid_argument("attribute k is {}, but there are {} experts", p.top, experts.value());
  const Dim rows[] = {width, hidden, inner}, cols[] = {hidden, inner, hidden};
  for (int i = 0; i < 3; ++i) {
    if (f.has(in.weights[i]) && cols[i].is_int() && cols[i].value() % per_element[i] != 0)
      return invalid_argument("input {}: rows of {} weights do not fill whole bytes", in.weights[i], cols[i].value());
    TRN_TRY(expect_like(f, in.weights[i], {experts, rows[i], floor_div(cols[i], Dim(per_element[i]))}));
    TRN_TRY(expect_like(f, in.bias[i], {experts, rows[i]}));
  }
  return expect_like(f, 1, {tokens, experts});
}

MoeShape moe_shape(const MoeParams& p, const PrepareContext& ctx, const MoeInputs& in) {
  const TensorView &x = ctx.in(0), &fc1 = ctx.in(in.weights[0]);
  MoeShape s;
  s.hidden = x.dim(x.rank - 1);
  s.tokens = product(x.shape(), 0, x.rank - 1);
  s.experts = fc1.dim(0);
  s.width = fc1.dim(1);
  s.inner = p.activation == MoeParams::Activation::swiglu && p.fusion != 0 ? s.width / 2 : s.width;
  s.third = ctx.has_in(in.weights[2]);
  return s;
}

size_t moe_scratch(const MoeParams& p, const MoeShape& s, int threads) { return places(s, p.top, threads).end; }

namespace {

// c = rows of one expert's matrix times the rows of a.
void product(KernelContext& ctx, const MoeShape& s, const MoeArgs& a, PackExpert pack, const Places& at,
             std::byte* scratch, int matrix, int64_t expert, kernels::GemmArgs g) {
  g.n = g.ldc = s.rows(matrix);
  g.k = s.cols(matrix);
  if (a.bias[matrix]) g.epilogue.bias_col = a.bias[matrix] + expert * g.n;
  if (a.bits[matrix]) {
    const float* in = g.a;
    if (g.a_rows) {
      ctx.parallel_for(g.m, 16384 / g.k + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) std::copy_n(g.a_rows[i], g.k, a.gathered + i * g.k);
      });
      in = a.gathered;
    }
    BitsMatMul::State state;
    const BitsMatMul& weights = a.bits[matrix][expert];
    weights.prepare(g.m, ctx.threads(), a.bits_offset, state);
    return weights.run(ctx, state, in, g.epilogue.bias_col, g.c);
  }
  std::byte* slots = scratch + at.slots;
  if (a.packed[matrix]) {
    g.packed_b = a.packed[matrix] + expert * expert_panels(g.k, g.n);
    const auto grid = kernels::gemm_grid(g.m, g.n, g.k, ctx.threads());
    for_each_tile(ctx, grid.count(), slots, at.slot_stride,
                  [&](int64_t i, std::byte* own) { kernels::gemm_tile(g, grid, i, own + at.slot_gemm); });
    return;
  }
  const int64_t panel_width = kernels::gemm_panel_width();
  for_each_tile(ctx, kernels::gemm_panel_count(g.n), slots, at.slot_stride, [&](int64_t panel, std::byte* own) {
    auto* packed = reinterpret_cast<float*>(reinterpret_cast<uintptr_t>(own) -
                                            static_cast<uintptr_t>(panel * panel_width * g.k) * sizeof(float));
    pack(matrix, expert, panel, panel + 1, packed);
    kernels::GemmArgs tile = g;
    tile.packed_b = packed;
    kernels::gemm_tile(tile, 0, g.m, panel * panel_width, std::min(g.n, (panel + 1) * panel_width), own + at.slot_gemm);
  });
}

}  // namespace

Status run_moe(KernelContext& ctx, const MoeParams& p, const MoeShape& s, const MoeArgs& a, PackExpert pack,
               std::byte* scratch) {
  const Places at = places(s, p.top, ctx.threads());
  const auto floats = [&](size_t offset) { return reinterpret_cast<float*>(scratch + offset); };
  const auto ints = [&](size_t offset) { return reinterpret_cast<int64_t*>(scratch + offset); };
  std::fill(a.y, a.y + s.tokens * s.hidden, 0.0f);
  if (s.tokens == 0 || s.hidden == 0) return {};
  float* weights = floats(at.weights);
  int64_t *picks = ints(at.picks), *offsets = ints(at.offsets), *order = ints(at.order);
  route(p, s, a, floats(at.probabilities), picks, weights);
  // Picks by expert, in the order of tokens.
  const int64_t all = s.tokens * p.top;
  std::fill(offsets, offsets + s.experts + 1, 0);
  for (int64_t i = 0; i < all; ++i) ++offsets[picks[i] + 1];
  for (int64_t e = 0; e < s.experts; ++e) offsets[e + 1] += offsets[e];
  for (int64_t i = 0; i < all; ++i) order[offsets[picks[i]]++] = i;
  for (int64_t e = s.experts; e > 0; --e) offsets[e] = offsets[e - 1];
  offsets[0] = 0;

  auto** rows = reinterpret_cast<const float**>(scratch + at.rows);
  float *first = floats(at.first), *second = s.third ? floats(at.second) : nullptr;
  float *inner = s.width != s.inner ? floats(at.inner) : first, *answer = floats(at.answer);
  for (int64_t e = 0; e < s.experts; ++e) {
    const int64_t* mine = order + offsets[e];
    const int64_t m = offsets[e + 1] - offsets[e];
    if (m == 0) continue;
    for (int64_t i = 0; i < m; ++i) rows[i] = a.x + mine[i] / p.top * s.hidden;
    kernels::GemmArgs g;
    g.m = m;
    g.a_rows = rows;
    g.c = first;
    product(ctx, s, a, pack, at, scratch, 0, e, g);
    g.c = second;
    if (second) product(ctx, s, a, pack, at, scratch, 2, e, g);
    ctx.parallel_for(m, 2048 / std::max<int64_t>(s.inner, 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) activate(p, s, i, first, second, inner);
    });
    g = {};
    g.m = m;
    g.a = inner;
    g.a_row_stride = s.inner;
    g.c = answer;
    product(ctx, s, a, pack, at, scratch, 1, e, g);
    ctx.parallel_for(m, 16384 / s.hidden + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float* y = a.y + mine[i] / p.top * s.hidden;
        for (int64_t c = 0; c < s.hidden; ++c) y[c] += weights[mine[i]] * answer[i * s.hidden + c];
      }
    });
  }
  return {};
}

}  // namespace trunnion::ops
