#include "ops/half_adapter.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/fork_lock.h"
#include "kernels/convert.h"
#include "ops/dispatch.h"

namespace trunnion::ops {
namespace {

constexpr size_t kLine = 64;

struct State final : KernelState {
  std::vector<Tensor> constants;  // widened; by input, invalid where the input is no half constant
  std::vector<size_t> in_offset, out_offset;
  size_t inner_offset = 0;
  std::unique_ptr<KernelState> inner;
};

void widen(KernelContext& ctx, const TensorView& from, float* to) {
  ctx.parallel_for(from.count, 1 << 16, [&](int64_t b, int64_t e) {
    kernels::convert(elem(from.dtype), kernels::Elem::f32)(from.as<uint16_t>() + b, to + b, e - b, {});
  });
}

// Whether `wide` holds the elements of `half`, bit for bit.
bool holds(const Tensor& wide, const TensorView& half) {
  if (wide.count() != half.count) return false;
  constexpr int64_t kPiece = 2048;
  float piece[kPiece];
  for (int64_t at = 0; at < half.count; at += kPiece) {
    const int64_t n = std::min(kPiece, half.count - at);
    kernels::convert(elem(half.dtype), kernels::Elem::f32)(half.as<uint16_t>() + at, piece, n, {});
    if (std::memcmp(piece, wide.data<float>() + at, static_cast<size_t>(n) * sizeof(float)) != 0) return false;
  }
  return true;
}

// The constants of one kernel, widened: plans for all shapes share them.
class WideConstants {
 public:
  // Of input i. An input that is worked out with the plan may be another one in each.
  Result<Tensor> get(int i, const TensorView& half) {
    Tensor wide = known(i);
    if (wide.valid() && holds(wide, half)) return wide;
    TRN_ASSIGN(wide, to_f32(Tensor::borrow(half.dtype, half.shape(), half.data, nullptr)));
    keep(i, wide);
    return wide;
  }

 private:
  Tensor known(int i) {
    std::lock_guard guard(lock_);
    return static_cast<size_t>(i) < by_input_.size() ? by_input_[static_cast<size_t>(i)] : Tensor();
  }
  void keep(int i, Tensor wide) {
    std::lock_guard guard(lock_);
    if (by_input_.size() <= static_cast<size_t>(i)) by_input_.resize(static_cast<size_t>(i) + 1);
    std::swap(by_input_[static_cast<size_t>(i)], wide);
  }

  ForkLock lock_;
  std::vector<Tensor> by_input_;
};

class HalfAdapter final : public Kernel {
 public:
  explicit HalfAdapter(std::unique_ptr<Kernel> inner) : inner_(std::move(inner)) {}

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto state = std::make_unique<State>();
    std::vector<TensorView> in(static_cast<size_t>(ctx.inputs())), out(static_cast<size_t>(ctx.outputs()));
    std::vector<const TensorView*> in_ptrs(in.size(), nullptr), out_ptrs(out.size(), nullptr);
    state->constants.resize(in.size());
    state->in_offset.resize(in.size());
    state->out_offset.resize(out.size());
    size_t offset = 0;
    const auto take = [&](const TensorView& v) {
      const size_t at = offset;
      offset += (static_cast<size_t>(v.count) * sizeof(float) + kLine - 1) / kLine * kLine;
      return at;
    };
    for (int i = 0; i < ctx.inputs(); ++i) {
      const auto k = static_cast<size_t>(i);
      if (!ctx.has_in(i)) continue;
      in[k] = ctx.in(i);
      in_ptrs[k] = &in[k];
      if (!is_half(in[k].dtype)) continue;
      if (!inner_->reads_input(i)) {
        in[k].data = nullptr;
      } else if (in[k].data) {
        TRN_ASSIGN(state->constants[k], constants_.get(i, in[k]));
        in[k].data = state->constants[k].raw();
      } else {
        state->in_offset[k] = take(in[k]);
      }
      in[k].dtype = DType::f32;
    }
    for (int i = 0; i < ctx.outputs(); ++i) {
      const auto k = static_cast<size_t>(i);
      if (!ctx.has_out(i)) continue;
      out[k] = ctx.out(i);
      out_ptrs[k] = &out[k];
      if (!is_half(out[k].dtype)) continue;
      state->out_offset[k] = take(out[k]);
      out[k].dtype = DType::f32;
    }
    PrepareContext inner(in_ptrs, out_ptrs, ctx.threads());
    TRN_ASSIGN(state->inner, inner_->prepare(inner));
    state->inner_offset = offset;
    ctx.request_scratch(offset + inner.scratch_bytes());
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(KernelContext& ctx) const override {
    const State& state = *ctx.state<State>();
    SmallVector<TensorView, 8> in(static_cast<size_t>(ctx.inputs())), out(static_cast<size_t>(ctx.outputs()));
    SmallVector<const TensorView*, 8> in_ptrs(in.size());
    SmallVector<TensorView*, 8> out_ptrs(out.size());
    for (int i = 0; i < ctx.inputs(); ++i) {
      const auto k = static_cast<size_t>(i);
      if (!ctx.has_in(i)) continue;
      in[k] = ctx.in(i);
      in_ptrs[k] = &in[k];
      if (!is_half(in[k].dtype)) continue;
      if (!inner_->reads_input(i)) {
        in[k].data = nullptr;
      } else if (state.constants[k].valid()) {
        in[k].data = state.constants[k].raw();
      } else {
        auto* wide = reinterpret_cast<float*>(ctx.scratch() + state.in_offset[k]);
        widen(ctx, in[k], wide);
        in[k].data = wide;
      }
      in[k].dtype = DType::f32;
    }
    for (int i = 0; i < ctx.outputs(); ++i) {
      const auto k = static_cast<size_t>(i);
      if (!ctx.has_out(i)) continue;
      out[k] = ctx.out(i);
      out_ptrs[k] = &out[k];
      if (!is_half(out[k].dtype)) continue;
      out[k].data = ctx.scratch() + state.out_offset[k];
      out[k].dtype = DType::f32;
    }
    KernelContext inner = ctx;
    inner.in_ = in_ptrs.data();
    inner.out_ = out_ptrs.data();
    inner.state_ = state.inner.get();
    inner.scratch_ = ctx.scratch() + state.inner_offset;
    TRN_TRY(inner_->run(inner));
    for (int i = 0; i < ctx.outputs(); ++i) {
      const auto k = static_cast<size_t>(i);
      if (!ctx.has_out(i) || !is_half(ctx.out(i).dtype)) continue;
      TensorView& y = ctx.out(i);
      const float* wide = out[k].as<const float>();
      ctx.parallel_for(y.count, 1 << 16, [&](int64_t b, int64_t e) {
        kernels::convert(kernels::Elem::f32, elem(y.dtype))(wide + b, y.as<uint16_t>() + b, e - b, {});
      });
    }
    return {};
  }

  bool reads_input(int i) const override { return inner_->reads_input(i); }

 private:
  std::unique_ptr<Kernel> inner_;
  mutable WideConstants constants_;
};

}  // namespace

bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

std::unique_ptr<Kernel> adapt_half(std::unique_ptr<Kernel> inner) {
  return std::make_unique<HalfAdapter>(std::move(inner));
}

Result<Tensor> to_f32(const Tensor& t) {
  TRN_ASSIGN(Tensor out, Tensor::allocate(DType::f32, t.shape()));
  kernels::convert(elem(t.dtype()), kernels::Elem::f32)(t.raw(), out.raw(), t.count(), {});
  return out;
}

}  // namespace trunnion::ops
