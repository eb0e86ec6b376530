// The loops around the fp32 micro-kernels, and the epilogues that do not run in registers.
#include "kernels/gemm_driver.h"

#include <limits>

#include "base/cpu_info.h"

namespace trunnion::kernels {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool in_registers(Activation a) {
  return a == Activation::none || a == Activation::relu || a == Activation::clip || a == Activation::leaky_relu ||
         a == Activation::hard_swish || a == Activation::hard_sigmoid;
}

// What reading a float of an operand costs, in multiply-adds: from the second level cache, or from behind it.
constexpr double kReadNear = 3.0, kReadFar = 9.0;
constexpr double kNearBytes = 512 << 10;

// What stays the same for all register tiles of a run.
struct Tail {
  GemmMicroArgs args;
  bool activate = false;      // call apply_activation on the stored tile
  bool add_residual = false;  // and then add the residual
};

Tail make_tail(const BlockRun& run) {
  const Epilogue& e = *run.epilogue;
  Tail t;
  GemmMicroArgs& g = t.args;
  g.alpha = e.alpha;
  g.beta = e.beta;
  g.activation = e.activation;
  g.act_a = e.a;
  g.act_b = e.b;
  g.residual_after_activation = e.residual_after_activation;
  g.ldc = run.ldc;
  g.residual_ld = run.residual_ld;
  g.a_offset = run.a_offset;
  if (e.activation == Activation::relu) {
    g.activation = Activation::clip;
    g.act_a = 0.0f;
    g.act_b = std::numeric_limits<float>::infinity();
  } else if (!in_registers(e.activation)) {
    g.activation = Activation::none;
    t.activate = true;
    t.add_residual = e.residual_after_activation;
  }
  const bool has_residual = run.blocks[0].residual != nullptr;
  const bool late_residual = has_residual && g.residual_after_activation && g.activation != Activation::none;
  g.simple = e.alpha == 1.0f && e.beta == 0.0f && !e.bias_row && !late_residual &&
             (g.activation == Activation::none || g.activation == Activation::clip);
  return t;
}

// Floats of the largest register tile (14 x 32, 3 x 128 and the smaller ones of the other rungs).
constexpr int64_t kLargestTile = 448;

// A tile whose residual comes behind an activation that does not run in registers. The residual may be C itself, so the
// tile is made beside C.
void run_tile_beside(GemmMicroFn fn, Tail& t, const Epilogue& e, const RowBlock& block, int64_t col, int64_t cols) {
  GemmMicroArgs& g = t.args;
  float tile[kLargestTile];
  float* c = g.c;
  const int64_t ldc = g.ldc;
  g.c = tile;
  g.ldc = cols;
  if (g.beta != 0.0f) {
    for (int i = 0; i < block.count; ++i) {
      for (int64_t j = 0; j < cols; ++j) tile[i * cols + j] = c[i * ldc + j];
    }
  }
  fn(g);
  g.ldc = ldc;
  apply_activation(e.activation, e.a, e.b, tile, cols, block.count, cols);
  for (int i = 0; i < block.count; ++i) {
    const float* residual = block.residual + i * g.residual_ld + col;
    for (int64_t j = 0; j < cols; ++j) c[i * ldc + j] = tile[i * cols + j] + residual[j];
  }
}

// One register tile, or one row block of several panels at once.
void run_tile(GemmMicroFn fn, const BlockRun& run, Tail& t, const RowBlock& block, int64_t k_segment, int64_t col,
              int64_t cols, float* partial) {
  GemmMicroArgs& g = t.args;
  const Epilogue& e = *run.epilogue;
  g.rows = block.rows + k_segment * kRowSlots;
  g.partial = partial;
  g.cols = cols;
  g.c = block.c + col;
  g.bias_col = e.bias_col ? e.bias_col + col : nullptr;
  g.bias_row = block.bias_row;
  g.residual = block.residual && !t.add_residual ? block.residual + col : nullptr;
  if (g.last && t.add_residual && block.residual) return run_tile_beside(fn, t, e, block, col, cols);
  fn(g);
  if (g.last && t.activate) apply_activation(e.activation, e.a, e.b, g.c, g.ldc, block.count, cols);
}

void run_wide_group(const GemmMicroTable& table, const BlockRun& run, Tail& t, const KBlock& kb, BlockOfB b,
                    int64_t panel_begin, int64_t panel_end, bool four_at_once, const float* behind) {
  const int64_t slot = int64_t{table.max_rows} * table.width;  // partial sums of one register tile
  GemmMicroArgs& g = t.args;
  g.b_panel_stride = b.panel_stride;
  g.b_step = b.step ? b.step : table.width;
  g.next_b = nullptr;
  if (four_at_once) {
    g.b = b.at + b.k * table.width;
    const int64_t col = panel_begin * table.width;
    const int64_t all = kPanelGroup * table.width, left = run.col_end - col;
    for (int i = 0; i < run.block_count; ++i) {
      const RowBlock& block = run.blocks[i];
      run_tile(table.four[block.count], run, t, block, kb.segment, col, left < all ? left : all,
               run.partial + i * kPanelGroup * slot);
    }
    return;
  }
  for (int64_t p = panel_begin; p < panel_end; ++p) {
    const int64_t col = p * table.width;
    const int64_t left = run.col_end - col;
    const bool half = col + table.lanes >= run.n;
    if (!b.step) g.b_step = half ? table.lanes : table.width;
    g.b = b.at + (p - panel_begin) * b.panel_stride + b.k * (half ? table.lanes : table.width);
    const GemmMicroFn* fns = half ? table.half : table.one;
    // The row blocks of a panel read it from near; between them, they fetch the next one.
    const float* next = p + 1 < panel_end ? g.b + b.panel_stride : behind;
    if (!run.fetch_b || b.step || run.block_count == 1) next = nullptr;
    const int64_t part = kb.segments * kb.length * table.width / run.block_count;
    g.next_b_step = ceil_div(table.width, run.block_count);
    for (int i = 0; i < run.block_count; ++i) {
      const RowBlock& block = run.blocks[i];
      g.next_b = next ? next + i * part : nullptr;
      run_tile(fns[block.count], run, t, block, kb.segment, col, left < table.width ? left : table.width,
               run.partial + (i * kPanelGroup + p - panel_begin) * slot);
    }
  }
}

void run_narrow(const GemmMicroTable& table, const BlockRun& run, Tail& t, const KBlock& kb, BlockOfB b) {
  GemmMicroArgs& g = t.args;
  g.b = b.at + b.k;
  g.b_panel_stride = b.panel_stride;
  const bool activate = t.activate && !t.add_residual;  // of all rows of a block at once
  if (activate) t.activate = false;
  for (int i = 0; i < run.block_count; ++i) {
    for (int r = 0; r < run.blocks[i].count; r += kNarrowRows) {
      RowBlock part = run.blocks[i];
      part.count = part.count - r < kNarrowRows ? part.count - r : kNarrowRows;
      part.rows += r;
      part.c += r * run.ldc;
      if (part.residual) part.residual += r * run.residual_ld;
      if (part.bias_row) part.bias_row += r;
      run_tile(table.narrow[part.count][run.n], run, t, part, kb.segment, 0, run.n,
               run.partial + (i * kRowSlots + r) * kNarrowCols);
    }
    const Epilogue& e = *run.epilogue;
    if (activate && g.last) {
      apply_activation(e.activation, e.a, e.b, run.blocks[i].c, run.ldc, run.blocks[i].count, run.n);
    }
  }
  t.activate |= activate;
}

}  // namespace

