// Direct convolution: cuts the output into lines, and a line into runs of pixels whose taps are all inside the input.
#include "kernels/conv_direct.h"

#include "kernels/conv_geometry.h"

namespace trunnion::kernels {
namespace {

constexpr int64_t kWeightFloats = 2048;  // aim for the weights of a block of channels

// Taps of one dimension that contribute to a phase and lie inside the input at index j.
struct Tap {
  int64_t k, first;
};

int64_t taps_of(const TapLine& line, Tap* out) {
  int64_t n = 0;
  for (int64_t k = 0; k < line.kernel; ++k) {
    if (line.has(k)) out[n++] = {k, line.first(k)};
  }
  return n;
}

// The first j behind `j` at which a tap enters or leaves the input.
int64_t next_change(const TapLine& line, const Tap* taps, int64_t count, int64_t j) {
  int64_t next = line.outputs();
  const int64_t advance = line.advance();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = taps[i].first + j * advance;
    if (at >= line.in) continue;
    const int64_t left = at < 0 ? -at : line.in - at;
    const int64_t change = j + conv_ceil_div(left, advance);
    if (change < next) next = change;
  }
  return next;
}

bool inside(const TapLine& line, const Tap& tap, int64_t j) {
  const int64_t at = tap.first + j * line.advance();
  return at >= 0 && at < line.in;
}

// Depthwise with taps side by side: pixels share columns.
bool is_window(const ConvShape& s) {
  return !s.transposed && s.groups == s.cin && s.cin == s.cout && s.dilation[2] == 1 &&
         has_window(s.kernel[2], s.stride[2]);
}

int64_t lines_of(const ConvShape& s) {  // of the largest phase
  return s.batch * conv_ceil_div(s.out[0], s.transposed ? s.stride[0] : 1) *
         conv_ceil_div(s.out[1], s.transposed ? s.stride[1] : 1);
}

// A line of output pixels, in blocks that share their columns. Rows of taps are set, as offsets from `image`.
void run_window_line(const ConvArgs& args, const ConvShape& s, const float* image, int64_t out_line, WindowArgs& g) {
  const int64_t width = s.out[2], blocks = conv_ceil_div(width, kWindowPixels);
  g.taps_x = static_cast<int>(s.kernel[2]);
  g.stride = static_cast<int>(s.stride[2]);
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t j = even_part_begin(width, blocks, i), column = j * s.stride[2] - s.pad_begin[2];
    const int64_t pixel = out_line + j;
    g.pixels = even_part_begin(width, blocks, i + 1) - j;
    g.x = image + column * args.x_pixel_stride;
    g.column_begin = -column;
    g.column_end = s.in[2] - column;
    g.y = args.y + pixel * args.y_pixel_stride;
    g.residual = args.epilogue.residual ? args.epilogue.residual + pixel * args.epilogue.residual_ld : nullptr;
    direct_table().window(g);
  }
}

}  // namespace

bool conv_direct_fits(const ConvShape& s) {
  if (s.groups <= 1) return false;
  const int64_t lanes = direct_table().lanes, cin = s.cin / s.groups, cout = s.cout / s.groups;
  if (cin == 1 && cout == 1) return true;
  if (cout >= lanes || cin > 4) return false;  // from 8 on a block-diagonal GEMM is faster
  for (int64_t c = 0; c < s.cout; c += lanes) {
    const int64_t last = c + lanes < s.cout ? c + lanes - 1 : s.cout - 1;
    if ((last / cout - c / cout + 1) * cin > lanes) return false;
  }
  return true;
}

void conv_direct_plan(ConvPlan& plan, int threads) {
  const ConvShape& s = plan.shape;
  const int64_t lanes = direct_table().lanes, taps = conv_taps(s);
  plan.scratch_size = static_cast<size_t>(
      ((s.kernel[0] + s.kernel[1] + s.kernel[2]) * static_cast<int64_t>(sizeof(Tap)) + taps * 16 + 63) / 64 * 64);
  const int64_t lines = lines_of(s), phases = conv_phases(s);
  if (lines == 0 || s.out[2] == 0) return;
  TileWork work;
  work.rows = lines;
  work.cols = conv_ceil_div(s.cout, lanes);
  // Bound by memory: a multiply-add counts as four of a GEMM.
  work.cell = 4.0 * static_cast<double>(lanes * taps * (s.cin / s.groups)) *
              static_cast<double>(s.batch * conv_out_pixels(s)) / static_cast<double>(phases * lines);
  work.cell_moved = work.cell / static_cast<double>(taps);
  work.row_read = work.cell / 2;  // a line is read best in one piece
  const TileGrid grid = cut_into_tiles(work, static_cast<int>(conv_ceil_div(threads, phases)));
  plan.row_step = grid.row_step;
  plan.row_tiles = grid.row_tiles;
  plan.col_step = grid.col_step * lanes;
  plan.col_tiles = grid.col_tiles;
  plan.tiles = phases * grid.count();
}

