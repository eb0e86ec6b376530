#include "ops/quant/int8_matmul_detail.h"

#include "kernels/convert.h"
#include "ops/dispatch.h"
#include "ops/packing.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

constexpr size_t kLine = 64;
constexpr int64_t kTileSums = 64 << 10;
size_t aligned(size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

Shape leading(std::span<const int64_t> dims) {
  return dims.size() <= 2 ? Shape{} : Shape(dims.begin(), dims.end() - 2);
}

}  // namespace

int64_t MatrixTerms::source(int64_t i) const {
  if (dims.empty()) return 0;
  int64_t at = i % count, step = count, rest = i / count;
  const int have = std::max(0, static_cast<int>(dims.size()) - 2);
  for (int d = static_cast<int>(batch_dims.size()) - 1, t = have - 1; d >= 0 && t >= 0; --d, --t) {
    const int64_t k = rest % batch_dims[static_cast<size_t>(d)];
    rest /= batch_dims[static_cast<size_t>(d)];
    if (dims[static_cast<size_t>(t)] != 1) at += k * step;
    step *= dims[static_cast<size_t>(t)];
  }
  return at;
}

Result<MatrixTerms> matrix_terms(const TensorView* terms, std::span<const int64_t> a, std::span<const int64_t> b,
                                 bool rows) {
  MatrixTerms t;
  if (!terms) return t;
  t.count = 1;
  if (terms->count == 1) return t;
  const int64_t want = rows ? (a.size() < 2 ? 1 : a[a.size() - 2]) : (b.size() < 2 ? 1 : b[b.size() - 1]);
  const auto dims = terms->shape();
  const auto misfit = [&] {
    return invalid_argument(
        "a zero point or scale has shape {}; it must be one value, or one for each of the {} {} of the operand of "
        "shape {}",
        shape_text(dims), want, rows ? "rows" : "columns", shape_text(rows ? a : b));
  };
  const int64_t last = dims.empty() ? 1 : dims.back();
  const int64_t before = dims.size() < 2 ? 1 : dims[dims.size() - 2];
  if (dims.size() <= 1 ? last != want : (rows ? last != 1 || before != want : before != 1 || last != want))
    return misfit();
  const Shape own = leading(dims);
  TRN_ASSIGN(t.batch_dims, broadcast_shapes(leading(a), leading(b)));
  auto spread = broadcast_shapes(own, t.batch_dims);
  if (!spread.ok() || !(*spread == t.batch_dims)) return misfit();
  t.dims = Shape(dims);
  t.count = want;
  if (rows || product(own) > 1) {
    t.batches = product(t.batch_dims);
    t.batch_step = want;
  }
  return t;
}

void read_terms(const MatrixTerms& terms, const TensorView& from, int32_t* to) {
  for (int64_t i = 0; i < terms.size(); ++i) {
    const int64_t at = terms.source(i);
    to[i] = from.dtype == DType::i8 ? from.as<const int8_t>()[at] : from.as<const uint8_t>()[at];
  }
}

Status read_terms(const MatrixTerms& terms, const TensorView& from, float* to) {
  return dispatch<kFloats.bits()>(from.dtype, [&]<class T>() {
    for (int64_t i = 0; i < terms.size(); ++i) to[i] = static_cast<float>(from.as<const T>()[terms.source(i)]);
  });
}

Status check_matrix_terms(const ir::Facts& f, int terms, int a, int b, bool rows) {
  if (!f.has_rank(terms) || !f.has_rank(a) || !f.has_rank(b)) return {};
  const auto t = f.in(terms).concrete(), da = f.in(a).concrete(), db = f.in(b).concrete();
  if (!t || !da || !db) return {};
  const TensorView view{DType::u8, static_cast<int32_t>(t->size()), t->data(), product(*t), nullptr};
  auto fits = matrix_terms(&view, *da, *db, rows);
  return fits.ok() ? Status{} : fits.status().with_context(fmt::format("input {}", terms));
}

