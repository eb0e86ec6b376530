// Convolution: choice of algorithm, packing of weights, and handing tiles to the algorithm.
#include "kernels/conv.h"

#include "kernels/conv_geometry.h"
#include "kernels/gemm.h"
#include "kernels/gemm_bf16.h"
#include "kernels/gemm_bf16_table.h"
#include "kernels/gemm_pack.h"

namespace trunnion::kernels {
namespace {

bool is_gemm(const ConvShape& s) {
  for (int i = 0; i < 3; ++i) {
    if (s.kernel[i] != 1 || s.stride[i] != 1 || s.pad_begin[i] != 0 || s.in[i] != s.out[i]) return false;
  }
  return s.groups == 1 && !s.transposed;
}

// Small groups share a vector of output channels: the most that divide the number of groups.
int64_t choose_group_step(const GemmMicroTable& table, const ConvShape& s) {
  const int64_t n = s.cout / s.groups;
  if (s.groups == 1 || s.transposed || n >= table.lanes) return 1;
  int64_t step = table.lanes / n;
  while (s.groups % step != 0) --step;
  return step;
}

// Weight of (output channel, input channel within its group, tap).
struct Weights {
  const float* w;
  int64_t taps, cin, cout;  // channels of a group
  bool transposed;

  const float* at(int64_t group, int64_t ci, int64_t co, int64_t tap) const {
    return transposed ? w + ((group * cin + ci) * cout + co) * taps + tap
                      : w + ((group * cout + co) * cin + ci) * taps + tap;
  }
  int64_t ci_stride() const { return transposed ? cout * taps : taps; }
  int64_t co_stride() const { return transposed ? taps : cin * taps; }
};

Weights weights_of(const ConvPlan& plan, const float* w) {
  const ConvShape& s = plan.shape;
  return {w, conv_taps(s), plan.channels_in / s.groups, s.cout / s.groups, s.transposed};
}

// Groups on their own must begin with a pair.
bool bf16_fits(const ConvShape& s, int64_t group_step) {
  return bf16_gemm_pays() && bf16_gemm_fits(s.cout / s.groups) &&
         (s.groups == 1 || (group_step == 1 && s.cin / s.groups % 2 == 0));
}

// One unit of a GEMM-shaped packing: one panel of one GEMM of one phase.
void pack_panel(const ConvPlan& plan, const Weights& w, int64_t unit, float* packed) {
  const GemmMicroTable& table = gemm_micro_table();
  const ConvShape& s = plan.shape;
  const ConvGemm gemm = conv_gemm(plan);
  const int64_t panels = gemm_panel_count(gemm.n), panel = unit % panels;
  const int64_t group = unit / panels % gemm.groups;
  const TapLines lines = tap_lines(s, unit / panels / gemm.groups);
  const int64_t taps = lines.z.taps() * lines.y.taps() * lines.x.taps(), k_size = taps * gemm.cin;
  const int64_t width = is_narrow(gemm.n) ? 1 : panel + 1 < panels ? table.width : last_panel_width(table, gemm.n);
  float* out = packed +
               packed_b_size(table, 1, gemm.n) * gemm.cin * (gemm.groups * taps_before(s, lines) + group * taps) +
               panel * k_size * table.width;
  const int64_t panel_stride = is_narrow(gemm.n) ? k_size : k_size * table.width;
  if (plan.group_step > 1) {
    const int64_t size = is_narrow(gemm.n) ? k_size * gemm.n : k_size * width;
    for (int64_t i = 0; i < size; ++i) out[i] = 0.0f;
  }
  const Bf16Table* const bf16 = s.bf16 != 0 ? bf16_table() : nullptr;
  if (plan.group_step == 1 && !s.transposed && taps > 1) {
    const float* b = w.at(group, 0, 0, 0);
    if (bf16 ? bf16_pack_b_taps(*bf16, b, taps, w.cin, gemm.n, panel, out)
             : pack_b_taps(table, b, taps, gemm.cin, gemm.n, panel, out))
      return;
  }
  int64_t tap = 0;
  for (int64_t z = 0; z < s.kernel[0]; ++z) {
    for (int64_t y = 0; y < s.kernel[1]; ++y) {
      for (int64_t x = 0; x < s.kernel[2]; ++x) {
        if (!lines.z.has(z) || !lines.y.has(y) || !lines.x.has(x)) continue;
        const int64_t from = (z * s.kernel[1] + y) * s.kernel[2] + x;
        float* to = out + tap++ * gemm.cin * width;
        if (plan.group_step == 1) {
          const float* b = w.at(group, 0, 0, from);
          if (bf16) {
            bf16_pack_b_block(*bf16, b, w.ci_stride(), w.co_stride(), 0, w.cin, gemm.n, panel, panel + 1, panel_stride,
                              to);
            continue;
          }
          pack_b_block(table, b, w.ci_stride(), w.co_stride(), 0, gemm.cin, gemm.n, panel, panel + 1, panel_stride, to);
          continue;
        }
        for (int64_t column = panel * table.width; column < gemm.n && column < (panel + 1) * table.width; ++column) {
          const int64_t g = column / w.cout;  // within this block-diagonal GEMM
          for (int64_t ci = 0; ci < w.cin; ++ci) {
            const float value = *w.at(group * plan.group_step + g, ci, column % w.cout, from);
            const int64_t k = g * w.cin + ci;
            if (is_narrow(gemm.n)) {
              to[column * k_size + k] = value;
            } else {
              to[k * width + column - panel * table.width] = value;
            }
          }
        }
      }
    }
  }
}

// Direct: [tap][input channel of the group][cout].
void pack_tap(const ConvShape& s, const Weights& w, int64_t tap, float* packed) {
  float* out = packed + tap * w.cin * s.cout;
  for (int64_t ci = 0; ci < w.cin; ++ci) {
    for (int64_t g = 0; g < s.groups; ++g) {
      for (int64_t co = 0; co < w.cout; ++co) *out++ = *w.at(g, ci, co, tap);
    }
  }
}

}  // namespace

ConvShape conv_with_rank_3(const ConvShape& s) {
  ConvShape r = s;
  r.rank = 3;
  const int lead = 3 - s.rank;
  for (int i = 0; i < 3; ++i) {
    const bool unit = i < lead;
    const int from = unit ? 0 : i - lead;
    r.in[i] = unit ? 1 : s.in[from];
    r.out[i] = unit ? 1 : s.out[from];
    r.kernel[i] = unit ? 1 : s.kernel[from];
    r.stride[i] = unit ? 1 : s.stride[from];
    r.dilation[i] = unit ? 1 : s.dilation[from];
    r.pad_begin[i] = unit ? 0 : s.pad_begin[from];
  }
  return r;
}

ConvPlan conv_plan(const ConvShape& shape, int threads) {
  ConvPlan plan;
  plan.shape = conv_with_rank_3(shape);
  ConvShape& s = plan.shape;
  plan.channels_in = s.cin;
  const GemmMicroTable& table = gemm_micro_table();
  if (s.winograd != 0) {
    s.bf16 = 0;
    plan.algorithm = ConvAlgorithm::winograd;
    conv_winograd_plan(plan, threads);
    return plan;
  }
  if (conv_direct_fits(s)) {
    s.bf16 = 0;
    plan.algorithm = ConvAlgorithm::direct;
    plan.packed_size = conv_taps(s) * (s.cin / s.groups) * s.cout;
    plan.pack_units = conv_taps(s);
    conv_direct_plan(plan, threads);
    return plan;
  }
  if (s.bf16 != 0 && conv_split_fits(s)) {
    plan.algorithm = ConvAlgorithm::split;
    conv_split_plan(plan, threads);
    return plan;
  }
  plan.algorithm = s.transposed ? ConvAlgorithm::subpixel : is_gemm(s) ? ConvAlgorithm::gemm : ConvAlgorithm::indirect;
  plan.group_step = choose_group_step(table, s);
  s.bf16 = s.bf16 == 1 && bf16_fits(s, plan.group_step) ? 1 : 0;
  if (s.bf16 != 0) {
    s.cin = pairs_of(s.cin);
    plan.rounds_x = plan.algorithm != ConvAlgorithm::gemm;
    plan.x_stride = s.cin % 256 == 0 ? s.cin + 16 : s.cin;  // pixels a multiple of 4 KB apart share cache sets
  }
  const ConvGemm gemm = conv_gemm(plan);
  plan.packed_size = packed_b_size(table, 1, gemm.n) * gemm.cin * gemm.groups * conv_taps(s);
  plan.pack_units = conv_phases(s) * gemm.groups * gemm_panel_count(gemm.n);
  if (plan.algorithm != ConvAlgorithm::gemm) {
    conv_indirect_plan(plan, threads);
    return plan;
  }
  const GemmGrid grid = gemm_grid(s.batch * conv_out_pixels(s), s.cout, s.cin, threads);
  plan.row_step = grid.row_step;
  plan.row_tiles = grid.row_tiles;
  plan.col_step = grid.col_step;
  plan.col_tiles = grid.col_tiles;
  plan.tiles = grid.count();
  plan.scratch_size = s.bf16 != 0 ? bf16_gemm_scratch_size(s.cout, plan.channels_in) : gemm_scratch_size(s.cout, s.cin);
  return plan;
}

void conv_pack(const ConvPlan& plan, const float* weights, int64_t unit_begin, int64_t unit_end, float* packed) {
  const Weights w = weights_of(plan, weights);
  for (int64_t unit = unit_begin; unit < unit_end; ++unit) {
    if (plan.algorithm == ConvAlgorithm::direct) {
      pack_tap(plan.shape, w, unit, packed);
    } else if (plan.algorithm == ConvAlgorithm::winograd) {
      conv_winograd_pack(plan, weights, unit, packed);
    } else if (plan.algorithm == ConvAlgorithm::split) {
      conv_split_pack(plan, weights, unit, packed);
    } else {
      pack_panel(plan, w, unit, packed);
    }
  }
}

void conv_round_x(const ConvPlan& plan, const float* x, int64_t x_pixel_stride, int64_t begin, int64_t end,
                  float* out) {
  const Bf16Table& table = *bf16_table();
  for (int64_t i = begin; i < end; ++i)
    table.round_row(x + i * x_pixel_stride, plan.channels_in, out + i * plan.x_stride);
}

namespace {

// 1x1 with stride 1, rounded to bfloat16.
void bf16_tile(const ConvPlan& plan, const ConvArgs& args, int64_t tile, void* scratch) {
  Bf16GemmArgs g;
  g.m = plan.shape.batch * conv_out_pixels(plan.shape);
  g.n = plan.shape.cout;
  g.k = plan.channels_in;
  g.a = args.x;
  g.a_row_stride = args.x_pixel_stride;
  g.packed_b = reinterpret_cast<const uint16_t*>(args.packed);
  g.c = args.y;
  g.ldc = args.y_pixel_stride;
  g.epilogue = args.epilogue;
  g.epilogue.bias_row = nullptr;
  bf16_gemm_tile(g, {plan.row_step, plan.col_step, plan.row_tiles, plan.col_tiles}, tile, scratch);
}

}  // namespace

void conv_tile(const ConvPlan& plan, const ConvArgs& args, int64_t tile_begin, int64_t tile_end, void* scratch) {
  for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
    switch (plan.algorithm) {
      case ConvAlgorithm::gemm: {
        if (plan.shape.bf16 != 0) {
          bf16_tile(plan, args, tile, scratch);
          break;
        }
        GemmArgs g;
        g.m = plan.shape.batch * conv_out_pixels(plan.shape);
        g.n = plan.shape.cout;
        g.k = plan.shape.cin;
        g.a = args.x;
        g.a_row_stride = args.x_pixel_stride;
        g.packed_b = args.packed;
        g.c = args.y;
        g.ldc = args.y_pixel_stride;
        g.epilogue = args.epilogue;
        g.epilogue.bias_row = nullptr;
        gemm_tile(g, {plan.row_step, plan.col_step, plan.row_tiles, plan.col_tiles}, tile, scratch);
        break;
      }
      case ConvAlgorithm::direct:
        conv_direct_tile(plan, args, tile, scratch);
        break;
      case ConvAlgorithm::winograd:
        conv_winograd_tile(plan, args, tile, scratch);
        break;
      case ConvAlgorithm::split:
        conv_split_tile(plan, args, tile, scratch);
        break;
      case ConvAlgorithm::indirect:
      case ConvAlgorithm::subpixel:
        conv_indirect_tile(plan, args, tile, scratch);
        break;
    }
  }
}

}  // namespace trunnion::kernels
