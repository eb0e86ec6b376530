// MatMulFpQ4 (com.microsoft 1): product with a matrix in one blob of 4-bit blocks of 32 weights: scale (f32), zero
// point (a byte, blk_quant_type 1 only) and 16 bytes of codes for each. B_shape gives [K, N].
#include <cstring>

#include "ops/contrib/unpacked_matmul_detail.h"
#include "ops/math/matmul_detail.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

enum Input { kA, kB, kShape };
constexpr int64_t kBlock = 32;

int64_t blob_bytes(bool has_zero) { return 4 + (has_zero ? 1 : 0) + kBlock / 2; }
bool has_zero(const ir::Node& n) { return n.attr("blk_quant_type", 1) != 0; }

// K and N, and that the blob has them.
Result<Shape> matrix_shape(std::span<const int64_t> dims, int64_t bytes, bool zero) {
  if (dims.size() != 2 || dims[0] < 0 || dims[1] < 0 || dims[0] > INT32_MAX || dims[1] > INT32_MAX)
    return invalid_argument("input 2 (shape of B) is {}, two dimensions are needed", shape_text(dims));
  const int64_t want = dims[1] * ((dims[0] + kBlock - 1) / kBlock) * blob_bytes(zero);
  if (bytes >= 0 && bytes != want)
    return invalid_argument("input 1 has {} bytes, a matrix of shape {} takes {}", bytes, shape_text(dims), want);
  return Shape(dims);
}

Status infer(const ir::Node& n, ir::Facts& f) {
  f.set(0, f.dtype(kA));
  TRN_TRY(expect_rank(f, kB, 1));
  const auto dims = f.dims(kShape);
  if (!f.has_rank(kA) || !dims) return {};
  if (const auto ints = f.ints(kShape)) {
    const Dim bytes = f.has_rank(kB) ? f.in(kB).dim(0) : Dim();
    TRN_TRY(matrix_shape(*ints, bytes.is_int() ? bytes.value() : -1, has_zero(n)));
  }
  if (dims->size() != 2) return invalid_argument("input 2 (shape of B) has {} entries, needs 2", dims->size());
  SymShape y = f.in(kA).shape();
  if (y.empty()) return invalid_argument("input 0 is a scalar");
  if (y.back().is_int() && (*dims)[0].is_int() && y.back().value() != (*dims)[0].value())
    return invalid_argument("input 0 has shape {}, its last dimension must be K = {}", shape_text(y),
                            (*dims)[0].value());
  y.back() = (*dims)[1];
  f.set(0, f.dtype(kA), std::move(y));
  return {};
}

// Column n of K weights. Code l of a block is the low half of byte l, code l + 16 the high half.
void column(const uint8_t* blob, bool zero, int64_t k, int64_t n, float* to) {
  const uint8_t* p = blob + n * ((k + kBlock - 1) / kBlock) * blob_bytes(zero);
  for (int64_t begin = 0; begin < k; begin += kBlock, p += blob_bytes(zero)) {
    float scale;
    std::memcpy(&scale, p, sizeof scale);
    const int z = zero ? p[4] : 8;
    const uint8_t* codes = p + (zero ? 5 : 4);
    for (int64_t i = 0; i < std::min(kBlock, k - begin); ++i) {
      const int code = i < kBlock / 2 ? codes[i] & 15 : codes[i - kBlock / 2] >> 4;
      to[begin + i] = static_cast<float>(code - z) * scale;
    }
  }
}

struct State final : KernelState {
  UnpackedMatMul::State product;
};

class MatMulFpQ4Cpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    if (!n.input(kB)->is_constant() || !n.input(kShape)->is_constant())
      return not_implemented("B and its shape must be constants");
    const Tensor &b = n.input(kB)->constant(), &shape = n.input(kShape)->constant();
    TRN_ASSIGN(const Shape dims, matrix_shape(shape.span<int64_t>(), b.count(), has_zero(n)));
    std::unique_ptr<MatMulFpQ4Cpu> kernel(new MatMulFpQ4Cpu(dims[0], dims[1]));
    TRN_TRY(kernel->product_.pack([&](int64_t i, float* to) {
      column(b.data<uint8_t>(), has_zero(n), dims[0], i, to);
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
        [](int64_t, float*) { return Status(); }, ctx.out(0).as<float>());
  }

  bool reads_input(int i) const override { return i != kB; }  // infer wants the shape

 private:
  MatMulFpQ4Cpu(int64_t k, int64_t n) : product_(k, n) {}
  UnpackedMatMul product_;
};

constexpr OpDef kDefs[] = {
    {"MatMulFpQ4",
     infer,
     cpu<MatMulFpQ4Cpu>(kF32),
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::MatMulFpQ4 1 (A:T1, B:T2, B_shape:T3) -> (Y:T1) {blk_quant_type:i=1} T1=f32 T2=u8 T3=i64"},
};

}  // namespace

TRUNNION_OPS(mat_mul_fp_q4, kDefs);

}  // namespace trunnion::ops