Result<Int8MatMulEngine> Int8MatMulEngine::make(const ir::Value& b, bool trans_a, bool trans_b) {
  Int8MatMulEngine e;
  e.trans_a_ = trans_a;
  e.trans_b_ = trans_b;
  if (!b.is_constant() || b.constant().rank() != 2 || b.constant().count() == 0) return e;
  const Tensor& w = b.constant();
  const int64_t k = w.shape()[trans_b ? 1 : 0], n = w.shape()[trans_b ? 0 : 1];
  const int64_t numbers[] = {trans_b};
  const Packing how{.layout = "matrix int8",
                    .numbers = numbers,
                    .dtype = DType::u8,
                    .count = kernels::int8_gemm_packed_b_size(k, n),
                    .units = kernels::int8_gemm_panel_count(n),
                    .any_alignment = true};
  TRN_ASSIGN(e.packed_, pack(w, how, [&](const Tensor& from, int64_t begin, int64_t end, void* to) {
               kernels::int8_gemm_pack_b(from.raw(), from.dtype() == DType::i8, trans_b ? 1 : n, trans_b ? k : 1, k, n,
                                         begin, end, to);
             }));
  return e;
}

Result<size_t> Int8MatMulEngine::prepare(const TensorView& a, const TensorView& b, const TensorView* a_zero,
                                         const TensorView* b_zero, int threads, size_t offset, bool direct,
                                         State& state) const {
  Shape a_dims(a.shape()), b_dims(b.shape());
  if (trans_a_) std::swap(a_dims[0], a_dims[1]);
  if (trans_b_) std::swap(b_dims[0], b_dims[1]);
  TRN_ASSIGN(state.shape, matmul_shape(a_dims, b_dims));
  TRN_ASSIGN(state.a_zero, matrix_terms(a_zero, a_dims, b_dims, true));
  TRN_ASSIGN(state.b_zero, matrix_terms(b_zero, a_dims, b_dims, false));
  const MatMulShape& s = state.shape;
  if (s.m == 0 || s.n == 0 || s.batches == 0) return offset;
  const auto take = [&offset](size_t bytes) {
    const size_t at = offset;
    offset += aligned(bytes);
    return at;
  };
  state.a_zero_offset = take(static_cast<size_t>(state.a_zero.size()) * sizeof(int32_t));
  state.b_zero_offset = take(static_cast<size_t>(state.b_zero.size()) * sizeof(int32_t));
  state.pack_whole = !packed_.valid() && s.batches == 1;
  state.pack_per_batch = !packed_.valid() && s.batches > 1;
  const size_t packed = static_cast<size_t>(kernels::int8_gemm_packed_b_size(s.k, s.n));
  if (state.pack_whole) state.packed_offset = take(packed);
  // Enough tiles that the sums of one stay in the cache until they are rounded.
  const int64_t pieces = direct ? 1 : std::min<int64_t>(s.m * s.n / kTileSums, 1024);
  state.grid = kernels::int8_gemm_grid(s.m, s.n, s.k,
                                       static_cast<int>(std::max<int64_t>(pieces, state.pack_per_batch ? 1 : threads)));
  state.slot_packed = aligned(kernels::int8_gemm_scratch_size(s.n, s.k));
  state.slot_tile = state.slot_packed + (state.pack_per_batch ? aligned(packed) : 0);
  state.slot_stride =
      state.slot_tile +
      (direct ? 0
              : aligned(static_cast<size_t>(std::min(s.m, state.grid.row_step) * std::min(s.n, state.grid.col_step)) *
                        sizeof(int32_t)));
  const int64_t units = state.pack_per_batch ? s.batches : state.grid.count();
  state.slot_offset = take(state.slot_stride * static_cast<size_t>(tile_slots(units, threads)));
  return offset;
}

