// Element-wise steps of LSTM, GRU and RNN. The usual activations (sigmoid, tanh, tanh) run fused in registers; other
// ones take the same loop with a switch per vector, which the product before it dwarfs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rnn.simd.cc"
// clang-format off
#include "kernels/rung_table.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "kernels/rnn.h"

#include "kernels/vec_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace trunnion::kernels::HWY_NAMESPACE {
namespace {

HWY_NOINLINE VF AnyActivation(DF d, VF x, const RnnActivation& act) {
  const VF a = hn::Set(d, act.alpha), b = hn::Set(d, act.beta), zero = hn::Zero(d), one = hn::Set(d, 1.0f);
  switch (act.act) {
    case RnnAct::sigmoid:
      return Sigmoid(d, x);
    case RnnAct::tanh:
      return Tanh(d, x);
    case RnnAct::relu:
      return MaxKeepNan(zero, x);
    case RnnAct::affine:
      return hn::MulAdd(a, x, b);
    case RnnAct::leaky_relu:
      return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(a, x), x);
    case RnnAct::thresholded_relu:
      return hn::IfThenElse(hn::Lt(x, a), zero, x);
    case RnnAct::scaled_tanh:
      return hn::Mul(a, Tanh(d, hn::Mul(b, x)));
    case RnnAct::hard_sigmoid:
      return MinKeepNan(one, MaxKeepNan(zero, hn::MulAdd(a, x, b)));
    case RnnAct::elu:
      return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(a, Expm1(d, x)), x);
    case RnnAct::softsign:
      return hn::Div(x, hn::Add(one, hn::Abs(x)));
    case RnnAct::softplus: {
      const VF u = Exp(d, hn::Neg(hn::Abs(x)));
      return hn::Add(MaxKeepNan(zero, x), Log1pUnit(d, u));
    }
  }
  return x;
}

// kFast: the activation is known to be the usual one for its place.
template <bool kFast>
HWY_INLINE VF Gate(DF d, VF x, const RnnActivation& act) {
  return kFast ? Sigmoid(d, x) : AnyActivation(d, x, act);
}
template <bool kFast>
HWY_INLINE VF Squash(DF d, VF x, const RnnActivation& act) {
  return kFast ? Tanh(d, x) : AnyActivation(d, x, act);
}

HWY_INLINE VF Clip(DF d, VF x, float clip) {
  return clip > 0 ? MinKeepNan(hn::Set(d, clip), MaxKeepNan(hn::Set(d, -clip), x)) : x;
}

template <bool kTail>
HWY_INLINE VF Load(DF d, const float* p, size_t n) {
  return kTail ? LoadTail(d, p, n) : hn::LoadU(d, p);
}
template <bool kTail>
HWY_INLINE void Store(VF v, DF d, float* p, size_t n) {
  kTail ? StoreTail(v, d, p, n) : hn::StoreU(v, d, p);
}

template <bool kFast, bool kTail>
HWY_INLINE void LstmVector(DF d, const LstmStep& s, const float* gates, int64_t row, int64_t at, size_t n) {
  const int64_t hidden = s.hidden;
  const VF c_prev = Load<kTail>(d, s.c_prev + row * hidden + at, n);
  VF i = Load<kTail>(d, gates + at, n), o = Load<kTail>(d, gates + hidden + at, n);
  VF f = Load<kTail>(d, gates + 2 * hidden + at, n);
  const VF g = Load<kTail>(d, gates + 3 * hidden + at, n);
  if (s.peephole) {
    i = hn::MulAdd(Load<kTail>(d, s.peephole + at, n), c_prev, i);
    f = hn::MulAdd(Load<kTail>(d, s.peephole + 2 * hidden + at, n), c_prev, f);
  }
  i = Gate<kFast>(d, Clip(d, i, s.clip), s.f);
  f = s.input_forget ? hn::Sub(hn::Set(d, 1.0f), i) : Gate<kFast>(d, Clip(d, f, s.clip), s.f);
  const VF c = hn::MulAdd(f, c_prev, hn::Mul(i, Squash<kFast>(d, Clip(d, g, s.clip), s.g)));
  if (s.peephole) o = hn::MulAdd(Load<kTail>(d, s.peephole + hidden + at, n), c, o);
  o = Gate<kFast>(d, Clip(d, o, s.clip), s.f);
  Store<kTail>(c, d, s.c + row * hidden + at, n);
  Store<kTail>(hn::Mul(o, Squash<kFast>(d, c, s.out)), d, s.h + row * s.h_stride + at, n);
}

