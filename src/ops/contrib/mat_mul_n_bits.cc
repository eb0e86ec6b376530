// MatMulNBits (com.microsoft 1): product with a matrix of 2-, 4- or 8-bit weights, quantized in blocks along K.
// Constant weights are turned into packed f32 panels when the kernel is made.
#include "kernels/convert.h"
#include "kernels/gemm.h"
#include "ops/dispatch.h"
#include "ops/half_adapter.h"
#include "ops/shape.h"
#include "ops/tiles.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

enum Input { kA, kB, kScales, kZeros, kGroups, kBias };

struct Params {
  int64_t k = 0, n = 0, bits = 4, block = 0;
  int64_t blocks() const { return (k + block - 1) / block; }
  int64_t blob() const { return block * bits / 8; }
  int64_t zero_bytes() const { return (blocks() * bits + 7) / 8; }  // of one column
};

Result<Params> read(const ir::Node& n) {
  const Params p{n.attr("K", 0), n.attr("N", 0), n.attr("bits", 4), n.attr("block_size", 0)};
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

// The weights' tensors as a kernel sees them; scales and float zero points are f32.
struct Weights {
  const uint8_t* codes = nullptr;
  const float* scales = nullptr;
  const uint8_t* packed_zeros = nullptr;
  const float* zeros = nullptr;
  const int32_t* groups = nullptr;
};

unsigned code_at(const uint8_t* p, int64_t i, int64_t bits) {
  return bits == 8 ? p[i] : bits == 4 ? p[i / 2] >> (i % 2 * 4) & 15u : p[i / 4] >> (i % 4 * 2) & 3u;
}

// Column n of the weights: K floats.
Status unpack_column(const Params& p, const Weights& w, int64_t n, float* to) {
  const int64_t blocks = p.blocks();
  const auto zero_of = [&](int64_t block) {
    if (w.packed_zeros) return static_cast<float>(code_at(w.packed_zeros + n * p.zero_bytes(), block, p.bits));
    return w.zeros ? w.zeros[n * blocks + block] : static_cast<float>(1 << (p.bits - 1));
  };
  for (int64_t block = 0; block < blocks; ++block) {
    const uint8_t* codes = w.codes + (n * blocks + block) * p.blob();
    const int64_t begin = block * p.block, count = std::min(p.block, p.k - begin);
    if (w.groups) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t g = w.groups[begin + i];
        if (g < 0 || g >= blocks) return invalid_argument("g_idx[{}] is {}, there are {} blocks", begin + i, g, blocks);
        to[begin + i] = (static_cast<float>(code_at(codes, i, p.bits)) - zero_of(g)) * w.scales[n * blocks + g];
      }
      continue;
    }
    const float scale = w.scales[n * blocks + block], zero = zero_of(block);
    float value[256];  // of every code
    const int values = 1 << p.bits;
    if (p.bits < 8) {
      for (int v = 0; v < values; ++v) value[v] = (static_cast<float>(v) - zero) * scale;
      for (int64_t i = 0; i < count; ++i) to[begin + i] = value[code_at(codes, i, p.bits)];
    } else {
      for (int64_t i = 0; i < count; ++i) to[begin + i] = (static_cast<float>(codes[i]) - zero) * scale;
    }
  }
  return {};
}