const GemmMicroTable& gemm_micro_table() {
#if defined(__x86_64__)
  switch (active_rung()) {
    case Rung::avx512:
      return avx512::kGemmMicroTable;
    case Rung::avx2:
      return avx2::kGemmMicroTable;
    default:
      break;
  }
#endif
  return baseline::kGemmMicroTable;
}

int64_t k_block_count(const KShape& k) {
  if (k.size() <= kKBlock) return 1;
  if (k.length <= kKBlock) return ceil_div(k.segments, ceil_div(k.segments, ceil_div(k.size(), kKBlock)));
  return k.segments * ceil_div(k.length, kKBlock);
}

KBlock k_block(const KShape& k, int64_t index) {
  if (k.size() <= kKBlock) return {0, k.segments, 0, k.length, 0};
  if (k.length <= kKBlock) {
    const int64_t per = ceil_div(k.segments, ceil_div(k.size(), kKBlock)), begin = index * per;
    return {begin, begin + per < k.segments ? per : k.segments - begin, 0, k.length, begin * k.length};
  }
  const int64_t pieces = ceil_div(k.length, kKBlock), segment = index / pieces;
  const int64_t begin = even_part_begin(k.length, pieces, index % pieces);
  const int64_t end = even_part_begin(k.length, pieces, index % pieces + 1);
  return {segment, 1, begin, end - begin, segment * k.length + begin};
}

