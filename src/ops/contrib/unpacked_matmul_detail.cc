#include "ops/contrib/unpacked_matmul_detail.h"

#include "ops/tiles.h"

namespace trunnion::ops {

Status UnpackedMatMul::pack(Column column) {
  const int64_t width = kernels::gemm_panel_width(), panels = kernels::gemm_panel_count(n_);
  const int64_t size[] = {kernels::gemm_packed_b_size(k_, n_)};
  TRN_ASSIGN(Tensor packed, Tensor::allocate(DType::f32, size));
  // A panel at a time, each at the place that it has among all columns.
  std::vector<float> columns(static_cast<size_t>(width * k_));
  for (int64_t panel = 0; panel < panels; ++panel) {
    const int64_t begin = panel * width, count = std::min(width, n_ - begin);
    for (int64_t i = 0; i < count; ++i) TRN_TRY(column(begin + i, columns.data() + i * k_));
    const auto* first = reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(columns.data()) -
                                                       static_cast<uintptr_t>(begin * k_) * sizeof(float));
    kernels::gemm_pack_b(first, 1, k_, k_, n_, panel, panel + 1, packed.data<float>());
  }
  packed_ = std::move(packed);
  return {};
}

Result<size_t> UnpackedMatMul::prepare(int64_t m, int threads, size_t offset, State& state) const {
  state.m = m;
  state.grid = kernels::gemm_grid(m, n_, k_, threads);
  const auto aligned = [](size_t bytes) { return (bytes + 63) / 64 * 64; };
  if (!packed()) {
    const int64_t dims[] = {n_, k_, static_cast<int64_t>(sizeof(float))};
    const int64_t bytes = element_count(dims);
    if (bytes < 0) return invalid_argument("a matrix of {} x {} is too large", k_, n_);
    state.columns_offset = offset;
    offset += aligned(static_cast<size_t>(bytes));
  }
  state.scratch_offset = offset;
  state.scratch_stride = aligned(kernels::gemm_scratch_size(n_, k_));
  return offset + state.scratch_stride * static_cast<size_t>(tile_slots(state.grid.count(), threads));
}

Status UnpackedMatMul::run(KernelContext& ctx, const State& s, const float* a, const float* bias, bool weights,
                           Column column, float* y) const {
  if (s.m == 0 || n_ == 0) return {};
  kernels::GemmArgs args;
  args.m = s.m;
  args.n = n_;
  args.k = weights ? k_ : 0;
  args.a = a;
  args.a_row_stride = k_;
  args.c = y;
  args.ldc = n_;
  args.epilogue.bias_col = bias;
  args.packed_b = packed_.data<float>();
  if (!packed()) {
    auto* columns = reinterpret_cast<float*>(ctx.scratch() + s.columns_offset);
    for (int64_t n = 0; args.k != 0 && n < n_; ++n) TRN_TRY(column(n, columns + n * k_));
    args.b = columns;
    args.b_k_stride = 1;
    args.b_n_stride = k_;
  }
  for_each_tile(ctx, s.grid.count(), ctx.scratch() + s.scratch_offset, s.scratch_stride,
                [&](int64_t i, std::byte* own) { kernels::gemm_tile(args, s.grid, i, own); });
  return {};
}

}  // namespace trunnion::ops