void Int8MatMulEngine::run(KernelContext& ctx, const State& state, const TensorView& a, const TensorView& b,
                           const TensorView* a_zero, const TensorView* b_zero, int32_t* direct,
                           FunctionRef<void(const Tile&)> finish) const {
  const MatMulShape& s = state.shape;
  if (s.m == 0 || s.n == 0 || s.batches == 0) return;
  std::byte* scratch = ctx.scratch();
  auto* a_zeros = reinterpret_cast<int32_t*>(scratch + state.a_zero_offset);
  auto* b_zeros = reinterpret_cast<int32_t*>(scratch + state.b_zero_offset);
  if (a_zero) read_terms(state.a_zero, *a_zero, a_zeros);
  if (b_zero) read_terms(state.b_zero, *b_zero, b_zeros);

  kernels::Int8GemmArgs base;
  base.m = s.m;
  base.n = s.n;
  base.k = s.k;
  base.a_signed = a.dtype == DType::i8;
  base.b_signed = b.dtype == DType::i8;
  base.a_row_stride = trans_a_ ? 1 : s.k;
  base.a_k_stride = trans_a_ ? s.m : 1;
  base.packed_b = packed_.raw();
  base.a_zero_per_row = state.a_zero.many();
  base.b_zero_per_col = state.b_zero.many();
  const int64_t k_stride = trans_b_ ? 1 : s.n, n_stride = trans_b_ ? s.k : 1;
  if (state.pack_whole) {
    void* packed = scratch + state.packed_offset;
    const int64_t grain =
        std::max<int64_t>(1, (int64_t{128} << 10) / std::max<int64_t>(1, s.k * kernels::int8_gemm_panel_width()));
    ctx.parallel_for(kernels::int8_gemm_panel_count(s.n), grain, [&](int64_t p, int64_t e) {
      kernels::int8_gemm_pack_b(b.data, base.b_signed, k_stride, n_stride, s.k, s.n, p, e, packed);
    });
    base.packed_b = packed;
  }

  const auto tile = [&](kernels::Int8GemmArgs& args, int64_t batch, int64_t index, std::byte* own) {
    const kernels::Int8GemmGrid& g = state.grid;
    Tile t{nullptr, s.n, batch, index / g.col_tiles * g.row_step, 0, index % g.col_tiles * g.col_step, 0};
    t.rows = std::min(s.m - t.row, g.row_step);
    t.cols = std::min(s.n - t.col, g.col_step);
    if (direct) {
      args.c = direct + batch * s.m * s.n;
      args.ldc = s.n;
      kernels::int8_gemm_tile(args, t.row, t.row + t.rows, t.col, t.col + t.cols, own);
      return;
    }
    auto* sums = reinterpret_cast<int32_t*>(own + state.slot_tile);
    // The kernel counts rows and columns from the matrix's corner.
    args.c = reinterpret_cast<int32_t*>(reinterpret_cast<uintptr_t>(sums) -
                                        static_cast<uintptr_t>(t.row * t.cols + t.col) * sizeof(int32_t));
    args.ldc = t.cols;
    kernels::int8_gemm_tile(args, t.row, t.row + t.rows, t.col, t.col + t.cols, own);
    t.c = sums;
    t.ldc = t.cols;
    finish(t);
  };
  const auto batch_args = [&](int64_t batch) {
    kernels::Int8GemmArgs args = base;
    args.a = a.as<const uint8_t>() + s.a_offset[static_cast<size_t>(batch)];
    args.a_zero = a_zero ? a_zeros + batch * state.a_zero.batch_step : nullptr;
    args.b_zero = b_zero ? b_zeros + batch * state.b_zero.batch_step : nullptr;
    return args;
  };
  const int64_t tiles = state.grid.count();
  if (state.pack_per_batch) {
    for_each_tile(ctx, s.batches, scratch + state.slot_offset, state.slot_stride, [&](int64_t batch, std::byte* own) {
      kernels::Int8GemmArgs args = batch_args(batch);
      void* packed = own + state.slot_packed;
      kernels::int8_gemm_pack_b(b.as<const uint8_t>() + s.b_offset[static_cast<size_t>(batch)], base.b_signed, k_stride,
                                n_stride, s.k, s.n, 0, kernels::int8_gemm_panel_count(s.n), packed);
      args.packed_b = packed;
      for (int64_t i = 0; i < tiles; ++i) tile(args, batch, i, own);
    });
    return;
  }
  for_each_tile(ctx, tiles, scratch + state.slot_offset, state.slot_stride, [&](int64_t i, std::byte* own) {
    kernels::Int8GemmArgs args = batch_args(0);
    tile(args, 0, i, own);
  });
}

}  // namespace trunnion::ops
