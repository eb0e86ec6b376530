// Bfloat16 GEMM: packing of B in pairs, and the rounding of the rows of A for a run of blocks.
#include "kernels/gemm_bf16.h"

#include <cstring>

#include "base/cpu_units.h"
#include "kernels/gemm_bf16_table.h"
#include "kernels/gemm_driver.h"
#include "kernels/gemm_pack.h"
#include "kernels/transpose.h"

namespace trunnion::kernels {
namespace {

constexpr int64_t kCopyFloats = 64 << 10;  // aim for the rounded rows of one run
constexpr int64_t kRowPad = 16;            // rows do not share cache sets
constexpr int64_t kPackRows = 64;          // rows of B that are paired at a time
constexpr int64_t kMostWidth = 64;
constexpr int64_t kTapBuffer = 4096;  // floats, on the stack

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

int64_t row_floats(int64_t k) { return round_up(pairs_of(k), kRowPad) + kRowPad; }

int64_t blocks_per_run(const GemmMicroTable& table, int64_t k) {
  const int64_t blocks = kCopyFloats / (table.max_rows * row_floats(k));
  return blocks < 1 ? 1 : blocks > kBlocksPerRun ? kBlocksPerRun : blocks;
}

// Rows [0, rows) of `width` floats to pairs.
void pair_block(const Bf16Table& table, const float* from, int64_t rows, int64_t width, float* out) {
  static constexpr float kZeros[kMostWidth] = {};
  for (int64_t k = 0; k < rows; k += 2, out += width)
    table.pair_rows(from + k * width, k + 1 < rows ? from + (k + 1) * width : kZeros, width, out);
}

}  // namespace

const Bf16Table* bf16_table() {
#if defined(__x86_64__)
  if (active_bf16_dot()) return &avx512bf16::kBf16Table;
#endif
  return nullptr;
}

bool bf16_gemm_pays() { return bf16_table() != nullptr; }

bool bf16_gemm_fits(int64_t n) { return !is_narrow(n); }

void bf16_pack_b_block(const Bf16Table& table, const float* b, int64_t k_stride, int64_t n_stride, int64_t k_begin,
                       int64_t k_end, int64_t n, int64_t panel_begin, int64_t panel_end, int64_t panel_stride,
                       float* out) {
  const GemmMicroTable& t = table.micro;
  alignas(64) float rows[kPackRows * kMostWidth];
  const int64_t panels = ceil_div(n, t.width), last = panel_end < panels ? panel_end : panels;
  for (int64_t p = panel_begin; p < last; ++p, out += panel_stride) {
    const int64_t width = p + 1 < panels ? t.width : last_panel_width(t, n);
    for (int64_t k = k_begin; k < k_end; k += kPackRows) {
      const int64_t end = k + kPackRows < k_end ? k + kPackRows : k_end;
      pack_b_block(t, b, k_stride, n_stride, k, end, n, p, p + 1, 0, rows);
      pair_block(table, rows, end - k, width, out + (k - k_begin) / 2 * width);
    }
  }
}

bool bf16_pack_b_taps(const Bf16Table& table, const float* b, int64_t taps, int64_t cin, int64_t n, int64_t panel,
                      float* out) {
  const GemmMicroTable& t = table.micro;
  if (is_narrow(n) || 2 * taps * t.width > kTapBuffer) return false;
  const int64_t first = panel * t.width, width = panel + 1 < ceil_div(n, t.width) ? t.width : last_panel_width(t, n);
  const int64_t count = n - first < width ? n - first : width;
  const int64_t channels = kTapBuffer / (taps * width) / 2 * 2;
  static constexpr float kZeros[kMostWidth] = {};
  alignas(64) float buffer[kTapBuffer];
  if (count < width) std::memset(buffer, 0, sizeof buffer);
  for (int64_t ci = 0; ci < cin; ci += channels) {
    const int64_t some = cin - ci < channels ? cin - ci : channels;
    transpose_2d_f32(b + first * cin * taps + ci * taps, cin * taps, buffer, width, count, some * taps);
    for (int64_t i = 0; i < some; i += 2) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        table.pair_rows(buffer + (i * taps + tap) * width,
                        i + 1 < some ? buffer + ((i + 1) * taps + tap) * width : kZeros, width,
                        out + (tap * pairs_of(cin) + (ci + i) / 2) * width);
      }
    }
  }
  return true;
}