template <bool kFast>
HWY_INLINE void LstmRows(const LstmStep& s) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < s.batch; ++row) {
    const float* gates = s.gates + row * s.gate_stride;
    int64_t at = 0;
    for (; at + lanes <= s.hidden; at += lanes) LstmVector<kFast, false>(d, s, gates, row, at, 0);
    if (at < s.hidden) LstmVector<kFast, true>(d, s, gates, row, at, static_cast<size_t>(s.hidden - at));
  }
}

void Lstm(const LstmStep& s) {
  const bool fast = s.f.act == RnnAct::sigmoid && s.g.act == RnnAct::tanh && s.out.act == RnnAct::tanh;
  fast ? LstmRows<true>(s) : LstmRows<false>(s);
}

template <bool kFast, bool kUpdate, bool kTail>
HWY_INLINE void GruVector(DF d, const GruStep& s, int64_t row, int64_t at, size_t n) {
  const int64_t hidden = s.hidden;
  const float* x = s.x_gates + row * s.x_stride + at;
  const float* h = s.h_gates + row * s.hg_stride + at;
  const VF h_prev = Load<kTail>(d, s.h_prev + row * s.h_prev_stride + at, n);
  const auto gate = [&](int64_t which) HWY_ATTR {
    const VF sum = hn::Add(Load<kTail>(d, x + which * hidden, n), Load<kTail>(d, h + which * hidden, n));
    return Gate<kFast>(d, Clip(d, sum, s.clip), s.f);
  };
  if constexpr (!kUpdate) {
    Store<kTail>(hn::Mul(gate(1), h_prev), d, s.rh + row * hidden + at, n);
  } else {
    VF candidate = Load<kTail>(d, h + 2 * hidden, n);
    if (s.linear_before_reset) candidate = hn::Mul(gate(1), candidate);
    candidate = hn::Add(Load<kTail>(d, x + 2 * hidden, n), candidate);
    candidate = Squash<kFast>(d, Clip(d, candidate, s.clip), s.g);
    const VF z = gate(0);
    const VF kept = hn::Mul(hn::Sub(hn::Set(d, 1.0f), z), candidate);
    Store<kTail>(hn::MulAdd(z, h_prev, kept), d, s.h + row * s.h_stride + at, n);
  }
}

template <bool kFast, bool kUpdate>
HWY_INLINE void GruRows(const GruStep& s) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = 0; row < s.batch; ++row) {
    int64_t at = 0;
    for (; at + lanes <= s.hidden; at += lanes) GruVector<kFast, kUpdate, false>(d, s, row, at, 0);
    if (at < s.hidden) GruVector<kFast, kUpdate, true>(d, s, row, at, static_cast<size_t>(s.hidden - at));
  }
}

template <bool kUpdate>
void Gru(const GruStep& s) {
  const bool fast = s.f.act == RnnAct::sigmoid && s.g.act == RnnAct::tanh;
  fast ? GruRows<true, kUpdate>(s) : GruRows<false, kUpdate>(s);
}

void Activate(const float* x, float* y, int64_t n, const RnnActivation& act, float clip) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(AnyActivation(d, Clip(d, hn::LoadU(d, x + i), clip), act), d, y + i);
  }
  if (i < n) {
    const size_t rest = static_cast<size_t>(n - i);
    StoreTail(AnyActivation(d, Clip(d, LoadTail(d, x + i, rest), clip), act), d, y + i, rest);
  }
}

}  // namespace

constexpr RnnKernels kTable = {&Lstm, &Gru<false>, &Gru<true>, &Activate};

}  // namespace trunnion::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trunnion::kernels {
const RnnKernels& rnn() { TRN_RUNG_TABLE(kTable) }
}  // namespace trunnion::kernels
#endif