struct State final : KernelState {
  int64_t m = 0;
  kernels::GemmGrid grid;
  size_t columns_offset = 0, scratch_offset = 0, scratch_stride = 0;
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
    state->m = product(ctx.in(kA).shape(), 0, ctx.in(kA).rank - 1);
    state->grid = kernels::gemm_grid(state->m, p_.n, p_.k, ctx.threads());
    if (!packed_.valid()) state->scratch_offset = (static_cast<size_t>(p_.n * p_.k) * sizeof(float) + 63) / 64 * 64;
    state->scratch_stride = (kernels::gemm_scratch_size(p_.n, p_.k) + 63) / 64 * 64;
    ctx.request_scratch(state->scratch_offset +
                        state->scratch_stride * static_cast<size_t>(tile_slots(state->grid.count(), ctx.threads())));
    return std::unique_ptr<KernelState>(std::move(state));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const TensorView &a = ctx.in(kA), &y = ctx.out(0);
    const float* bias = ctx.has_in(kBias) ? ctx.in(kBias).as<float>() : nullptr;
    if (y.count == 0) return {};
    kernels::GemmArgs args;
    args.m = s.m;
    args.n = p_.n;
    args.k = ctx.in(kB).count == 0 ? 0 : p_.k;  // no weights: zeros, or the bias
    args.a = a.as<float>();
    args.a_row_stride = p_.k;
    args.c = y.as<float>();
    args.ldc = p_.n;
    args.epilogue.bias_col = bias;
    args.packed_b = packed_.data<float>();
    if (!packed_.valid()) {
      auto* columns = reinterpret_cast<float*>(ctx.scratch() + s.columns_offset);
      if (args.k != 0) TRN_TRY(unpack_inputs(ctx, columns));
      args.b = columns;
      args.b_k_stride = 1;
      args.b_n_stride = p_.k;
    }
    for_each_tile(ctx, s.grid.count(), ctx.scratch() + s.scratch_offset, s.scratch_stride,
                  [&](int64_t i, std::byte* own) { kernels::gemm_tile(args, s.grid, i, own); });
    return {};
  }

 private:
  explicit MatMulNBitsCpu(Params p) : p_(p) {}

  Status pack(const ir::Node& n) {
    Tensor scales = n.input(kScales)->constant(), zeros;
    if (is_half(scales.dtype())) {
      TRN_ASSIGN(scales, to_f32(scales));
    }
    if (n.input(kZeros)) zeros = n.input(kZeros)->constant();
    if (is_half(zeros.dtype())) {
      TRN_ASSIGN(zeros, to_f32(zeros));
    }
    Weights w;
    w.codes = n.input(kB)->constant().data<uint8_t>();
    w.scales = scales.data<float>();
    if (zeros.dtype() == DType::u8)
      w.packed_zeros = zeros.data<uint8_t>();
    else
      w.zeros = zeros.data<float>();
    if (n.input(kGroups)) w.groups = n.input(kGroups)->constant().data<int32_t>();
    const int64_t expected_zeros = p_.n * (w.packed_zeros ? p_.zero_bytes() : p_.blocks());
    if (scales.count() != p_.n * p_.blocks() || (zeros.valid() && zeros.count() != expected_zeros) ||
        (w.groups && n.input(kGroups)->constant().count() < p_.k))
      return invalid_argument(
          "scales, zero_points and g_idx have {}, {} and {} elements for N = {} columns of {} blocks", scales.count(),
          zeros.count(), w.groups ? n.input(kGroups)->constant().count() : 0, p_.n, p_.blocks());
    const int64_t width = kernels::gemm_panel_width(), panels = kernels::gemm_panel_count(p_.n);
    const int64_t size[] = {kernels::gemm_packed_b_size(p_.k, p_.n)};
    TRN_ASSIGN(packed_, Tensor::allocate(DType::f32, size));
    // A panel at a time, each at the place that it has among all columns.
    std::vector<float> columns(static_cast<size_t>(width * p_.k));
    for (int64_t panel = 0; panel < panels; ++panel) {
      const int64_t begin = panel * width, count = std::min(width, p_.n - begin);
      for (int64_t i = 0; i < count; ++i) TRN_TRY(unpack_column(p_, w, begin + i, columns.data() + i * p_.k));
      const auto* first = reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(columns.data()) -
                                                         static_cast<uintptr_t>(begin * p_.k) * sizeof(float));
      kernels::gemm_pack_b(first, 1, p_.k, p_.k, p_.n, panel, panel + 1, packed_.data<float>());
    }
    return {};
  }

  Status unpack_inputs(KernelContext& ctx, float* to) const {
    Weights w;
    w.codes = ctx.in(kB).as<const uint8_t>();
    w.scales = ctx.in(kScales).as<const float>();
    if (ctx.has_in(kZeros)) {
      if (ctx.in(kZeros).dtype == DType::u8)
        w.packed_zeros = ctx.in(kZeros).as<const uint8_t>();
      else
        w.zeros = ctx.in(kZeros).as<const float>();
    }
    if (ctx.has_in(kGroups)) w.groups = ctx.in(kGroups).as<const int32_t>();
    for (int64_t n = 0; n < p_.n; ++n) TRN_TRY(unpack_column(p_, w, n, to + n * p_.k));
    return {};
  }

  Params p_;
  Tensor packed_;  // invalid when the weights are not constant
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
