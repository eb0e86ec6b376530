// MatMulNBits (com.microsoft 1): product with a matrix of 2-, 4- or 8-bit weights, quantized in blocks along K.
// Constant weights stay codes, in panels; with g_idx (deprecated) they are unpacked to f32. With accuracy_level 4 the
// rows of A are quantized to 8 bits, block by block, and sums of a block are integers (as ONNX Runtime: not for all
// blocks of 2 bits, and not with zero points that are floats); else all sums are f32.
#include "ops/contrib/bits_matmul_detail.h"
#include "ops/contrib/unpacked_matmul_detail.h"
#include "ops/half_adapter.h"
#include "ops/shape.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

enum Input { kA, kB, kScales, kZeros, kGroups, kBias };

struct Params {
  int64_t k = 0, n = 0, bits = 4, block = 0, accuracy = 0;
  // As ONNX Runtime, which keeps to f32 for some blocks of 2-bit codes.
  bool allows_int8() const { return accuracy == 4 && (bits != 2 || (block >= 32 && block <= 128)); }
  int64_t blocks() const { return (k + block - 1) / block; }
  int64_t blob() const { return block * bits / 8; }
  int64_t zero_bytes() const { return (blocks() * bits + 7) / 8; }  // of one column
};

Result<Params> read(const ir::Node& n) {
  const Params p{n.attr("K", 0), n.attr("N", 0), n.attr("bits", 4), n.attr("block_size", 0),
                 n.attr("accuracy_level", 0)};
  if (p.k < 0 || p.n < 0 || p.k > INT32_MAX || p.n > INT32_MAX)
    return invalid_argument("attributes K and N are {} and {}", p.k, p.n);
  if (p.block < 16 || p.block > 65536 || (p.block & (p.block - 1)) != 0)
    return invalid_argument("attribute block_size is {}, it must be a power of two and at least 16", p.block);
  if (p.bits != 2 && p.bits != 4 && p.bits != 8)
    return not_implemented("attribute bits is {}; 2, 4 and 8 are supported", p.bits);
  if (n.attr("weight_prepacked", 0) != 0)
    return not_implemented("attribute weight_prepacked is {}: that layout is a GPU's", n.attr("weight_prepacked", 0));
  return p;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  f.set(0, f.dtype(kA));
  const auto expect = [&](int input, int64_t want, const char* what) -> Status {
    if (!f.has_rank(input)) return {};
    const auto dims = f.in(input).concrete();
    if (!dims || product(*dims) == want) return {};
    return invalid_argument("input {} ({}) has shape {}, it must have {} elements", input, what, shape_text(*dims),
                            want);
  };
  const auto b = f.has_rank(kB) ? f.in(kB).concrete() : std::nullopt;
  if (!b || product(*b) != 0) {
    TRN_TRY(expect(kB, p.n * p.blocks() * p.blob(), "B"));
    TRN_TRY(expect(kScales, p.n * p.blocks(), "scales"));
    TRN_TRY(expect(kZeros, p.n * (f.dtype(kZeros) == DType::u8 ? p.zero_bytes() : p.blocks()), "zero_points"));
    if (f.has_rank(kGroups) &&
        !(f.in(kGroups).concrete() && product(*f.in(kGroups).concrete()) == p.blocks() * p.block))
      TRN_TRY(expect(kGroups, p.k, "g_idx"));
  }
  TRN_TRY(expect(kBias, p.n, "bias"));
  if (!f.has_rank(kA)) return {};
  SymShape y = f.in(kA).shape();
  if (y.empty()) return invalid_argument("input 0 is a scalar");
  if (y.back().is_int() && y.back().value() != p.k)
    return invalid_argument("input 0 has shape {}, its last dimension must be K = {}", shape_text(y), p.k);
  y.back() = p.n;
  f.set(0, f.dtype(kA), std::move(y));
  return {};
}

// A column of the weights with every k in a block of its own choice: K floats.
Status unpack_column(const BitsWeights& w, const int32_t* groups, int64_t n, float* to) {
  const int64_t blocks = w.blocks();
  const uint8_t* codes = w.codes + n * blocks * w.blob();
  for (int64_t i = 0; i < w.k; ++i) {
    const int64_t g = groups ? groups[i] : i / w.block;
    if (g < 0 || g >= blocks) return invalid_argument("g_idx[{}] is {}, there are {} blocks", i, g, blocks);
    to[i] = (static_cast<float>(code_at(codes, i, w.bits)) - w.zero(n, g)) * w.scales[n * blocks + g];
  }
  return {};
}

struct State final : KernelState {
  UnpackedMatMul::State unpacked;
  BitsMatMul::State bits;
};

class MatMulNBitsCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const Params p, read(n));
    std::unique_ptr<MatMulNBitsCpu> kernel(new MatMulNBitsCpu(p));
    for (int i : {kB, kScales, kZeros, kGroups})
      if (n.input(i) && !n.input(i)->is_constant()) return std::unique_ptr<Kernel>(std::move(kernel));
    const Tensor& b = n.input(kB)->constant();
    if (b.count() != p.n * p.blocks() * p.blob() || b.count() == 0) return std::unique_ptr<Kernel>(std::move(kernel));
    TRN_TRY(kernel->pack(n));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto state = std::make_unique<State>();
    const int64_t m = product(ctx.in(kA).shape(), 0, ctx.in(kA).rank - 1);
    if (bits_.valid()) {
      ctx.request_scratch(bits_.prepare(m, ctx.threads(), 0, state->bits));
    } else {
      TRN_ASSIGN(const size_t bytes, unpacked_.prepare(m, ctx.threads(), 0, state->unpacked));
      ctx.request_scratch(bytes);
    }
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const TensorView &a = ctx.in(kA), &y = ctx.out(0);
    const float* bias = ctx.has_in(kBias) ? ctx.in(kBias).as<float>() : nullptr;
    if (y.count == 0) return {};
    if (bits_.valid()) {
      bits_.run(ctx, s.bits, a.as<float>(), bias, y.as<float>());
      return {};
    }
    BitsWeights w = weights();
    const int32_t* groups = nullptr;
    const bool any = ctx.in(kB).count != 0;  // no weights: zeros, or the bias
    if (!unpacked_.packed() && any) {
      w.codes = ctx.in(kB).as<const uint8_t>();
      w.scales = ctx.in(kScales).as<const float>();
      if (ctx.has_in(kZeros)) {
        if (ctx.in(kZeros).dtype == DType::u8)
          w.packed_zeros = ctx.in(kZeros).as<const uint8_t>();
        else
          w.zeros = ctx.in(kZeros).as<const float>();
      }
      if (ctx.has_in(kGroups)) groups = ctx.in(kGroups).as<const int32_t>();
    }
    return unpacked_.run(
        ctx, s.unpacked, a.as<float>(), bias, any,
        [&](int64_t n, float* to) { return unpack_column(w, groups, n, to); }, y.as<float>());
  }

  bool reads_input(int i) const override { return i == kA || i == kBias || (!bits_.valid() && !unpacked_.packed()); }

 private:
  explicit MatMulNBitsCpu(Params p) : p_(p), unpacked_(p.k, p.n) {}

  BitsWeights weights() const {
    BitsWeights w;
    w.k = p_.k;
    w.n = p_.n;
    w.bits = p_.bits;
    w.block = p_.block;
    return w;
  }

  Status pack(const ir::Node& n) {
    Tensor scales = n.input(kScales)->constant(), zeros;
    if (is_half(scales.dtype())) {
      TRN_ASSIGN(scales, to_f32(scales));
    }
    if (n.input(kZeros)) zeros = n.input(kZeros)->constant();
    if (is_half(zeros.dtype())) {
      TRN_ASSIGN(zeros, to_f32(zeros));
    }
    BitsWeights w = weights();
    w.codes = n.input(kB)->constant().data<uint8_t>();
    w.scales = scales.data<float>();
    if (zeros.dtype() == DType::u8)
      w.packed_zeros = zeros.data<uint8_t>();
    else if (zeros.valid())
      w.zeros = zeros.data<float>();
    const int32_t* groups = n.input(kGroups) ? n.input(kGroups)->constant().data<int32_t>() : nullptr;
    const int64_t expected_zeros = p_.n * (w.packed_zeros ? p_.zero_bytes() : p_.blocks());
    if (scales.count() != p_.n * p_.blocks() || (zeros.valid() && zeros.count() != expected_zeros) ||
        (groups && n.input(kGroups)->constant().count() < p_.k))
      return invalid_argument(
          "scales, zero_points and g_idx have {}, {} and {} elements for N = {} columns of {} blocks", scales.count(),
          zeros.count(), groups ? n.input(kGroups)->constant().count() : 0, p_.n, p_.blocks());
    // Groups that are the blocks say nothing.
    bool plain = true;
    for (int64_t i = 0; groups && plain && i < p_.k; ++i) plain = groups[i] == i / p_.block;
    if (plain) return bits_.pack(w, p_.allows_int8());
    return unpacked_.pack([&](int64_t column, float* to) { return unpack_column(w, groups, column, to); });
  }

  Params p_;
  BitsMatMul bits_;          // constant weights
  UnpackedMatMul unpacked_;  // all others
};

constexpr OpDef kDefs[] = {
    {"MatMulNBits",
     infer,
     cpu_widened<MatMulNBitsCpu>(DType::f32 | DType::f16 | DType::bf16),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::MatMulNBits 1 (A:T1, B:T2, scales:T1, zero_points?:T3, g_idx?:T4, bias?:T1) -> (Y:T1) {K!:i, "
     "N!:i, accuracy_level:i=0, bits:i=4, "
     "block_size!:i, weight_prepacked:i=0} T1=f32|f16|bf16 T2=u8 T3=u8|f16|f32|bf16 T4=i32"},
};

}  // namespace

TRUNNION_OPS(mat_mul_n_bits, kDefs);

}  // namespace trunnion::ops
