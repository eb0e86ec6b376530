// Tap tables of Resize from ONNX's coordinate, nearest, cubic and antialias rules.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/copy.h"
#include "kernels/resize.h"

namespace trunnion::kernels {
namespace {

// The input coordinate of output position x. The output width that the model means is scale * in, which need not be
// an integer.
double coordinate(const ResizeAxis& a, double width, int64_t x) {
  const double position = static_cast<double>(x), in = static_cast<double>(a.in);
  switch (a.coords) {
    case ResizeCoords::half_pixel:
      return (position + 0.5) / a.scale - 0.5;
    case ResizeCoords::half_pixel_symmetric: {
      const double adjustment = static_cast<double>(a.out) / width;
      return in / 2 * (1 - adjustment) + (position + 0.5) / a.scale - 0.5;
    }
    case ResizeCoords::pytorch_half_pixel:
      return width == 1 ? -0.5 : (position + 0.5) / a.scale - 0.5;
    case ResizeCoords::align_corners:
      return width == 1 ? 0 : position * (in - 1) / (width - 1);
    case ResizeCoords::asymmetric:
      return position / a.scale;
    case ResizeCoords::tf_half_pixel_for_nn:
      return (position + 0.5) / a.scale;
    case ResizeCoords::tf_crop_and_resize: {
      const double span = (a.roi_end - a.roi_begin) * (in - 1);
      return a.roi_begin * (in - 1) + (width == 1 ? span / 2 : position * span / (width - 1));
    }
  }
  return 0;
}

double nearest(double x, ResizeNearest mode) {
  switch (mode) {
    case ResizeNearest::round_prefer_floor:
      return std::ceil(x - 0.5);
    case ResizeNearest::round_prefer_ceil:
      return std::floor(x + 0.5);
    case ResizeNearest::floor:
      return std::floor(x);
    case ResizeNearest::ceil:
      return std::ceil(x);
  }
  return x;
}

double cubic(double x, double a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

double triangle(double x) { return std::max(0.0, 1 - std::fabs(x)); }

}  // namespace

bool resize_table(const ResizeAxis& a, ResizeTable& table) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  table = ResizeTable{};
  if (a.in < 1 || a.out < 1 || a.in > kMax || a.out > kMax || !(a.scale > 0) || !std::isfinite(a.scale)) return false;
  // An antialiased kernel is stretched by 1 / scale when shrinking.
  const double stretch = a.antialias ? std::min(a.scale, 1.0) : 1.0;
  int64_t first = 0, taps = 1;  // taps at base + first, base + first + 1, ...
  if (a.mode != ResizeMode::nearest) {
    const double reach = std::floor(-(a.mode == ResizeMode::linear ? 1 : 2) / stretch) + 1;
    if (-reach > 4.0 * static_cast<double>(a.in) + 16) return false;
    first = static_cast<int64_t>(reach);
    taps = 2 - 2 * first;
  }
  table.in = a.in;
  table.out = a.out;
  table.taps = static_cast<int>(taps);
  table.extrapolation = static_cast<float>(a.extrapolation);
  const size_t out = static_cast<size_t>(a.out), entries = out * static_cast<size_t>(taps);
  table.index.resize(entries);
  if (a.mode != ResizeMode::nearest) table.weight.resize(entries);

  double width = a.scale * static_cast<double>(a.in);
  if (std::fabs(width - std::nearbyint(width)) < 1e-6 * width) width = std::nearbyint(width);
  const double limit = static_cast<double>(a.in - 1);
  std::vector<double> weight(static_cast<size_t>(taps));
  bool identity = a.in == a.out;
  for (size_t j = 0; j < out; ++j) {
    double x = coordinate(a, width, static_cast<int64_t>(j));
    if (a.coords == ResizeCoords::tf_crop_and_resize && !(x >= 0 && x <= limit)) {
      table.outside.resize(out);
      table.outside[j] = 1;
      x = 0;
    }
    if (!(std::fabs(x) <= 4 * static_cast<double>(kMax))) x = 0;
    if (a.mode == ResizeMode::nearest) {
      table.index[j] = static_cast<int32_t>(std::clamp(nearest(x, a.nearest), 0.0, limit));
      identity &= table.index[j] == static_cast<int32_t>(j);
      continue;
    }
    // The neighbour on the left, strictly: the ratio is in (0, 1].
    const double base = std::ceil(x) - 1, ratio = x - base;
    identity &= ratio == 1 && base + 1 == static_cast<double>(j);
    double sum = 0;
    for (size_t t = 0; t < weight.size(); ++t) {
      const double offset = static_cast<double>(first + static_cast<int64_t>(t)), at = base + offset;
      const double distance = (offset - ratio) * stretch;
      weight[t] = a.mode == ResizeMode::linear ? triangle(distance) : cubic(distance, a.cubic_a);
      if (a.exclude_outside && (at < 0 || at > limit)) weight[t] = 0;
      sum += weight[t];
      table.index[t * out + j] = static_cast<int32_t>(std::clamp(at, 0.0, limit));
    }
    const bool normalize = (a.exclude_outside || a.antialias) && sum != 0;
    for (size_t t = 0; t < weight.size(); ++t) {
      table.weight[t * out + j] = static_cast<float>(normalize ? weight[t] / sum : weight[t]);
    }
  }
  table.identity = identity && table.outside.empty();
  return true;
}

void resize_nearest(const void* xv, void* yv, const ResizeTable& table, int64_t outer, int64_t inner, size_t size) {
  const char* x = static_cast<const char*>(xv);
  char* y = static_cast<char*>(yv);
  const size_t block = static_cast<size_t>(inner) * size;
  if (block == sizeof(uint32_t) && table.outside.empty()) {
    const int32_t first = 0;
    resize().nearest_words(static_cast<const uint32_t*>(xv), static_cast<uint32_t*>(yv), {&first, 1, 1},
                           {table.index.data(), table.in, table.out}, 0, outer);
    return;
  }
  for (int64_t o = 0; o < outer; ++o) {
    gather_blocks(x, y, table.index.data(), table.out, table.in, block);
    x += static_cast<size_t>(table.in) * block;
    y += static_cast<size_t>(table.out) * block;
  }
}

void resize_nearest_planes(const void* xv, void* yv, const ResizeTable& rows, const ResizeTable& cols, int64_t begin,
                           int64_t end, int64_t inner, size_t size) {
  const size_t block = static_cast<size_t>(inner) * size;
  if (block == sizeof(uint32_t)) {
    resize().nearest_words(static_cast<const uint32_t*>(xv), static_cast<uint32_t*>(yv),
                           {rows.index.data(), rows.in, rows.out}, {cols.index.data(), cols.in, cols.out}, begin, end);
    return;
  }
  const size_t from_bytes = static_cast<size_t>(cols.in) * block, to_bytes = static_cast<size_t>(cols.out) * block;
  char* y = static_cast<char*>(yv) + static_cast<size_t>(begin) * to_bytes;
  const char* made = nullptr;  // what the output row before shows
  for (int64_t row = begin; row < end; ++row, y += to_bytes) {
    const int64_t line = row / rows.out * rows.in + rows.index[static_cast<size_t>(row % rows.out)];
    const char* x = static_cast<const char*>(xv) + static_cast<size_t>(line) * from_bytes;
    if (x == made)
      std::memcpy(y, y - to_bytes, to_bytes);
    else
      gather_blocks(x, y, cols.index.data(), cols.out, cols.in, block);
    made = x;
  }
}

}  // namespace trunnion::kernels