int64_t partial_size(const GemmMicroTable& table, const KShape& k) {
  if (k_block_count(k) == 1) return 0;
  const int64_t slot = int64_t{table.max_rows} * table.width;
  return kBlocksPerRun * kPanelGroup * slot;
}

TileWork product_work(const GemmMicroTable& table, int64_t m, int64_t n, int64_t k, int64_t unit) {
  if (is_narrow(n)) unit = n;
  const double length = k > 0 ? static_cast<double>(k) : 1.0, width = static_cast<double>(unit);
  const double far = static_cast<double>(n) * length * sizeof(float) < kNearBytes ? kReadNear : kReadFar;
  TileWork work;
  work.rows = m;
  work.cols = n > 0 ? ceil_div(n, unit) : 0;
  work.cell = width * length;
  work.cell_moved = kReadNear * width;
  work.row_read = kReadNear * length;
  work.col_read = far * width * length;
  work.row_block = is_narrow(n) ? kNarrowRows : table.max_rows;
  work.row_block_extra = 1.0;
  return work;
}

void run_blocks(const GemmMicroTable& table, const BlockRun& run) {
  if (run.block_count == 0 || run.col_begin >= run.col_end) return;
  Tail t = make_tail(run);
  GemmMicroArgs& g = t.args;
  const bool narrow = is_narrow(run.n);
  const int64_t k_blocks = k_block_count(run.k), k_size = run.k.size();
  const int64_t panel_last = ceil_div(run.col_end, table.width);
  int most_rows = 0;
  for (int i = 0; i < run.block_count; ++i)
    most_rows = run.blocks[i].count > most_rows ? run.blocks[i].count : most_rows;
  for (int64_t p = run.col_begin / table.width, next; p < panel_last; p = next) {
    int64_t p_end = p + kPanelGroup < panel_last ? p + kPanelGroup : panel_last;
    if (run.whole_panels_apart && p * table.width + table.width <= run.n && p_end * table.width > run.n) --p_end;
    next = p_end;
    const bool whole =
        p_end - p == kPanelGroup && (p_end * table.width <= run.n || last_panel_width(table, run.n) == table.width);
    for (int64_t i = 0; i < k_blocks; ++i) {
      const KBlock kb = k_block(run.k, i);
      g.first = i == 0;
      g.last = i + 1 == k_blocks;
      g.segments = kb.segments;
      g.length = kb.length;
      g.a_offset = run.a_offset + (run.copy_a ? 0 : kb.offset);
      if (run.copy_a) run.copy_a(run.context, kb);
      BlockOfB b;
      if (run.source_b) {
        b = run.source_b(run.context, kb, p, p_end);
      } else if (narrow) {
        b = {run.packed_b, k_size, kb.k};
      } else {
        b = {run.packed_b + p * k_size * table.width, k_size * table.width, kb.k};
      }
      if (narrow) {
        run_narrow(table, run, t, kb, b);
      } else {
        const bool more = g.last ? p_end < panel_last : true;
        const float* behind = run.source_b || !more ? nullptr
                              : g.last              ? b.at + (p_end - p) * b.panel_stride
                                                    : b.at + k_block(run.k, i + 1).k * table.width;
        run_wide_group(table, run, t, kb, b, p, p_end, whole && most_rows <= table.wide_rows, behind);
      }
    }
  }
}

void finish_sums(const GemmMicroTable& table, const BlockRun& run, const RowBlock& block, int64_t col, float* sums) {
  Tail t = make_tail(run);
  GemmMicroArgs& g = t.args;
  g.first = false;
  g.last = true;
  const int64_t left = run.col_end - col;
  run_tile(table.one[block.count], run, t, block, 0, col, left < table.width ? left : table.width, sums);
}

}  // namespace trunnion::kernels
