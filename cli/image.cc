#include "image.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "failure.h"
#include "stb.h"

namespace trunnion::cli {
namespace {

constexpr int64_t kFree = -1;
constexpr int64_t kMostPixels = int64_t{1} << 28;

// Where the port wants what; an index of -1: the port has no such dimension.
struct Layout {
  int batch = -1, channel = -1, height = 0, width = 1;
  const char* name = "HW";
};

// How much a dimension looks like the channels; 0: not at all.
int likeness(int64_t d) { return d == 3 ? 3 : d == 1 ? 2 : d == 4 ? 1 : 0; }

Layout layout_of(const Port& port) {
  const Shape& s = port.type.shape;
  const int rank = static_cast<int>(s.size());
  if (!port.type.has_shape) return {0, 1, 2, 3, "NCHW"};
  if (rank == 2) return {};
  if (rank != 3 && rank != 4)
    unusable("input '{}' is no picture: its shape is {}, needed are 2 to 4 dimensions", port.name,
             port.type.shape_text());
  const int first = rank - 3, last = rank - 1;
  const int64_t d = s[static_cast<size_t>(first)];
  const int at_first = likeness(d), at_last = likeness(s[static_cast<size_t>(last)]);
  if (at_last > at_first) return {rank - 4, last, first, first + 1, rank == 4 ? "NHWC" : "HWC"};
  if (at_first > 0 || d < 0) return {rank - 4, first, first + 1, first + 2, rank == 4 ? "NCHW" : "CHW"};
  unusable("input '{}' is no picture: of its shape {} no dimension can be the channels (1, 3 or 4)", port.name,
           port.type.shape_text());
}

struct Pixels {
  int width = 0, height = 0, channels = 0;
  std::vector<unsigned char> bytes;  // rows of pixels
};

struct FreeImage {
  void operator()(unsigned char* p) const { stbi_image_free(p); }
};

Pixels decode(std::string_view bytes, int channels, const std::string& what) {
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) unusable("{} is too large", what);
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const int size = static_cast<int>(bytes.size());
  Pixels p;
  p.channels = channels;
  int stored = 0;
  if (!stbi_info_from_memory(data, size, &p.width, &p.height, &stored))
    unusable("{} cannot be read as a picture: {}", what, stbi_failure_reason());
  if (int64_t{p.width} * p.height > kMostPixels) unusable("{} is too large: {}x{}", what, p.width, p.height);
  const std::unique_ptr<unsigned char, FreeImage> image(
      stbi_load_from_memory(data, size, &p.width, &p.height, &stored, channels));
  if (!image) unusable("{} cannot be read as a picture: {}", what, stbi_failure_reason());
  p.bytes.assign(image.get(), image.get() + static_cast<size_t>(p.width) * static_cast<size_t>(p.height) *
                                                static_cast<size_t>(channels));
  return p;
}

Pixels resize(const Pixels& from, int64_t height, int64_t width, const std::string& what) {
  if (height == from.height && width == from.width) return from;
  Pixels to;
  to.channels = from.channels;
  if (height > kMostPixels || width > kMostPixels || height * width > kMostPixels)
    unusable("the input's picture is too large: {}x{}", width, height);
  to.width = static_cast<int>(width);
  to.height = static_cast<int>(height);
  to.bytes.resize(static_cast<size_t>(height * width) * static_cast<size_t>(to.channels));
  if (to.bytes.empty()) return to;
  if (!stbir_resize_uint8_generic(from.bytes.data(), from.width, from.height, 0, to.bytes.data(), to.width, to.height,
                                  0, to.channels, STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP, STBIR_FILTER_TRIANGLE,
                                  STBIR_COLORSPACE_LINEAR, nullptr))
    unusable("{} cannot be resized to {}x{}", what, width, height);
  return to;
}

double of_channel(const std::vector<double>& values, int c, double otherwise) {
  if (values.empty()) return otherwise;
  return values.size() == 1 ? values[0] : values[static_cast<size_t>(c)];
}

void check_count(const std::vector<double>& values, int channels, const char* option) {
  if (values.size() > 1 && values.size() != static_cast<size_t>(channels))
    bad_usage("{} has {} values, the input has {} channels", option, values.size(), channels);
}

std::string list(const std::vector<double>& values, double otherwise) {
  return values.empty() ? fmt::format("{:g}", otherwise) : fmt::format("{:g}", fmt::join(values, ","));
}

}  // namespace

Array read_image(std::string_view bytes, const Port& port, const ImageOptions& options, const std::string& what,
                 std::string& note) {
  const Layout at = layout_of(port);
  const Shape& wanted = port.type.shape;
  const auto dimension = [&](int index) {
    return index < 0 || wanted.empty() ? kFree : wanted[static_cast<size_t>(index)];
  };
  if (const int64_t n = dimension(at.batch); n != kFree && n != 1)
    unusable("input '{}' has {} pictures, {} is one", port.name, n, what);
  const int channels = at.channel < 0                   ? 1
                       : dimension(at.channel) == kFree ? 3
                                                        : static_cast<int>(dimension(at.channel));
  check_count(options.mean, channels, "--mean");
  check_count(options.std, channels, "--std");

  const Pixels original = decode(bytes, channels, what);
  const int64_t height = dimension(at.height) == kFree ? original.height : dimension(at.height);
  const int64_t width = dimension(at.width) == kFree ? original.width : dimension(at.width);
  const Pixels pixels = resize(original, height, width, what);

  const bool real = element_facts(port.type.element).kind == ElementKind::real;
  if (!real && !is_integer(port.type.element))
    unusable("input '{}' is a {}, a picture has numbers", port.name, port.type.text());
  const double scale = options.scale != 0 ? options.scale : real ? 1.0 / 255 : 1.0;

  Shape shape(at.channel < 0 ? 2 : at.batch < 0 ? 3 : 4, 1);
  if (at.channel >= 0) shape[static_cast<size_t>(at.channel)] = channels;
  shape[static_cast<size_t>(at.height)] = height;
  shape[static_cast<size_t>(at.width)] = width;
  const size_t area = static_cast<size_t>(height * width), depth = static_cast<size_t>(channels);
  const bool planes = at.channel >= 0 && at.channel < at.height;
  std::vector<std::byte> data(storage_bytes(port.type.element, area * depth));
  for (size_t c = 0; c < depth; ++c) {
    const size_t source = options.bgr && channels >= 3 && c < 3 ? 2 - c : c;
    const double mean = of_channel(options.mean, static_cast<int>(c), 0),
                 std = of_channel(options.std, static_cast<int>(c), 1);
    for (size_t i = 0; i < area; ++i) {
      double value = (pixels.bytes[i * depth + source] * scale - mean) / std;
      if (!real) value = std::nearbyint(value);
      const size_t place = planes ? c * area + i : i * depth + c;
      if (!store_number(port.type.element, data.data(), place, value))
        unusable("input '{}' is a {}, which cannot hold the pixel value {}", port.name, port.type.text(), value);
    }
  }
  const char* colours = channels == 1   ? "gray"
                        : options.bgr   ? (channels == 4 ? "BGRA" : "BGR")
                        : channels == 4 ? "RGBA"
                                        : "RGB";
  note = fmt::format("{}x{}{}, {} {}, (pixel * {:.6g} - {}) / {}", original.width, original.height,
                     original.width == width && original.height == height
                         ? std::string()
                         : fmt::format(" stretched to {}x{} (bilinear)", width, height),
                     colours, at.name, scale, list(options.mean, 0), list(options.std, 1));
  return make_array(port.type.element, std::move(shape), std::move(data));
}

}  // namespace trunnion::cli
