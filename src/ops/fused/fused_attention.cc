// trunnion.FusedAttention: softmax(scale Q K + bias) V as one step (fp32). Q, K and V are read, and Y is written,
// through the permutations that stood around the products. Made by the CPU pipeline only, never found in files.
#include <algorithm>
#include <array>

#include "ops/nn/attention_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

// Inputs: Q, K, V, two biases, a selection.
constexpr int kBias = 3, kSelect = 5;
constexpr int kOperands = 3;
constexpr const char* kNames[kOperands] = {"Q", "K", "V"};

// Permutations as in Transpose: dimension i of what the product reads is dimension perm[i] of the input. Q and V become
// [batch, head, row, element], K becomes [batch, head, element, row]; leading ones may be missing. Y's is applied to
// [batch, head, row, element] when it is written.
struct Params {
  std::vector<int64_t> perm[kOperands], y_perm;  // empty: as it is
  int64_t first[kOperands] = {};                 // the heads are those from this one on, ...
  int64_t heads = 0;                             // ... so many of them; 0: all
  float scale = 1, select_value = 0;
  bool select_inverted = false, select_first = false;
};

Params read(const ir::Node& n) {
  Params p;
  p.perm[0] = n.ints("q_perm");
  p.perm[1] = n.ints("k_perm");
  p.perm[2] = n.ints("v_perm");
  p.y_perm = n.ints("y_perm");
  p.first[0] = n.attr("q_first", 0);
  p.first[1] = n.attr("k_first", 0);
  p.first[2] = n.attr("v_first", 0);
  p.heads = n.attr("heads", 0);
  p.scale = n.attr("scale", 1.0f);
  p.select_value = n.attr("select_value", 0.0f);
  p.select_inverted = n.attr("select_inverted", 0) != 0;
  p.select_first = n.attr("select_first", 0) != 0;
  return p;
}

using Dims = std::array<Dim, 4>;
using Order = std::array<int, 4>;

// A permutation of rank dimensions, with ones in front up to four.
Result<Order> order(const std::vector<int64_t>& perm, int rank, const char* what) {
  Order o{0, 1, 2, 3};
  if (perm.empty()) return o;
  unsigned seen = 0;
  if (static_cast<int>(perm.size()) != rank)
    return invalid_argument("{} has {} dimensions, its permutation {}", what, rank, perm.size());
  for (int i = 0; i < rank; ++i) {
    const int64_t axis = perm[static_cast<size_t>(i)];
    if (axis < 0 || axis >= rank || (seen >> axis & 1))
      return invalid_argument("{} is no permutation of {} dimensions",
                              shape_text(std::span<const int64_t>(perm.data(), perm.size())), rank);
    seen |= 1u << axis;
    o[static_cast<size_t>(4 - rank + i)] = static_cast<int>(4 - rank + axis);
  }
  return o;
}

Dims padded(const SymShape& shape) {
  Dims d{Dim(1), Dim(1), Dim(1), Dim(1)};
  for (size_t i = 0; i < shape.size(); ++i) d[4 - shape.size() + i] = shape[i];
  return d;
}

// What the products see of an operand.
Result<Dims> permuted(const Params& p, int operand, const SymShape& shape) {
  if (shape.size() < 2 || shape.size() > 4)
    return invalid_argument("{} has shape {}, needs 2 to 4 dimensions", kNames[operand], shape_text(shape));
  TRN_ASSIGN(const Order o, order(p.perm[operand], static_cast<int>(shape.size()), kNames[operand]));
  const Dims from = padded(shape);
  Dims to;
  for (size_t i = 0; i < 4; ++i) to[i] = from[static_cast<size_t>(o[i])];
  if (p.heads > 0) {
    if (to[1].is_int() && (p.first[operand] < 0 || p.first[operand] > to[1].value() - p.heads))
      return invalid_argument("{} has {} heads, {} from {} on are wanted", kNames[operand], to[1].value(), p.heads,
                              p.first[operand]);
    to[1] = Dim(p.heads);
  }
  return to;
}

Status expect_same(const Dim& a, const Dim& b, const char* what) {
  if (a.is_int() && b.is_int() && !(a == b)) return invalid_argument("{}: {} against {}", what, a.value(), b.value());
  return {};
}

// [batch, heads, queries, value elements].
Result<SymShape> result_dims(const Dims& q, const Dims& k, const Dims& v) {
  TRN_TRY(expect_same(q[3], k[2], "elements of Q and K"));
  TRN_TRY(expect_same(k[3], v[2], "rows of K and V"));
  TRN_ASSIGN(SymShape both, broadcast_shapes(SymShape{q[0], q[1]}, SymShape{k[0], k[1]}));
  TRN_ASSIGN(both, broadcast_shapes(both, SymShape{v[0], v[1]}));
  return SymShape{both[0], both[1], q[2], v[3]};
}

