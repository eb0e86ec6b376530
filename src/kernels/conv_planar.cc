// Convolution over planes: copies the input rows of a band of outputs into scratch, with the padding, and with columns
// sorted by their remainder by the stride, so that every tap reads neighbouring elements.
#include "kernels/conv_planar.h"

#include <algorithm>
#include <cstring>

#include "kernels/conv_geometry.h"
#include "kernels/conv_planar_table.h"

namespace trunnion::kernels {
namespace {

constexpr int64_t kBandFloats = 6 << 10;  // aim for the input rows of a band
constexpr int64_t kMostCin = 32;          // from more on, a GEMM over pixels pays for transposing
constexpr int64_t kMostStride = 4;
constexpr int64_t kChannels = 8;    // depthwise: of a tile
constexpr int64_t kSlack = 4 * 16;  // what a row of vectors may read behind its end

bool is_depthwise(const ConvShape& s) { return s.groups > 1; }

// Sums are over these; paired: two of them make a row of outputs.
int64_t virtual_channels(const ConvShape& s) { return s.transposed ? s.cout * s.kernel[1] * s.kernel[2] : s.cout; }
int64_t taps_of(const ConvShape& s) {
  return s.transposed ? s.cin : is_depthwise(s) ? conv_taps(s) : s.cin * conv_taps(s);
}

struct Blocks {
  int64_t count, unit, channels;
  int64_t begin(int64_t i) const { return even_part_begin(channels / unit, count, i) * unit; }
};
Blocks blocks_of(const ConvShape& s) {
  const int64_t n = virtual_channels(s);
  return {conv_ceil_div(n, kPlanarChannels), s.transposed ? 2 : 1, n};
}

// Floats of the rows of one channel in scratch.
int64_t row_floats(const ConvPlanarPlan& p) { return p.pitch * p.shape.stride[2]; }

// Input rows into their places, without what the padding covers.
void copy_inside(const ConvPlanarPlan& plan, const float* x, int64_t rows, float* to) {
  const ConvShape& s = plan.shape;
  const int64_t pad = s.pad_begin[2], stride = s.stride[2], floats = row_floats(plan);
  // Columns that some tap reads.
  const int64_t width = std::min(s.in[2], (s.out[2] - 1) * stride + (s.kernel[2] - 1) * s.dilation[2] + 1 - pad);
  if (width <= 0) return;
  if (stride == 1) return planar_table().copy(x, s.in[2], to + pad, floats, width, rows);
  if (stride == 2) {
    float* even = to + pad % 2 * plan.pitch + pad / 2;
    float* odd = to + (pad + 1) % 2 * plan.pitch + (pad + 1) / 2;
    return planar_table().split(x, s.in[2], even, odd, floats, width, rows);
  }
  for (int64_t r = 0; r < rows; ++r, x += s.in[2], to += floats) {
    for (int64_t i = 0; i < width; ++i) to[(pad + i) % stride * plan.pitch + (pad + i) / stride] = x[i];
  }
}

// The rows [first, first + rows) of a plane; those outside of it are zero.
void copy_rows(const ConvPlanarPlan& plan, const float* plane, int64_t first, int64_t rows, float* to) {
  const ConvShape& s = plan.shape;
  const int64_t floats = row_floats(plan);
  const int64_t lo = std::clamp<int64_t>(-first, 0, rows), hi = std::clamp<int64_t>(s.in[1] - first, lo, rows);
  if (lo > 0) std::memset(to, 0, static_cast<size_t>(lo * floats) * sizeof(float));
  if (hi > lo) copy_inside(plan, plane + (first + lo) * s.in[2], hi - lo, to + lo * floats);
  if (hi < rows) std::memset(to + hi * floats, 0, static_cast<size_t>((rows - hi) * floats) * sizeof(float));
}

int64_t tap_offset(const ConvPlanarPlan& plan, int64_t y, int64_t x) {
  const ConvShape& s = plan.shape;
  const int64_t column = x * s.dilation[2];
  return y * s.dilation[1] * row_floats(plan) + column % s.stride[2] * plan.pitch + column / s.stride[2];
}

size_t offset_bytes(const ConvShape& s) { return static_cast<size_t>(conv_round_up(taps_of(s) * 8, 64)); }

void activate_rows(const ConvPlanarArgs& args, float* y, int64_t floats) {
  if (args.activation != Activation::none) apply_activation(args.activation, args.a, args.b, y, floats, 1, floats);
}

void depthwise_tile(const ConvPlanarPlan& plan, const ConvPlanarArgs& args, int64_t tile, void* scratch) {
  const ConvShape& s = plan.shape;
  int64_t* offset = static_cast<int64_t*>(scratch);
  float* rows = reinterpret_cast<float*>(static_cast<char*>(scratch) + offset_bytes(s));
  for (int64_t y = 0, t = 0; y < s.kernel[1]; ++y)
    for (int64_t x = 0; x < s.kernel[2]; ++x) offset[t++] = tap_offset(plan, y, x);
  std::memset(rows, 0, static_cast<size_t>(plan.band_in * row_floats(plan) + kSlack) * sizeof(float));
  PlanarPlane g;
  g.x = rows;
  g.offset = offset;
  g.taps = conv_taps(s);
  g.x_step = s.stride[1] * row_floats(plan);
  g.y_step = g.count = s.out[2];
  g.kernel_rows = s.kernel[1];
  g.kernel_columns = s.kernel[2];
  g.neighbours = s.stride[1] == 1 && s.dilation[1] == 1;
  const int64_t end = std::min((tile + 1) * kChannels, s.batch * s.cout);
  for (int64_t c = tile * kChannels; c < end; ++c) {
    const int64_t channel = c % s.cout;
    const float* plane = args.x + c * s.in[1] * s.in[2];
    float* out = args.y + c * s.out[1] * s.out[2];
    g.w = args.packed + channel * g.taps;
    g.bias = args.bias ? args.bias[channel] : 0.0f;
    for (int64_t first = 0; first < s.out[1]; first += plan.band_rows) {
      g.rows = std::min(plan.band_rows, s.out[1] - first);
      const int64_t needed = (g.rows - 1) * s.stride[1] + (s.kernel[1] - 1) * s.dilation[1] + 1;
      copy_rows(plan, plane, first * s.stride[1] - s.pad_begin[1], needed, rows);
      g.y = out + first * s.out[2];
      planar_table().plane(g);
      activate_rows(args, g.y, g.rows * s.out[2]);
    }
  }
}

// A band of rows of all output channels of a picture.
void dense_tile(const ConvPlanarPlan& plan, const ConvPlanarArgs& args, int64_t tile, void* scratch) {
  const ConvShape& s = plan.shape;
  int64_t* offset = static_cast<int64_t*>(scratch);
  float* rows = reinterpret_cast<float*>(static_cast<char*>(scratch) + offset_bytes(s));
  const int64_t image = tile / plan.bands, first = tile % plan.bands * plan.band_rows;
  const int64_t lines = std::min(plan.band_rows, (s.transposed ? s.in[1] : s.out[1]) - first);
  const int64_t in_plane = s.in[1] * s.in[2], out_plane = s.out[1] * s.out[2];
  const float* x = args.x + image * s.cin * in_plane;
  float* y = args.y + image * s.cout * out_plane;
  PlanarRow g;
  g.offset = offset;
  g.taps = taps_of(s);
  g.paired = s.transposed;
  int64_t step = 0;  // of x from output row to output row
  if (s.transposed) {
    for (int64_t i = 0; i < s.cin; ++i) offset[i] = i * in_plane;
    x += first * s.in[2];
    step = g.count = s.in[2];
  } else {
    const int64_t channel = plan.band_in * row_floats(plan);
    int64_t t = 0;
    for (int64_t i = 0; i < s.cin; ++i)
      for (int64_t a = 0; a < s.kernel[1]; ++a)
        for (int64_t b = 0; b < s.kernel[2]; ++b) offset[t++] = i * channel + tap_offset(plan, a, b);
    std::memset(rows, 0, static_cast<size_t>(s.cin * channel + kSlack) * sizeof(float));
    const int64_t needed = (lines - 1) * s.stride[1] + (s.kernel[1] - 1) * s.dilation[1] + 1;
    for (int64_t i = 0; i < s.cin; ++i)
      copy_rows(plan, x + i * in_plane, first * s.stride[1] - s.pad_begin[1], needed, rows + i * channel);
    x = rows;
    step = s.stride[1] * row_floats(plan);
    g.count = s.out[2];
    g.padded = true;
  }
  const Blocks blocks = blocks_of(s);
  const int64_t kernel = s.transposed ? s.kernel[1] * s.kernel[2] : 1;
  for (int64_t b = 0; b < blocks.count; ++b) {
    const int64_t begin = blocks.begin(b);
    g.channels = blocks.begin(b + 1) - begin;
    g.w = args.packed + begin * g.taps;
    for (int64_t c = 0; c < g.channels; ++c) g.bias[c] = args.bias ? args.bias[(begin + c) / kernel] : 0.0f;
    for (int64_t line = 0; line < lines; ++line) {
      g.x = x + line * step;
      for (int64_t c = 0; c < g.channels; c += blocks.unit) {
        const int64_t at = begin + c, row = (first + line) * (s.transposed ? s.kernel[1] : 1) + at % kernel / 2;
        g.y[c / blocks.unit] = y + at / kernel * out_plane + row * s.out[2];
      }
      planar_table().row(g);
      for (int64_t c = 0; c < g.channels; c += blocks.unit) activate_rows(args, g.y[c / blocks.unit], s.out[2]);
    }
  }
}

}  // namespace

bool conv_planar_fits(const ConvShape& shape) {
  const ConvShape s = conv_with_rank_3(shape);
  if (s.in[0] != 1 || s.kernel[0] != 1 || s.out[0] != 1 || s.pad_begin[0] != 0) return false;
  if (s.pad_begin[1] < 0 || s.pad_begin[2] < 0 || s.batch < 1 || s.out[1] < 1 || s.out[2] < 1) return false;
  const int64_t lanes = planar_table().lanes;
  if (s.transposed) {
    for (int d = 1; d < 3; ++d) {
      const bool tiled = s.kernel[d] == s.stride[d] && s.pad_begin[d] == 0 && s.dilation[d] == 1;
      if (!tiled || s.out[d] != s.in[d] * s.stride[d]) return false;
    }
    return s.groups == 1 && s.kernel[2] == 2 && s.in[2] >= lanes;
  }
  if (s.stride[2] > kMostStride || conv_taps(s) == 1 || conv_taps(s) > 256) return false;
  if (4 * s.out[2] < 3 * lanes && s.out[2] * s.out[1] > 1) return false;
  if (is_depthwise(s)) return s.groups == s.cin && s.cin == s.cout;
  return s.cin <= kMostCin;
}

ConvPlanarPlan conv_planar_plan(const ConvShape& shape, int threads) {
  ConvPlanarPlan plan;
  plan.shape = conv_with_rank_3(shape);
  const ConvShape& s = plan.shape;
  const int64_t rows = s.transposed ? s.in[1] : s.out[1];
  plan.packed_size = virtual_channels(s) * taps_of(s);
  plan.band_rows = s.transposed ? 4 : rows;
  if (!s.transposed) {
    const int64_t last = (s.out[2] - 1) * s.stride[2] + (s.kernel[2] - 1) * s.dilation[2];  // and what is copied
    plan.pitch = conv_round_up(std::max(last, s.pad_begin[2] + s.in[2]) / s.stride[2] + 1, 16) + 16;
    const int64_t channels = is_depthwise(s) ? 1 : s.cin, row = channels * row_floats(plan);
    const int64_t fit = kBandFloats / row - (s.kernel[1] - 1) * s.dilation[1] - 1;
    plan.band_rows =
        std::min(std::max<int64_t>(1, rows), fit < 0 ? 4 : std::max<int64_t>(4, fit / s.stride[1] / 4 * 4));
    if (!is_depthwise(s)) {
      // Four lines run at once; the halo of a band is copied twice.
      TileWork work;
      work.rows = rows * s.batch;
      work.cols = 1;
      work.cell = static_cast<double>(s.out[2] * s.cout * s.cin * conv_taps(s));
      work.row_block = 4;
      work.row_block_extra = 0.5;
      work.most_rows = plan.band_rows;
      const int64_t step = std::max<int64_t>(1, cut_into_tiles(work, threads).row_step);  // no pictures: no tiles
      plan.band_rows = std::min(plan.band_rows, conv_round_up(step, 4));
    }
    plan.band_in = (plan.band_rows - 1) * s.stride[1] + (s.kernel[1] - 1) * s.dilation[1] + 1;
    plan.scratch_size = static_cast<size_t>(conv_round_up((plan.band_in * row + kSlack) * 4, 64));
  }
  plan.bands = conv_ceil_div(rows, plan.band_rows);
  plan.scratch_size += offset_bytes(s);
  plan.tiles = is_depthwise(s) ? conv_ceil_div(s.batch * s.cout, kChannels) : s.batch * plan.bands;
  return plan;
}

void conv_planar_pack(const ConvPlanarPlan& plan, const float* weights, float* packed) {
  const ConvShape& s = plan.shape;
  const int64_t taps = taps_of(s), n = virtual_channels(s);
  if (is_depthwise(s)) {
    std::copy(weights, weights + plan.packed_size, packed);
    return;
  }
  const Blocks blocks = blocks_of(s);
  for (int64_t b = 0; b < blocks.count; ++b) {
    const int64_t begin = blocks.begin(b), end = blocks.begin(b + 1);
    for (int64_t k = 0; k < taps; ++k)  // transposed: a channel counts output channel, row and column of the kernel
      for (int64_t c = begin; c < end; ++c) *packed++ = s.transposed ? weights[k * n + c] : weights[c * taps + k];
  }
}

void conv_planar_tile(const ConvPlanarPlan& plan, const ConvPlanarArgs& args, int64_t tile, void* scratch) {
  if (is_depthwise(plan.shape))
    depthwise_tile(plan, args, tile, scratch);
  else
    dense_tile(plan, args, tile, scratch);
}

}  // namespace trunnion::kernels
