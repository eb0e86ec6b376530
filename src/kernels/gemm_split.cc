// Products on planes of bfloat16: splitting and packing of both factors, and the loops around the blocks.
#include "kernels/gemm_split.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/cpu_info.h"
#include "kernels/gemm_driver.h"
#include "kernels/half.h"

namespace trunnion::kernels {

#if defined(__x86_64__)
namespace amx {
extern const SplitUnit kSplitUnit;
}
#endif

namespace {

constexpr int64_t kCopyBytes = 512 << 10;  // aim for the planes of the rows of one run
constexpr int64_t kMostBlocks = 8;         // row blocks of one run
constexpr int64_t kTile = 512;             // values

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t steps_of(int64_t k) { return ceil_div(k, kSplitDepth); }
int64_t step_values(int planes) { return planes * 2 * kTile; }  // of A and of B alike

// Steps of one block of K, so that a panel of B, and the rows of A beside it, fit a second-level cache. Fixed: it
// decides the bits.
int64_t k_steps(int planes) { return planes == 3 ? 12 : 16; }

int64_t blocks_per_run(int64_t k, int planes) {
  const int64_t bytes = steps_of(k) * step_values(planes) * 2;
  return std::clamp<int64_t>(bytes == 0 ? kMostBlocks : kCopyBytes / bytes, 1, kMostBlocks);
}

// Planes of x, the largest first. Finite values never become infinite: the first plane is then cut instead of rounded.
void split(float x, int planes, uint16_t* plane, int64_t apart) {
  uint16_t h = half::to_bf16(x);
  if ((h & 0x7fffu) == 0x7f80u && std::isfinite(x)) h = static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16);
  *plane = h;
  for (int i = 1; i < planes; ++i) {
    x -= half::from_bf16(plane[(i - 1) * apart]);
    plane[i * apart] = half::to_bf16(x);
  }
}

const float* row_of(const SplitGemmArgs& args, int64_t row, float* gathered) {
  if (!args.gather) return args.a + row * args.a_row_stride;
  args.gather(args.context, row, gathered);
  return gathered;
}

// Rows [row, row + rows) of A, all of K; rows that do not exist and the rest of the last step are zero. Gives the rows
// with values that are not finite as bits.
uint32_t pack_a(const SplitUnit& unit, const SplitGemmArgs& args, int64_t row, int64_t rows, float* gathered,
                uint16_t* out) {
  const int planes = args.planes;
  const int64_t k = args.k, step = step_values(planes), steps = steps_of(k);
  uint32_t special = 0;
  if (rows < kSplitRows) {
    std::memset(out, 0, static_cast<size_t>(steps * step) * sizeof(uint16_t));
  } else if (k % kSplitDepth != 0) {
    std::memset(out + (steps - 1) * step, 0, static_cast<size_t>(step) * sizeof(uint16_t));
  }
  for (int64_t r = 0; r < rows; ++r) {
    const float* a = row_of(args, row + r, gathered);
    if (!unit.split_row(a, k, planes, out + r / 16 * kTile + r % 16 * kSplitDepth)) special |= 1u << r;
  }
  return special;
}

// A row of A that is not finite times one panel, from the planes of B.
void plain_row(const float* a, int64_t k, int planes, const uint16_t* panel, float* sums) {
  for (int64_t j = 0; j < kSplitPanel; ++j) {
    float sum = 0;
    for (int64_t i = 0; i < k; ++i) {
      const uint16_t* at = panel + i / kSplitDepth * step_values(planes) + j / 16 * kTile +
                           i % kSplitDepth / 2 * kSplitDepth + j % 16 * 2 + i % 2;
      float b = 0;
      for (int p = planes; p-- > 0;) b += half::from_bf16(at[p * 2 * kTile]);
      sum += (planes == 1 ? half::from_bf16(half::to_bf16(a[i])) : a[i]) * b;
    }
    sums[j] = sum;
  }
}

struct Finish {
  const SplitGemmArgs& args;
  const GemmMicroTable& table;
  BlockRun run;

  // The epilogue of a block: sums is [rows][32].
  void block(int64_t row, int64_t rows, int64_t col, int64_t cols, const float* sums) {
    alignas(64) float piece[kRowSlots * 64];
    run.col_end = col + cols;
    for (int64_t r = 0; r < rows; r += table.max_rows) {
      const int64_t count = std::min<int64_t>(rows - r, table.max_rows);
      const RowBlock block = row_block(nullptr, row + r, count, args.c, args.ldc, args.epilogue);
      run.blocks = &block;
      for (int64_t c = 0; c < cols; c += table.width) {
        const int64_t width = std::min<int64_t>(table.width, kSplitPanel);
        for (int i = 0; i < block.count; ++i)
          std::memcpy(piece + i * table.width, sums + (r + i) * kSplitPanel + c,
                      static_cast<size_t>(width) * sizeof(float));
        finish_sums(table, run, block, col + c, piece);
      }
    }
  }
};

}  // namespace

bool split_row_plain(const float* x, int64_t k, int planes, uint16_t* row) {
  bool finite = true;
  for (int64_t i = 0; i < k; ++i) {
    finite = finite && std::isfinite(x[i]);
    split(x[i], planes, row + i / kSplitDepth * step_values(planes) + i % kSplitDepth, 2 * kTile);
  }
  return finite;
}

namespace {
std::atomic<const SplitUnit*> for_test{nullptr};
}

void set_split_unit_for_test(const SplitUnit* unit) { for_test.store(unit, std::memory_order_relaxed); }