Status infer(const ir::Node& n, ir::Facts& f) {
  const Params p = read(n);
  f.set(0, f.dtype(0));
  if (!f.has_rank(0) || !f.has_rank(1) || !f.has_rank(2)) return {};
  const int rank = f.in(0).rank();
  for (int i : {1, 2})
    if (f.in(i).rank() != rank)
      return invalid_argument("Q has {} dimensions and {} has {}", rank, kNames[i], f.in(i).rank());
  TRN_ASSIGN(const Dims q, permuted(p, 0, f.in(0).shape()));
  TRN_ASSIGN(const Dims k, permuted(p, 1, f.in(1).shape()));
  TRN_ASSIGN(const Dims v, permuted(p, 2, f.in(2).shape()));
  TRN_ASSIGN(SymShape y, result_dims(q, k, v));
  for (int i = kBias; i <= kSelect; ++i) {
    if (!f.has(i)) continue;
    if (!f.has_rank(i)) return {};
    const SymShape& m = f.in(i).shape();
    if (static_cast<int>(m.size()) > rank)
      return invalid_argument("input {} has {} dimensions, the scores have {}", i, m.size(), rank);
    const SymShape scores{y[0], y[1], y[2], k[3]};
    const Dims d = padded(m);
    TRN_ASSIGN(const SymShape both, broadcast_shapes(scores, SymShape(d.begin(), d.end())));
    for (size_t at : {2u, 3u})
      if (both[at].is_int() && scores[at].is_int() && !(both[at] == scores[at]))
        return invalid_argument("input {} of shape {} is larger than the scores of shape {}", i, shape_text(m),
                                shape_text(scores));
    y[0] = both[0];
    y[1] = both[1];
  }
  TRN_ASSIGN(const Order o, order(p.y_perm, rank, "Y"));
  SymShape out(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i)
    out[static_cast<size_t>(i)] = y[static_cast<size_t>(o[static_cast<size_t>(4 - rank + i)])];
  f.set(0, f.dtype(0), std::move(out));
  return {};
}

// Steps of the four dimensions that the products see; 0 where one element stands for all.
struct Steps {
  int64_t at[4] = {};
  int64_t offset = 0;  // of the first element
};

struct Mask {
  Steps steps;
  bool repeat_keys = false;  // one element a row: repeated to all keys in scratch
  size_t scratch_at = 0;
};

struct State final : KernelState {
  AttentionShape shape;
  Steps operand[kOperands], y;
  Mask mask[3];
  size_t attention_at = 0;
};

class FusedAttentionCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    return std::unique_ptr<Kernel>(new FusedAttentionCpu(read(n)));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto state = std::make_unique<State>();
    Dims dims[kOperands];
    for (int i = 0; i < kOperands; ++i) {
      TRN_ASSIGN(dims[i], permuted(p_, i, to_symbolic(ctx.in(i).shape())));
      TRN_ASSIGN(state->operand[i], steps(ctx.in(i).shape(), p_.perm[i], dims[i], kNames[i]));
      state->operand[i].offset = p_.heads > 0 ? p_.first[i] * head_step(ctx.in(i).shape(), p_.perm[i]) : 0;
    }
    const TensorView& y = ctx.out(0);
    TRN_ASSIGN(const Order o, order(p_.y_perm, y.rank, "Y"));
    const Shape dense = row_major_strides(y.shape());
    int64_t size[4] = {1, 1, 1, 1};
    for (int i = 0; i < y.rank; ++i) {
      const int to = o[static_cast<size_t>(4 - y.rank + i)];
      state->y.at[to] = dense[static_cast<size_t>(i)];
      size[to] = y.dim(i);
    }
    if (size[3] != 1 && state->y.at[3] != 1)
      return invalid_argument("the elements of a row of Y must stay together, its permutation moves them");
    state->shape = {size[0], size[1], size[1], size[2], dims[2][2].value(), dims[0][3].value(), size[3]};
    size_t offset = 0;
    for (int i = 0; i < 3; ++i)
      if (ctx.has_in(kBias + i)) prepare_mask(ctx.in(kBias + i), state->shape.keys, state->mask[i], offset);
    state->attention_at = offset;
    ctx.request_scratch(offset + attention_scratch(state->shape, ctx.threads()));
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    if (ctx.out(0).count == 0) return {};
    AttentionArgs a;
    AttentionRows* rows[] = {&a.q, &a.k, &a.v};
    for (int i = 0; i < kOperands; ++i) {
      const Steps& st = s.operand[i];
      *rows[i] = {ctx.in(i).as<const float>() + st.offset, st.at[0], st.at[1], st.at[2], st.at[3]};
    }
    std::swap(a.k.row_step, a.k.elem_step);  // K comes transposed
    a.y = ctx.out(0).as<float>();
    a.y_batch = s.y.at[0];
    a.y_head = s.y.at[1];
    a.y_row = s.y.at[2];
    a.scale = p_.scale;
    a.empty_is_nan = true;
    // Either both biases, or one and a selection.
    const bool select = ctx.has_in(kSelect), two = ctx.has_in(kBias + 1);
    if (ctx.has_in(kBias)) {
      const float* data = elements<float>(ctx, s, 0);
      const int64_t* step = s.mask[0].steps.at;
      if (two || select) {
        a.padding = {data, step[0], step[1], step[2]};
      } else {
        a.bias = data;
        set_steps(s.mask[0], s.shape.keys, a);
      }
    }
    if (two) {
      a.bias = elements<float>(ctx, s, 1);
      set_steps(s.mask[1], s.shape.keys, a);
    }
    if (select) {
      a.allowed = elements<bool>(ctx, s, 2);
      set_steps(s.mask[2], s.shape.keys, a);
      a.left_out = p_.select_value;
      a.allowed_is_inverted = p_.select_inverted;
      a.select_before_bias = p_.select_first;
    }
    attention(ctx, s.shape, a, ctx.scratch() + s.attention_at);
    return {};
  }

 private:
  explicit FusedAttentionCpu(Params p) : p_(std::move(p)) {}

  static int64_t head_step(std::span<const int64_t> shape, const std::vector<int64_t>& perm) {
    const size_t rank = shape.size();
    if (rank < 3) return 0;
    return row_major_strides(shape)[perm.empty() ? rank - 3 : static_cast<size_t>(perm[rank - 3])];
  }

  static Result<Steps> steps(std::span<const int64_t> shape, const std::vector<int64_t>& perm, const Dims& dims,
                             const char* what) {
    const int rank = static_cast<int>(shape.size());
    TRN_ASSIGN(const Order o, order(perm, rank, what));
    const Shape dense = row_major_strides(shape);
    Steps s;
    for (size_t i = 0; i < 4; ++i)
      if (const int from = o[i] - (4 - rank); from >= 0 && (i >= 2 || dims[i].value() != 1))
        s.at[i] = dense[static_cast<size_t>(from)];
    return s;
  }

  static void prepare_mask(const TensorView& m, int64_t keys, Mask& mask, size_t& offset) {
    int64_t step = 1;
    for (int d = m.rank - 1, i = 3; d >= 0; --d, --i) {
      mask.steps.at[i] = m.dim(d) == 1 ? 0 : step;
      step *= m.dim(d);
    }
    mask.repeat_keys = keys != 1 && (m.rank == 0 || m.dim(m.rank - 1) == 1);
    if (!mask.repeat_keys) return;
    mask.scratch_at = offset;
    offset += (static_cast<size_t>(m.count * keys) * size_of(m.dtype) + 63) / 64 * 64;
    for (int i = 0; i < 3; ++i) mask.steps.at[i] *= keys;
  }

  template <class T>
  static const T* elements(KernelContext& ctx, const State& s, int i) {
    const TensorView& m = ctx.in(kBias + i);
    if (!s.mask[i].repeat_keys) return m.as<const T>();
    T* to = reinterpret_cast<T*>(ctx.scratch() + s.mask[i].scratch_at);
    for (int64_t r = 0; r < m.count; ++r) std::fill_n(to + r * s.shape.keys, s.shape.keys, m.as<const T>()[r]);
    return to;
  }

  static void set_steps(const Mask& mask, int64_t keys, AttentionArgs& a) {
    a.mask_batch = mask.steps.at[0];
    a.mask_head = mask.steps.at[1];
    a.mask_row = mask.steps.at[2];
    a.mask_keys = keys;
  }

  Params p_;
};

constexpr OpDef kDefs[] = {
    {"FusedAttention",
     infer,
     cpu<FusedAttentionCpu>(kF32),
     {.reviewed = 1},
     "trunnion",
     "trunnion::FusedAttention 1 (Q:T, K:T, V:T, bias?:T, bias2?:T, select?:B) -> (Y:T) {heads:i=0, k_first:i=0, "
     "k_perm:is, q_first:i=0, q_perm:is, scale:f=1, select_first:i=0, select_inverted:i=0, select_value:f=0, "
     "v_first:i=0, v_perm:is, y_perm:is} T=f32 B=bool"},
};

}  // namespace

TRUNNION_OPS(fused_attention, kDefs);

}  // namespace trunnion::ops