int64_t bf16_gemm_packed_b_size(int64_t k, int64_t n) {
  const Bf16Table* table = bf16_table();
  return table ? 2 * packed_b_size(table->micro, pairs_of(k), n) : 0;
}

void bf16_gemm_pack_b(const float* b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n, int64_t panel_begin,
                      int64_t panel_end, uint16_t* packed) {
  const Bf16Table& table = *bf16_table();
  const int64_t panel = pairs_of(k) * table.micro.width;
  bf16_pack_b_block(table, b, k_stride, n_stride, 0, k, n, panel_begin, panel_end, panel,
                    reinterpret_cast<float*>(packed) + panel_begin * panel);
}

GemmGrid bf16_gemm_grid(int64_t m, int64_t n, int64_t k, int threads) { return gemm_grid(m, n, pairs_of(k), threads); }

size_t bf16_gemm_scratch_size(int64_t, int64_t k) {
  const GemmMicroTable& t = gemm_micro_table();
  const int64_t floats =
      round_up(partial_size(t, {1, pairs_of(k)}), 16) + blocks_per_run(t, k) * t.max_rows * row_floats(k);
  return static_cast<size_t>(floats) * sizeof(float);
}

void bf16_gemm_tile(const Bf16GemmArgs& args, int64_t row_begin, int64_t row_end, int64_t col_begin, int64_t col_end,
                    void* scratch) {
  if (row_begin >= row_end || col_begin >= col_end) return;
  const Bf16Table& table = *bf16_table();
  const GemmMicroTable& t = table.micro;
  const KShape pairs{1, pairs_of(args.k)};
  float* const copies = static_cast<float*>(scratch) + round_up(partial_size(t, pairs), 16);
  const int64_t stride = row_floats(args.k);

  const Epilogue& e = args.epilogue;
  const float* pointers[kBlocksPerRun * kRowSlots];
  RowBlock blocks[kBlocksPerRun];
  BlockRun run;
  run.blocks = blocks;
  run.k = pairs;
  run.n = args.n;
  run.packed_b = reinterpret_cast<const float*>(args.packed_b);
  run.col_begin = col_begin;
  run.col_end = col_end;
  run.ldc = args.ldc;
  run.residual_ld = e.residual_ld;
  run.epilogue = &e;
  run.partial = static_cast<float*>(scratch);

  const int64_t rows = row_end - row_begin, block_count = ceil_div(rows, t.max_rows);
  const int64_t runs = ceil_div(block_count, blocks_per_run(t, args.k));
  for (int64_t r = 0; r < runs; ++r) {
    const int64_t first = even_part_begin(block_count, runs, r), last = even_part_begin(block_count, runs, r + 1);
    float* copy = copies;
    for (int64_t i = first; i < last; ++i) {
      const int64_t row = row_begin + even_part_begin(rows, block_count, i);
      const float** p = pointers + (i - first) * kRowSlots;
      const int64_t row_last = row_begin + even_part_begin(rows, block_count, i + 1);
      const RowBlock& block = blocks[i - first] = row_block(p, row, row_last - row, args.c, args.ldc, e);
      for (int j = 0; j < block.count; ++j, copy += stride) {
        table.round_row(args.a + (row + j) * args.a_row_stride, args.k, copy);
        p[j] = copy;
      }
    }
    run.block_count = static_cast<int>(last - first);
    run_blocks(t, run);
  }
}

void bf16_gemm_tile(const Bf16GemmArgs& args, const GemmGrid& grid, int64_t index, void* scratch) {
  const TileRange r = grid.range(index, args.m, args.n);
  bf16_gemm_tile(args, r.row_begin, r.row_end, r.col_begin, r.col_end, scratch);
}

}  // namespace trunnion::kernels
