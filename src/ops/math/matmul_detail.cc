#include "ops/math/matmul_detail.h"

#include "kernels/gemm_bf16.h"
#include "kernels/gemm_plain.h"
#include "kernels/gemm_split.h"
#include "ops/half_adapter.h"
#include "ops/packing.h"
#include "ops/shape.h"
#include "ops/tiles.h"

namespace trunnion::ops {
namespace {

constexpr size_t kLine = 64;
size_t aligned(size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

}  // namespace

Status infer_matmul(ir::Facts& f, DType out, int a_input, int b_input) {
  f.set(0, out);
  if (!f.has_rank(a_input) || !f.has_rank(b_input)) return {};
  SymShape a = f.in(a_input).shape(), b = f.in(b_input).shape();
  if (a.empty() || b.empty())
    return invalid_argument("matrix product of shapes {} and {}: a scalar is not allowed", shape_text(a),
                            shape_text(b));
  const bool a_vector = a.size() == 1, b_vector = b.size() == 1;
  if (a_vector) a.insert(a.begin(), Dim(1));
  if (b_vector) b.push_back(Dim(1));
  const Dim &ka = a.back(), &kb = b[b.size() - 2];
  if (ka.is_int() && kb.is_int() && ka.value() != kb.value())
    return invalid_argument("matrix product of shapes {} and {}: the inner dimensions are {} and {}",
                            shape_text(f.in(a_input).shape()), shape_text(f.in(b_input).shape()), ka.value(),
                            kb.value());
  TRN_ASSIGN(SymShape y, broadcast_shapes(SymShape(a.begin(), a.end() - 2), SymShape(b.begin(), b.end() - 2)));
  if (!a_vector) y.push_back(a[a.size() - 2]);
  if (!b_vector) y.push_back(b.back());
  f.set(0, out, std::move(y));
  return {};
}

Result<MatMulShape> matmul_shape(std::span<const int64_t> a_in, std::span<const int64_t> b_in) {
  Shape a(a_in), b(b_in);
  if (a.size() == 1) a = Shape{1, a[0]};
  if (b.size() == 1) b = Shape{b[0], 1};
  MatMulShape s;
  s.m = a[a.size() - 2];
  s.k = a[a.size() - 1];
  s.n = b[b.size() - 1];
  const std::span<const int64_t> a_batch(a.data(), a.size() - 2), b_batch(b.data(), b.size() - 2);
  TRN_ASSIGN(const Shape batch, broadcast_shapes(a_batch, b_batch));
  // No elements: no table either, which the other dimensions could make as long as they like.
  s.batches = s.m == 0 || s.n == 0 ? 0 : element_count(batch);
  if (s.batches < 0) return invalid_argument("the batch dimensions {} overflow", shape_text(batch));
  if (s.batches == 0) {
    s.a_offset = s.b_offset = {0};
    return s;
  }
  // One B for all batches and A dense: the batch is only more rows.
  if (product(b_batch) == 1 && product(a_batch) == s.batches && s.batches > 1) {
    s.m *= s.batches;
    s.batches = 1;
  }
  if (s.batches <= 1) {
    s.a_offset = s.b_offset = {0};
    return s;
  }
  const Shape a_strides = row_major_strides(a), b_strides = row_major_strides(b);
  s.a_offset.resize(static_cast<size_t>(s.batches));
  s.b_offset.resize(static_cast<size_t>(s.batches));
  for (int64_t i = 0; i < s.batches; ++i) {
    int64_t rest = i, ao = 0, bo = 0;
    for (size_t d = batch.size(); d-- > 0;) {
      const int64_t at = rest % batch[d];
      rest /= batch[d];
      const auto from_a = static_cast<int64_t>(d) - static_cast<int64_t>(batch.size() - a_batch.size());
      const auto from_b = static_cast<int64_t>(d) - static_cast<int64_t>(batch.size() - b_batch.size());
      if (from_a >= 0 && a[static_cast<size_t>(from_a)] != 1) ao += at * a_strides[static_cast<size_t>(from_a)];
      if (from_b >= 0 && b[static_cast<size_t>(from_b)] != 1) bo += at * b_strides[static_cast<size_t>(from_b)];
    }
    s.a_offset[static_cast<size_t>(i)] = ao;
    s.b_offset[static_cast<size_t>(i)] = bo;
  }
  return s;
}

Result<Tensor> pack_matrix(const Tensor& b, bool transposed) {
  const int64_t k = b.shape()[transposed ? 1 : 0], n = b.shape()[transposed ? 0 : 1], numbers[] = {transposed};
  const Packing how{.layout = "matrix",
                    .numbers = numbers,
                    .dtype = DType::f32,
                    .count = kernels::gemm_packed_b_size(k, n),
                    .units = kernels::gemm_panel_count(n),
                    .any_alignment = true};
  return pack(b, how, [&](const Tensor& from, int64_t begin, int64_t end, void* to) {
    kernels::gemm_pack_b(from.data<float>(), transposed ? 1 : n, transposed ? k : 1, k, n, begin, end,
                         static_cast<float*>(to));
  });
}

namespace {

// The same in planes of bfloat16, for kernels/gemm_split.h; or in one and pairs, for kernels/gemm_bf16.h.
Result<Tensor> pack_bf16_matrix(const Tensor& b, bool transposed, int planes, bool split) {
  const int64_t k = b.shape()[transposed ? 1 : 0], n = b.shape()[transposed ? 0 : 1], numbers[] = {transposed, planes};
  const int64_t k_stride = transposed ? 1 : n, n_stride = transposed ? k : 1;
  const Packing how{
      .layout = split ? "split matrix" : "bf16 matrix",
      .numbers = numbers,
      .dtype = DType::bf16,
      .count = split ? kernels::split_packed_b_size(k, n, planes) : kernels::bf16_gemm_packed_b_size(k, n),
      .units = split ? kernels::split_panel_count(n) : kernels::gemm_panel_count(n),
      .any_alignment = true};
  return pack(b, how, [&](const Tensor& from, int64_t begin, int64_t end, void* to) {
    auto* packed = static_cast<uint16_t*>(to);
    if (split) {
      kernels::split_pack_b(from.data<float>(), k_stride, n_stride, k, n, planes, begin, end, packed);
    } else {
      kernels::bf16_gemm_pack_b(from.data<float>(), k_stride, n_stride, k, n, begin, end, packed);
    }
  });
}

}  // namespace

Result<MatMulEngine> MatMulEngine::make(const ir::Value& b, bool trans_a, bool trans_b, int bf16) {
  MatMulEngine e;
  e.trans_a_ = trans_a;
  e.trans_b_ = trans_b;
  if (!b.is_constant() || b.constant().rank() != 2 || b.constant().count() == 0) return e;
  const Tensor& w = b.constant();
  if (w.dtype() != DType::f32 && !is_half(w.dtype())) return e;
  const int64_t k = w.shape()[trans_b ? 1 : 0], n = w.shape()[trans_b ? 0 : 1];
  if (bf16 > 0 && bf16 <= kernels::kMostPlanes && !trans_a && w.dtype() == DType::f32) {
    e.split_ = kernels::split_unit() && kernels::split_fits(k, n);
    if (e.split_ || (bf16 == 1 && kernels::bf16_gemm_pays() && kernels::bf16_gemm_fits(n))) e.bf16_ = bf16;
  }
  TRN_ASSIGN(e.packed_, e.bf16_ != 0 ? pack_bf16_matrix(w, trans_b, bf16, e.split_) : pack_matrix(w, trans_b));
  return e;
}

Result<size_t> MatMulEngine::prepare(const TensorView& a, const TensorView& b, int threads, size_t offset,
                                     State& state) const {
  Shape a_dims(a.shape()), b_dims(b.shape());
  if (trans_a_) std::swap(a_dims[0], a_dims[1]);
  if (trans_b_) std::swap(b_dims[0], b_dims[1]);
  TRN_ASSIGN(state.shape, matmul_shape(a_dims, b_dims));
  const MatMulShape& s = state.shape;
  if (s.m == 0 || s.n == 0 || s.batches == 0) return offset;
  // Many batches feed the threads by themselves; few are cut further.
  const int per_batch = static_cast<int>(std::max<int64_t>(1, (threads + s.batches - 1) / s.batches));
  state.grid = split_       ? kernels::split_grid(s.m, s.n, s.k, threads)
               : bf16_ != 0 ? kernels::bf16_gemm_grid(s.m, s.n, s.k, threads)
                            : kernels::gemm_grid(s.m, s.n, s.k, per_batch);
  state.pack_whole = !packed_.valid() && s.batches == 1 && state.grid.row_tiles > 1;
  if (state.pack_whole) {
    state.packed_offset = offset;
    offset += aligned(static_cast<size_t>(kernels::gemm_packed_b_size(s.k, s.n)) * sizeof(float));
  }
  state.scratch_offset = offset;
  state.scratch_stride = aligned(split_       ? kernels::split_scratch_size(s.k, bf16_)
                                 : bf16_ != 0 ? kernels::bf16_gemm_scratch_size(s.n, s.k)
                                              : kernels::gemm_scratch_size(s.n, s.k));
  return offset + state.scratch_stride * static_cast<size_t>(tile_slots(s.batches * state.grid.count(), threads));
}

// A constant matrix B: the batches are rows.
void MatMulEngine::run_bf16(KernelContext& ctx, const State& state, const float* a, float* c,
                            const kernels::Epilogue& epilogue) const {
  const MatMulShape& s = state.shape;
  const auto fill = [&](auto& args) {
    args.m = s.m;
    args.n = s.n;
    args.k = s.k;
    args.a = a;
    args.a_row_stride = s.k;
    args.packed_b = packed_.data<uint16_t>();
    args.c = c;
    args.ldc = s.n;
    args.epilogue = epilogue;
  };
  std::byte* scratch = ctx.scratch() + state.scratch_offset;
  if (!split_) {
    kernels::Bf16GemmArgs args;
    fill(args);
    for_each_tile(ctx, state.grid.count(), scratch, state.scratch_stride,
                  [&](int64_t i, std::byte* own) { kernels::bf16_gemm_tile(args, state.grid, i, own); });
    return;
  }
  kernels::SplitGemmArgs args;
  fill(args);
  args.planes = bf16_;
  const kernels::SplitUnit& unit = *kernels::split_unit();
  const kernels::GemmGrid& grid = state.grid;
  for_each_tile(ctx, grid.count(), scratch, state.scratch_stride, [&](int64_t i, std::byte* own) {
    const kernels::TileRange r = grid.range(i, s.m, s.n);
    kernels::split_gemm_tile(unit, args, r.row_begin, r.row_end, r.col_begin, r.col_end, own);
  });
}

void MatMulEngine::run(KernelContext& ctx, const State& state, const float* a, const float* b, float* c,
                       const kernels::Epilogue& epilogue, int64_t residual_batch) const {
  const MatMulShape& s = state.shape;
  if (s.m == 0 || s.n == 0 || s.batches == 0) return;
  if (bf16_ != 0) return run_bf16(ctx, state, a, c, epilogue);
  std::byte* scratch = ctx.scratch();
  kernels::GemmArgs base;
  base.m = s.m;
  base.n = s.n;
  base.k = s.k;
  base.a_row_stride = trans_a_ ? 1 : s.k;
  base.a_k_stride = trans_a_ ? s.m : 1;
  base.b_k_stride = trans_b_ ? 1 : s.n;
  base.b_n_stride = trans_b_ ? s.k : 1;
  base.packed_b = packed_.data<float>();
  base.ldc = s.n;
  base.epilogue = epilogue;
  if (state.pack_whole) {
    auto* packed = reinterpret_cast<float*>(scratch + state.packed_offset);
    const int64_t grain =
        std::max<int64_t>(1, (int64_t{64} << 10) / std::max<int64_t>(1, s.k * kernels::gemm_panel_width()));
    ctx.parallel_for(kernels::gemm_panel_count(s.n), grain, [&](int64_t begin, int64_t end) {
      kernels::gemm_pack_b(b, base.b_k_stride, base.b_n_stride, s.k, s.n, begin, end, packed);
    });
    base.packed_b = packed;
  }
  const int64_t tiles = state.grid.count();
  const auto tile = [&](int64_t i, std::byte* own) {
    const int64_t batch = i / tiles;
    kernels::GemmArgs args = base;
    args.a = a + s.a_offset[static_cast<size_t>(batch)];
    args.b = b ? b + s.b_offset[static_cast<size_t>(batch)] : nullptr;
    args.c = c + batch * s.m * s.n;
    if (args.epilogue.residual) args.epilogue.residual += batch * residual_batch;
    kernels::gemm_tile(args, state.grid, i % tiles, own);
  };
  // Small matrices are claimed several at once: about 2 us of multiply-adds.
  const int64_t work = s.m * s.n * std::max<int64_t>(s.k, 1) / tiles + 1, step = std::max<int64_t>(1, 250'000 / work);
  for_each_tile(ctx, s.batches * tiles, scratch + state.scratch_offset, state.scratch_stride, tile, step);
}

namespace {

// A whole number of up to 63 bits, as T has it: -1 is the largest unsigned number.
template <class T>
T wrapped(double factor) {
  return static_cast<T>(static_cast<int64_t>(factor));
}

template <class T>
void plain(KernelContext& ctx, const MatMulShape& s, bool trans_a, bool trans_b, const void* a, const void* b, void* c,
           T alpha, T beta) {
  const int64_t grain = std::max<int64_t>(1, 100'000 / std::max<int64_t>(1, s.n * s.k));
  ctx.parallel_for(s.batches * s.m, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t batch = begin / s.m, row = begin % s.m, rows = std::min(end - begin, s.m - row);
      kernels::PlainGemmArgs<T> g;
      g.m = s.m;
      g.n = s.n;
      g.k = s.k;
      g.a = static_cast<const T*>(a) + s.a_offset[static_cast<size_t>(batch)];
      g.a_row_stride = trans_a ? 1 : s.k;
      g.a_k_stride = trans_a ? s.m : 1;
      g.b = static_cast<const T*>(b) + s.b_offset[static_cast<size_t>(batch)];
      g.b_k_stride = trans_b ? 1 : s.n;
      g.b_n_stride = trans_b ? s.k : 1;
      g.c = static_cast<T*>(c) + batch * s.m * s.n;
      g.ldc = s.n;
      g.alpha = alpha;
      g.beta = beta;
      kernels::plain_gemm_tile(g, row, row + rows, 0, s.n);
      begin += rows;
    }
  });
}

}  // namespace

Status plain_matmul(KernelContext& ctx, DType type, const MatMulShape& s, bool trans_a, bool trans_b, const void* a,
                    const void* b, void* c, double alpha, double beta) {
  if (s.m == 0 || s.n == 0 || s.batches == 0) return {};
  switch (type) {
    case DType::f64:
      plain<double>(ctx, s, trans_a, trans_b, a, b, c, alpha, beta);
      return {};
    case DType::i32:
      plain<int32_t>(ctx, s, trans_a, trans_b, a, b, c, wrapped<int32_t>(alpha), wrapped<int32_t>(beta));
      return {};
    case DType::u32:
      plain<uint32_t>(ctx, s, trans_a, trans_b, a, b, c, wrapped<uint32_t>(alpha), wrapped<uint32_t>(beta));
      return {};
    case DType::i64:
      plain<int64_t>(ctx, s, trans_a, trans_b, a, b, c, wrapped<int64_t>(alpha), wrapped<int64_t>(beta));
      return {};
    case DType::u64:
      plain<uint64_t>(ctx, s, trans_a, trans_b, a, b, c, wrapped<uint64_t>(alpha), wrapped<uint64_t>(beta));
      return {};
    default:
      return not_implemented("matrix product of type {}", dtype_name(type));
  }
}

}  // namespace trunnion::ops
