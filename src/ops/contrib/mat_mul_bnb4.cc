// MatMulBnb4 (com.microsoft 1): product with a matrix of 4-bit float codes (FP4 or NF4), each block scaled by its
// largest magnitude.
#include "ops/contrib/unpacked_matmul_detail.h"
#include "ops/half_adapter.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

enum Input { kA, kB, kAbsmax };

// The value of each code; FP4: sign, then 3 bits.
constexpr float kFp4[16] = {0.0f,  5.208333333e-03f,  0.66666667f,  1.0f,  0.33333333f,  0.5f,  0.16666667f,  0.25f,
                            -0.0f, -5.208333333e-03f, -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f};
// NF4: quantiles of the normal distribution.
constexpr float kNf4[16] = {-1.0f,
                            -0.6961928009986877f,
                            -0.5250730514526367f,
                            -0.39491748809814453f,
                            -0.28444138169288635f,
                            -0.18477343022823334f,
                            -0.09105003625154495f,
                            0.0f,
                            0.07958029955625534f,
                            0.16093020141124725f,
                            0.24611230194568634f,
                            0.33791524171829224f,
                            0.44070982933044434f,
                            0.5626170039176941f,
                            0.7229568362236023f,
                            1.0f};

struct Params {
  int64_t k = 0, n = 0, block = 0;
  bool nf4 = false;
  int64_t count() const { return k * n; }
};

Result<Params> read(const ir::Node& n) {
  const Params p{n.attr("K", 0), n.attr("N", 0), n.attr("block_size", 0), n.attr("quant_type", 0) == 1};
  if (p.k < 0 || p.n < 0 || p.k > INT32_MAX || p.n > INT32_MAX)
    return invalid_argument("attributes K and N are {} and {}", p.k, p.n);
  if (p.block < 16 || p.block > 65536 || (p.block & (p.block - 1)) != 0)
    return invalid_argument("attribute block_size is {}, it must be a power of two and at least 16", p.block);
  if (const int64_t type = n.attr("quant_type", 0); type != 0 && type != 1)
    return invalid_argument("attribute quant_type is {}: 0 (FP4) and 1 (NF4) exist", type);
  if (n.attr("transB", 1) == 0) return not_implemented("attribute transB is 0");
  return p;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  f.set(0, f.dtype(kA));
  const auto expect = [&](int input, int64_t want) -> Status {
    const auto dims = f.has_rank(input) ? f.in(input).concrete() : std::nullopt;
    if (!dims || product(*dims) == want) return {};
    return invalid_argument("input {} has shape {}, it must have {} elements", input, shape_text(*dims), want);
  };
  TRN_TRY(expect(kB, (p.count() + 1) / 2));
  TRN_TRY(expect(kAbsmax, (p.count() + p.block - 1) / p.block));
  if (!f.has_rank(kA)) return {};
  SymShape y = f.in(kA).shape();
  if (y.empty()) return invalid_argument("input 0 is a scalar");
  if (y.back().is_int() && y.back().value() != p.k)
    return invalid_argument("input 0 has shape {}, its last dimension must be K = {}", shape_text(y), p.k);
  y.back() = p.n;
  f.set(0, f.dtype(kA), std::move(y));
  return {};
}

struct State final : KernelState {
  UnpackedMatMul::State product;
};

class MatMulBnb4Cpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const Params p, read(n));
    std::unique_ptr<MatMulBnb4Cpu> kernel(new MatMulBnb4Cpu(p));
    if (!n.input(kB)->is_constant() || !n.input(kAbsmax)->is_constant() || p.count() == 0)
      return std::unique_ptr<Kernel>(std::move(kernel));
    const Tensor& b = n.input(kB)->constant();
    Tensor absmax = n.input(kAbsmax)->constant();
    if (b.count() != (p.count() + 1) / 2 || absmax.count() != (p.count() + p.block - 1) / p.block)
      return invalid_argument("B and absmax have {} and {} elements for {} weights in blocks of {}", b.count(),
                              absmax.count(), p.count(), p.block);
    if (is_half(absmax.dtype())) {
      TRN_ASSIGN(absmax, to_f32(absmax));
    }
    TRN_TRY(kernel->product_.pack([&](int64_t n, float* to) {
      kernel->column(b.data<uint8_t>(), absmax.data<float>(), n, to);
      return Status();
    }));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto state = std::make_unique<State>();
    TRN_ASSIGN(const size_t bytes,
               product_.prepare(product(ctx.in(kA).shape(), 0, ctx.in(kA).rank - 1), ctx.threads(), 0, state->product));
    ctx.request_scratch(bytes);
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(KernelContext& ctx) const override {
    return product_.run(
        ctx, ctx.state<State>()->product, ctx.in(kA).as<float>(), nullptr, true,
        [&](int64_t n, float* to) {
          column(ctx.in(kB).as<const uint8_t>(), ctx.in(kAbsmax).as<const float>(), n, to);
          return Status();
        },
        ctx.out(0).as<float>());
  }

  bool reads_input(int i) const override { return i == kA || !product_.packed(); }

 private:
  explicit MatMulBnb4Cpu(Params p) : p_(p), product_(p.k, p.n) {}

  // Weights lie column by column; the first of two codes in a byte is in its high half, and blocks do not stop at
  // columns.
  void column(const uint8_t* codes, const float* absmax, int64_t n, float* to) const {
    const float* value = p_.nf4 ? kNf4 : kFp4;
    for (int64_t i = n * p_.k, end = i + p_.k; i < end; ++i)
      *to++ = value[codes[i / 2] >> (i % 2 ? 0 : 4) & 15] * absmax[i / p_.block];
  }

  Params p_;
  UnpackedMatMul product_;
};

constexpr OpDef kDefs[] = {
    {"MatMulBnb4",
     infer,
     cpu_widened<MatMulBnb4Cpu>(DType::f32 | DType::f16 | DType::bf16),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::MatMulBnb4 1 (A:T1, B:T2, absmax:T1) -> (Y:T1) {K!:i, N!:i, block_size!:i, quant_type!:i, "
     "training_mode:i=0, transB:i=1} T1=f32|f16|bf16 T2=u8"},
};

}  // namespace

TRUNNION_OPS(mat_mul_bnb4, kDefs);

}  // namespace trunnion::ops
