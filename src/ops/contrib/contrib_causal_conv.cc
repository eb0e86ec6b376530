// CausalConvWithState (com.microsoft 1): a convolution of every channel with taps of its own, over the current and
// earlier positions; what the next call needs of the past comes out as a state.
#include <algorithm>
#include <cmath>

#include "ops/dispatch.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

enum Input { kX, kWeights, kBias, kState };

struct Params {
  int64_t dilation;
  bool silu, channels_last;
};
Result<Params> read(const ir::Node& n) {
  const std::string name = n.attr("activation", "none");
  if (name != "none" && name != "silu" && name != "swish")
    return invalid_argument("attribute activation is '{}', expected none, silu or swish", name);
  if (n.attr("ndim", 1) != 1) return not_implemented("attribute ndim is {}; 1 is supported", n.attr("ndim", 1));
  for (const char* attribute :
       {"state_update_capacity", "state_window", "state_length", "input_channel_offset", "input_channels"})
    if (n.attr(attribute, 0) != 0) return not_implemented("attribute {} is {}", attribute, n.attr(attribute, 0));
  if (n.attr("state_channels_last", -1) != -1) return not_implemented("attribute state_channels_last is set");
  const Params p{n.attr("dilation", 1), name != "none", n.attr("channels_last", 0) != 0};
  if (p.dilation < 1 || p.dilation > INT32_MAX) return invalid_argument("attribute dilation is {}", p.dilation);
  return p;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  f.set(0, f.dtype(kX));
  f.set(1, f.dtype(kX));
  TRN_TRY(expect_rank(f, kWeights, 3));
  if (!f.has_rank(kX)) return {};
  SymShape x = f.in(kX).shape();
  if (p.channels_last ? x.size() < 3 : x.size() != 3)
    return invalid_argument("input 0 has shape {}, needs 3 dimensions", shape_text(x));
  f.set(0, f.dtype(kX), x);
  SymShape state = x;
  Dim& length = p.channels_last ? state[1] : state[2];
  length = Dim();
  if (f.has_rank(kWeights)) {
    const SymShape& w = f.in(kWeights).shape();
    Dim channels = x[1];
    if (p.channels_last) channels = element_count(SymShape(x.begin() + 2, x.end()));
    if ((w[0].is_int() && channels.is_int() && !(w[0] == channels)) || (w[1].is_int() && !w[1].is_int(1)) ||
        w[2].is_int(0))
      return invalid_argument("weights of shape {} do not go with an input of shape {}", shape_text(w), shape_text(x));
    TRN_TRY(expect_rank(f, kBias, 1));
    if (f.has_rank(kBias) && f.in(kBias).dim(0).is_int() && channels.is_int() && !(f.in(kBias).dim(0) == channels))
      return invalid_argument("a bias of {} elements for {} channels", f.in(kBias).dim(0).value(), channels.value());
    length = (w[2] - Dim(1)) * Dim(p.dilation);
  }
  if (f.has_rank(kState)) {
    const SymShape& past = f.in(kState).shape();
    bool fits = past.size() == state.size();
    for (size_t i = 0; fits && i < past.size(); ++i)
      fits = !past[i].is_int() || !state[i].is_int() || past[i] == state[i];
    if (!fits) return invalid_argument("past_state has shape {}, expected {}", shape_text(past), shape_text(state));
  }
  f.set(1, f.dtype(kX), std::move(state));
  return {};
}

// Steps between positions and between channels of a batch entry.
struct Steps {
  int64_t batch, channel, position;
};

class CausalConvCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const Params p, read(n));
    if (n.outputs().size() > 2 && n.output(2)) return not_implemented("the output state_update");
    return std::unique_ptr<Kernel>(new CausalConvCpu(p));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    // The state may lie on the past one, which is read until the end.
    if (ctx.has_in(kState)) ctx.request_scratch(static_cast<size_t>(ctx.in(kState).count) * sizeof(float));
    return std::unique_ptr<KernelState>();
  }

  Status run(KernelContext& ctx) const override {
    const TensorView &x = ctx.in(kX), &w = ctx.in(kWeights);
    const int64_t batch = x.dim(0), channels = w.dim(0), taps = w.dim(2), held = (taps - 1) * p_.dilation;
    const int64_t length = p_.channels_last ? x.dim(1) : x.dim(2);
    if (length + held == 0) return {};
    const Steps now = steps(channels, length), before = steps(channels, held);
    const float* bias = ctx.has_in(kBias) ? ctx.in(kBias).as<const float>() : nullptr;
    const float* past = nullptr;
    if (ctx.has_in(kState)) {
      auto* copy = reinterpret_cast<float*>(ctx.scratch());
      std::copy_n(ctx.in(kState).as<const float>(), ctx.in(kState).count, copy);
      past = copy;
    }
    const auto* in = x.as<const float>();
    auto *out = ctx.out(0).as<float>(), *state = ctx.has_out(1) ? ctx.out(1).as<float>() : nullptr;
    ctx.parallel_for(batch * channels, 4096 / std::max<int64_t>(length * taps, 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / channels, c = i % channels;
        const float* own = in + b * now.batch + c * now.channel;
        const float* old = past ? past + b * before.batch + c * before.channel : nullptr;
        const auto value = [&](int64_t at) {  // of position `at`, which may be before the first
          if (at >= 0) return own[at * now.position];
          return old ? old[(at + held) * before.position] : 0.0f;
        };
        const float* tap = w.as<const float>() + c * taps;
        float* y = out + b * now.batch + c * now.channel;
        for (int64_t t = 0; t < length; ++t) {
          float sum = bias ? bias[c] : 0;
          for (int64_t j = 0; j < taps; ++j) sum += tap[j] * value(t - (taps - 1 - j) * p_.dilation);
          y[t * now.position] = p_.silu ? sum / (1 + std::exp(-sum)) : sum;
        }
        if (state)
          for (int64_t j = 0; j < held; ++j)
            state[b * before.batch + c * before.channel + j * before.position] = value(length - held + j);
      }
    });
    return {};
  }

 private:
  explicit CausalConvCpu(Params p) : p_(p) {}
  Steps steps(int64_t channels, int64_t length) const {
    if (p_.channels_last) return {channels * length, 1, channels};
    return {channels * length, length, 1};
  }
  Params p_;
};

constexpr OpDef kDefs[] = {
    {"CausalConvWithState",
     infer,
     cpu_widened<CausalConvCpu>(DType::f32 | DType::f16 | DType::bf16),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::CausalConvWithState 1 (input:T, weight:T, bias?:T, past_state?:T) -> (output:T, present_state:T, "
     "state_update?:T) {ndim:i=1, activation:s='none', dilation:i=1, channels_last:i=0, state_window:i=0, "
     "state_length:i=0, state_channels_last:i=-1, input_channel_offset:i=0, input_channels:i=0, "
     "state_update_capacity:i=0} T=f32|f16|bf16"},
};

}  // namespace

TRUNNION_OPS(contrib_causal_conv, kDefs);

}  // namespace trunnion::ops
