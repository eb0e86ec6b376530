// FusedMatMul, TransposeMatMul and FusedMatMulActivation (com.microsoft 1): alpha * A' B', where the last two
// dimensions of an operand may be swapped (transA, transB) and its first dimension may stand behind the batch
// dimensions (transBatchA, transBatchB), with an activation.
#include <algorithm>

#include "kernels/gemm.h"
#include "kernels/gemm_plain.h"
#include "ops/contrib/fused_activation_detail.h"
#include "ops/shape.h"
#include "ops/tiles.h"
#include "ops/widen.h"

namespace trunnion::ops {
namespace {

struct Params {
  bool trans[2], trans_batch[2];  // of A and B
  float alpha;
  FusedActivation activation;
};

Result<Params> read(const ir::Node& n) {
  Params p;
  p.trans[0] = n.attr("transA", 0) != 0;
  p.trans[1] = n.attr("transB", 0) != 0;
  p.trans_batch[0] = n.attr("transBatchA", 0) != 0;
  p.trans_batch[1] = n.attr("transBatchB", 0) != 0;
  p.alpha = n.attr("alpha", 1.0f);
  TRN_ASSIGN(p.activation, read_named_activation(n));
  return p;
}

// Where the rows, columns and batch dimensions of an operand stand. A vector is one row (A) or one column (B), whatever
// the attributes say.
struct Layout {
  int row = -1, col = -1;  // -1: a vector's missing dimension
  int batch_begin = 0, batch_end = 0;
};
Layout layout(const Params& p, int operand, int rank) {
  if (rank == 1) return operand == 0 ? Layout{-1, 0, 0, 0} : Layout{0, -1, 0, 0};
  const bool first = p.trans_batch[operand] && rank > 2;
  Layout l{first ? 0 : rank - 2, rank - 1, first ? 1 : 0, first ? rank - 1 : rank - 2};
  if (p.trans[operand]) std::swap(l.row, l.col);
  return l;
}

template <class S>
S batch_dims(const Layout& l, const S& dims) {
  S out;
  for (int i = l.batch_begin; i < l.batch_end; ++i) out.push_back(dims[static_cast<size_t>(i)]);
  return out;
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_ASSIGN(const Params p, read(n));
  f.set(0, f.dtype(0));
  if (!f.has_rank(0) || !f.has_rank(1)) return {};
  const SymShape &a = f.in(0).shape(), &b = f.in(1).shape();
  if (a.empty() || b.empty())
    return invalid_argument("matrix product of shapes {} and {}: a scalar is not allowed", shape_text(a),
                            shape_text(b));
  const Layout la = layout(p, 0, f.in(0).rank()), lb = layout(p, 1, f.in(1).rank());
  const Dim &ka = a[static_cast<size_t>(la.col)], &kb = b[static_cast<size_t>(lb.row)];
  if (ka.is_int() && kb.is_int() && ka.value() != kb.value())
    return invalid_argument(
        "matrix product of shapes {} and {}: the inner dimensions are {} and {} (transA = {}, transB = {}, "
        "transBatchA = {}, transBatchB = {})",
        shape_text(a), shape_text(b), ka.value(), kb.value(), int{p.trans[0]}, int{p.trans[1]}, int{p.trans_batch[0]},
        int{p.trans_batch[1]});
  TRN_ASSIGN(SymShape y, broadcast_shapes(batch_dims(la, a), batch_dims(lb, b)));
  if (la.row >= 0) y.push_back(a[static_cast<size_t>(la.row)]);
  if (lb.col >= 0) y.push_back(b[static_cast<size_t>(lb.col)]);
  f.set(0, f.dtype(0), std::move(y));
  return {};
}

struct State final : KernelState {
  int64_t m = 0, n = 0, k = 0, batches = 1;
  int64_t a_row = 0, a_k = 1, b_k = 0, b_n = 1;  // strides
  std::vector<int64_t> a_offset, b_offset;       // by batch
  kernels::GemmGrid grid;
  bool pack_whole = false;
  size_t scratch_offset = 0, scratch_stride = 0;  // packed B, when packed whole, stands before
};

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Element offsets of an operand in every batch of the output.
std::vector<int64_t> offsets(const Layout& l, const TensorView& t, const Shape& strides, const Shape& batch) {
  std::vector<int64_t> out(static_cast<size_t>(product(batch)));
  const int missing = static_cast<int>(batch.size()) - (l.batch_end - l.batch_begin);
  for (size_t i = 0; i < out.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    for (int d = static_cast<int>(batch.size()); d-- > 0;) {
      const int64_t at = rest % batch[static_cast<size_t>(d)];
      rest /= batch[static_cast<size_t>(d)];
      const int from = d - missing + l.batch_begin;
      if (d >= missing && t.dim(from) != 1) out[i] += at * strides[static_cast<size_t>(from)];
    }
  }
  return out;
}

class TransposeMatMulCpu final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(Params p, read(n));
    std::unique_ptr<TransposeMatMulCpu> kernel(new TransposeMatMulCpu(p));
    const ir::Value& b = *n.input(1);
    if (b.is_constant() && b.constant().rank() == 2 && b.constant().count() > 0 && b.constant().dtype() != DType::f64) {
      Tensor w = b.constant();
      if (is_half(w.dtype())) {
        TRN_ASSIGN(w, to_f32(w));
      }
      const Layout l = layout(p, 1, 2);
      const int64_t strides[] = {w.shape()[1], 1};
      const int64_t k = w.shape()[static_cast<size_t>(l.row)], cols = w.shape()[static_cast<size_t>(l.col)];
      const int64_t size[] = {kernels::gemm_packed_b_size(k, cols)};
      TRN_ASSIGN(kernel->packed_, Tensor::allocate(DType::f32, size));
      kernels::gemm_pack_b(w.data<float>(), strides[l.row], strides[l.col], k, cols, 0, kernels::gemm_panel_count(cols),
                           kernel->packed_.data<float>());
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Result<std::unique_ptr<KernelState>> prepare(PrepareContext& ctx) const override {
    auto s = std::make_unique<State>();
    const TensorView &a = ctx.in(0), &b = ctx.in(1);
    const Layout la = layout(p_, 0, a.rank), lb = layout(p_, 1, b.rank);
    const Shape a_strides = row_major_strides(a.shape()), b_strides = row_major_strides(b.shape());
    const auto at = [](const Shape& v, int i) { return i < 0 ? int64_t{0} : v[static_cast<size_t>(i)]; };
    s->m = la.row < 0 ? 1 : a.dim(la.row);
    s->k = a.dim(la.col);
    s->n = lb.col < 0 ? 1 : b.dim(lb.col);
    s->a_row = at(a_strides, la.row);
    s->a_k = at(a_strides, la.col);
    s->b_k = at(b_strides, lb.row);
    s->b_n = at(b_strides, lb.col);
    const Shape a_batch = batch_dims(la, Shape(a.shape())), b_batch = batch_dims(lb, Shape(b.shape()));
    TRN_ASSIGN(const Shape batch, broadcast_shapes(a_batch, b_batch));
    s->batches = product(batch);
    if (ctx.out(0).count == 0) return std::unique_ptr<KernelState>(std::move(s));
    // One B for all batches and A row-major: the batch is only more rows.
    if (s->batches > 1 && product(b_batch) == 1 && !p_.trans[0] && !p_.trans_batch[0]) {
      s->m *= s->batches;
      s->batches = 1;
      s->a_offset = s->b_offset = {0};
    } else {
      s->a_offset = offsets(la, a, a_strides, batch);
      s->b_offset = offsets(lb, b, b_strides, batch);
    }
    if (a.dtype == DType::f64) return std::unique_ptr<KernelState>(std::move(s));
    const int per_batch = static_cast<int>(std::max<int64_t>(1, (ctx.threads() + s->batches - 1) / s->batches));
    s->grid = kernels::gemm_grid(s->m, s->n, s->k, per_batch);
    s->pack_whole = !packed_.valid() && s->batches == 1 && s->grid.row_tiles > 1;
    if (s->pack_whole)
      s->scratch_offset = aligned(static_cast<size_t>(kernels::gemm_packed_b_size(s->k, s->n)) * sizeof(float));
    s->scratch_stride = aligned(kernels::gemm_scratch_size(s->n, s->k));
    ctx.request_scratch(s->scratch_offset + s->scratch_stride * static_cast<size_t>(tile_slots(
                                                                    s->batches * s->grid.count(), ctx.threads())));
    return std::unique_ptr<KernelState>(std::move(s));
  }

  Status run(KernelContext& ctx) const override {
    const State& s = *ctx.state<State>();
    const TensorView& y = ctx.out(0);
    if (y.count == 0) return {};
    if (y.dtype == DType::f64) {
      wide(ctx, s);
      return apply_activation(ctx, p_.activation, y);
    }
    kernels::GemmArgs base;
    base.m = s.m;
    base.n = s.n;
    base.k = s.k;
    base.a_row_stride = s.a_row;
    base.a_k_stride = s.a_k;
    base.b_k_stride = s.b_k;
    base.b_n_stride = s.b_n;
    base.ldc = s.n;
    base.packed_b = packed_.data<float>();
    base.epilogue.alpha = p_.alpha;
    const bool done = p_.activation.into(base.epilogue);
    const float *a = ctx.in(0).as<float>(), *b = ctx.in(1).as<float>();
    if (s.pack_whole) {
      auto* packed = reinterpret_cast<float*>(ctx.scratch());
      const int64_t grain =
          std::max<int64_t>(1, (int64_t{64} << 10) / std::max<int64_t>(1, s.k * kernels::gemm_panel_width()));
      ctx.parallel_for(kernels::gemm_panel_count(s.n), grain, [&](int64_t begin, int64_t end) {
        kernels::gemm_pack_b(b, s.b_k, s.b_n, s.k, s.n, begin, end, packed);
      });
      base.packed_b = packed;
    }
    const int64_t tiles = s.grid.count();
    for_each_tile(ctx, s.batches * tiles, ctx.scratch() + s.scratch_offset, s.scratch_stride,
                  [&](int64_t i, std::byte* own) {
                    const int64_t batch = i / tiles;
                    kernels::GemmArgs args = base;
                    args.a = a + s.a_offset[static_cast<size_t>(batch)];
                    args.b = b ? b + s.b_offset[static_cast<size_t>(batch)] : nullptr;
                    args.c = y.as<float>() + batch * s.m * s.n;
                    kernels::gemm_tile(args, s.grid, i % tiles, own);
                  });
    return done ? Status{} : apply_activation(ctx, p_.activation, y);
  }

  bool reads_input(int i) const override { return i != 1 || !packed_.valid(); }

 private:
  explicit TransposeMatMulCpu(Params p) : p_(p) {}

  void wide(KernelContext& ctx, const State& s) const {
    const int64_t grain = std::max<int64_t>(1, 100'000 / std::max<int64_t>(1, s.n * s.k));
    ctx.parallel_for(s.batches * s.m, grain, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t batch = begin / s.m, row = begin % s.m, rows = std::min(end - begin, s.m - row);
        kernels::PlainGemmArgs<double> g;
        g.m = s.m;
        g.n = s.n;
        g.k = s.k;
        g.a = ctx.in(0).as<double>() + s.a_offset[static_cast<size_t>(batch)];
        g.a_row_stride = s.a_row;
        g.a_k_stride = s.a_k;
        g.b = ctx.in(1).as<double>() + s.b_offset[static_cast<size_t>(batch)];
        g.b_k_stride = s.b_k;
        g.b_n_stride = s.b_n;
        g.c = ctx.out(0).as<double>() + batch * s.m * s.n;
        g.ldc = s.n;
        g.alpha = static_cast<double>(p_.alpha);
        kernels::plain_gemm_tile(g, row, row + rows, 0, s.n);
        begin += rows;
      }
    });
  }