void conv_direct_tile(const ConvPlan& plan, const ConvArgs& args, int64_t tile, void* scratch) {
  const ConvShape& s = plan.shape;
  const TapLines lines = tap_lines(s, tile / plan.col_tiles / plan.row_tiles);
  Tap* zs = static_cast<Tap*>(scratch);
  Tap* ys = zs + s.kernel[0];
  Tap* xs = ys + s.kernel[1];
  int64_t* x_offset = reinterpret_cast<int64_t*>(xs + s.kernel[2]);
  int64_t* w_offset = x_offset + conv_taps(s);
  const int64_t nz = taps_of(lines.z, zs), ny = taps_of(lines.y, ys), nx = taps_of(lines.x, xs);
  const int64_t zn = lines.z.outputs(), yn = lines.y.outputs(), xn = lines.x.outputs();

  const DirectTable& table = direct_table();
  Epilogue epilogue = args.epilogue;
  epilogue.bias_row = nullptr;
  WindowArgs g;
  g.w = args.packed;
  g.x_offset = x_offset;
  g.w_offset = w_offset;
  g.cin = s.cin / s.groups;
  g.cout = s.cout / s.groups;
  g.channels = s.cout;
  g.in_channels = s.cin;
  g.x_step = lines.x.advance() * args.x_pixel_stride;
  g.y_step = lines.x.step() * args.y_pixel_stride;
  g.residual_step = lines.x.step() * epilogue.residual_ld;
  g.epilogue = &epilogue;
  const bool window = is_window(s);
  if (window) g.x_step = args.x_pixel_stride;

  const int64_t line_begin = tile / plan.col_tiles % plan.row_tiles * plan.row_step, all = s.batch * zn * yn;
  const int64_t line_end = line_begin + plan.row_step < all ? line_begin + plan.row_step : all;
  const int64_t channel_begin = tile % plan.col_tiles * plan.col_step;
  const int64_t channel_end = channel_begin + plan.col_step < s.cout ? channel_begin + plan.col_step : s.cout;
  // So many channels at a time that their weights stay in the first-level cache.
  const int64_t unit = 8 * table.lanes;
  int64_t block = kWeightFloats / (conv_taps(s) * g.cin) / unit * unit;
  if (block < unit) block = unit;
  for (int64_t c = channel_begin; c < channel_end; c += block) {
    g.channel_begin = c;
    g.channel_end = c + block < channel_end ? c + block : channel_end;
    for (int64_t line = line_begin; line < line_end; ++line) {
      const int64_t batch = line / yn / zn, jz = line / yn % zn, jy = line % yn;
      const int64_t oz = lines.z.phase + jz * lines.z.step(), oy = lines.y.phase + jy * lines.y.step();
      const int64_t out_line = ((batch * s.out[0] + oz) * s.out[1] + oy) * s.out[2] + lines.x.phase;
      const float* image = args.x + batch * conv_in_pixels(s) * args.x_pixel_stride;
      if (window) {
        g.taps = 0;
        for (int64_t a = 0; a < nz; ++a) {
          if (!inside(lines.z, zs[a], jz)) continue;
          for (int64_t b = 0; b < ny; ++b) {
            if (!inside(lines.y, ys[b], jy)) continue;
            const int64_t z = zs[a].first + jz * lines.z.advance(), y = ys[b].first + jy * lines.y.advance();
            x_offset[g.taps] = (z * s.in[1] + y) * s.in[2] * args.x_pixel_stride;
            w_offset[g.taps] = (zs[a].k * s.kernel[1] + ys[b].k) * s.kernel[2] * s.cout;
            ++g.taps;
          }
        }
        run_window_line(args, s, image, out_line, g);
        continue;
      }
      for (int64_t j = 0; j < xn;) {
        const int64_t end = next_change(lines.x, xs, nx, j);
        g.taps = 0;
        for (int64_t a = 0; a < nz; ++a) {
          if (!inside(lines.z, zs[a], jz)) continue;
          for (int64_t b = 0; b < ny; ++b) {
            if (!inside(lines.y, ys[b], jy)) continue;
            const int64_t z = zs[a].first + jz * lines.z.advance(), y = ys[b].first + jy * lines.y.advance();
            for (int64_t c = 0; c < nx; ++c) {
              if (!inside(lines.x, xs[c], j)) continue;
              x_offset[g.taps] =
                  ((z * s.in[1] + y) * s.in[2] + xs[c].first + j * lines.x.advance()) * args.x_pixel_stride;
              w_offset[g.taps] = ((zs[a].k * s.kernel[1] + ys[b].k) * s.kernel[2] + xs[c].k) * g.cin * s.cout;
              ++g.taps;
            }
          }
        }
        const int64_t pixel = out_line + j * lines.x.step();
        g.x = image;
        g.y = args.y + pixel * args.y_pixel_stride;
        g.residual = epilogue.residual ? epilogue.residual + pixel * epilogue.residual_ld : nullptr;
        g.pixels = end - j;
        table.run(g);
        j = end;
      }
    }
  }
}

}  // namespace trunnion::kernels