const SplitUnit* split_unit() {
  if (const SplitUnit* unit = for_test.load(std::memory_order_relaxed)) return unit;
#if defined(__x86_64__)
  if (active_amx_bf16()) return &amx::kSplitUnit;
#endif
  return nullptr;
}

bool split_fits(int64_t k, int64_t n) { return k >= 64 && !is_narrow(n); }

GemmGrid split_grid(int64_t m, int64_t n, int64_t k, int threads) {
  GemmGrid grid = gemm_grid(m, n, ceil_div(k, 2), threads);
  if (grid.col_tiles > 1) {
    grid.col_step = ceil_div(grid.col_step, kSplitPanel) * kSplitPanel;
    grid.col_tiles = ceil_div(n, grid.col_step);
  }
  return grid;
}

int64_t split_packed_b_size(int64_t k, int64_t n, int planes) {
  return split_panel_count(n) * steps_of(k) * step_values(planes);
}

namespace {

// `at(k)` is where row k of B begins.
template <class At>
void pack_panel(At at, int64_t n_stride, int64_t k, int64_t n, int planes, int64_t panel, uint16_t* packed) {
  const int64_t size = steps_of(k) * step_values(planes);
  uint16_t* out = packed + panel * size;
  std::memset(out, 0, static_cast<size_t>(size) * sizeof(uint16_t));
  for (int64_t i = 0; i < k; ++i) {
    uint16_t* row = out + i / kSplitDepth * step_values(planes) + i % kSplitDepth / 2 * kSplitDepth + i % 2;
    const float* b = at(i) + panel * kSplitPanel * n_stride;
    for (int64_t j = 0; j < kSplitPanel && panel * kSplitPanel + j < n; ++j) {
      float x;
      std::memcpy(&x, b + j * n_stride, sizeof x);  // of any alignment
      split(x, planes, row + j / 16 * kTile + j % 16 * 2, 2 * kTile);
    }
  }
}

}  // namespace

void split_pack_b(const float* b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n, int planes,
                  int64_t panel_begin, int64_t panel_end, uint16_t* packed) {
  for (int64_t p = panel_begin; p < panel_end; ++p)
    pack_panel([&](int64_t i) { return b + i * k_stride; }, n_stride, k, n, planes, p, packed);
}

void split_pack_b_taps(const float* b, int64_t taps, int64_t cin, int64_t n, int planes, int64_t panel,
                       uint16_t* packed) {
  pack_panel([&](int64_t i) { return b + i % cin * taps + i / cin; }, cin * taps, cin * taps, n, planes, panel, packed);
}

size_t split_scratch_size(int64_t k, int planes) {
  const auto blocks = static_cast<size_t>(blocks_per_run(k, planes));
  const size_t sums = kSplitRows * kSplitPanel * sizeof(float), gathered = static_cast<size_t>(ceil_div(k, 16) * 64);
  return gathered + blocks * (sums + static_cast<size_t>(steps_of(k) * step_values(planes)) * sizeof(uint16_t));
}

void split_gemm_tile(const SplitUnit& unit, const SplitGemmArgs& args, int64_t row_begin, int64_t row_end,
                     int64_t col_begin, int64_t col_end, void* scratch) {
  if (row_begin >= row_end || col_begin >= col_end) return;
  const int64_t most = blocks_per_run(args.k, args.planes), steps = steps_of(args.k);
  const int64_t step = step_values(args.planes), block_values = steps * step, k_block = k_steps(args.planes);
  float* const sums = static_cast<float*>(scratch);
  float* const gathered = sums + most * kSplitRows * kSplitPanel;
  auto* const planes = reinterpret_cast<uint16_t*>(gathered + ceil_div(args.k, 16) * 16);
  const auto block = unit.block[args.planes];
  Finish finish{args, gemm_micro_table(), {}};
  finish.run.n = args.n;
  finish.run.ldc = args.ldc;
  finish.run.residual_ld = args.epilogue.residual_ld;
  finish.run.epilogue = &args.epilogue;

  unit.enter();
  for (int64_t row = row_begin; row < row_end; row += most * kSplitRows) {
    const int64_t rows = std::min(row_end - row, most * kSplitRows), blocks = ceil_div(rows, kSplitRows);
    uint32_t special[kMostBlocks] = {};
    for (int64_t i = 0; i < blocks; ++i)
      special[i] = pack_a(unit, args, row + i * kSplitRows, std::min(rows - i * kSplitRows, kSplitRows), gathered,
                          planes + i * block_values);
    for (int64_t col = col_begin; col < col_end; col += kSplitPanel) {
      const uint16_t* panel = args.packed_b + col / kSplitPanel * block_values;
      for (int64_t s = 0; s == 0 || s < steps; s += k_block) {
        for (int64_t i = 0; i < blocks; ++i) {
          SplitBlockArgs g;
          g.a = planes + i * block_values + s * step;
          g.b = panel + s * step;
          g.steps = std::min(steps - s, k_block);
          g.first = s == 0;
          g.sums = sums + i * kSplitRows * kSplitPanel;
          block(g);
        }
      }
      for (int64_t i = 0; i < blocks; ++i) {
        const int64_t first = row + i * kSplitRows, count = std::min(rows - i * kSplitRows, kSplitRows);
        float* own = sums + i * kSplitRows * kSplitPanel;
        for (int64_t r = 0; special[i] != 0 && r < count; ++r) {
          if (special[i] >> r & 1)
            plain_row(row_of(args, first + r, gathered), args.k, args.planes, panel, own + r * kSplitPanel);
        }
        finish.block(first, count, col, std::min(col_end, col + kSplitPanel) - col, own);
      }
    }
  }
  unit.leave();
}

}  // namespace trunnion::kernels