  Params p_;
  Tensor packed_;  // of a constant rank-2 B
};

constexpr CpuKernel kKernel = cpu_widened<TransposeMatMulCpu>(kFloats);
constexpr OpDef kDefs[] = {
    {"FusedMatMul",
     infer,
     kKernel,
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::FusedMatMul 1 (A:T, B:T) -> (Y:T) {alpha:f=1, transA:i=0, transB:i=0, transBatchA:i=0, "
     "transBatchB:i=0} T=float|bf16"},
    {"TransposeMatMul",
     infer,
     kKernel,
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::TransposeMatMul 1 (A:T, B:T) -> (Y:T) {alpha:f=1, transA:i=0, transB:i=0} T=float|bf16"},
    {"FusedMatMulActivation",
     infer,
     kKernel,
     {.reviewed = 1},
     "com.microsoft",
     "com.microsoft::FusedMatMulActivation 1 (A:T, B:T) -> (Y:T) {activation!:s, activation_alpha:f, "
     "activation_axis:i, activation_beta:f, activation_gamma:f, alpha:f=1, transA:i=0, transB:i=0, transBatchA:i=0, "
     "transBatchB:i=0} T=float|bf16"},
};

}  // namespace

TRUNNION_OPS(transpose_mat_mul, kDefs);

}  // namespace trunnion::ops
