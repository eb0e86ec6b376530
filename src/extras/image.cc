// Tells formats by their first bytes, and the canvas.
#include "extras/image.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace trunnion::extras {
namespace {

constexpr uint64_t kLongestSide = 1 << 20;

uint8_t luma(uint32_t r, uint32_t g, uint32_t b) {
  return static_cast<uint8_t>((r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16);
}

// What an ink and black on white paper leave of a color.
uint8_t without_ink(unsigned ink, unsigned black) {
  const unsigned light = 255 - black, product = ink * light + 128;
  return static_cast<uint8_t>(light - (((product >> 8) + product) >> 8));
}

using namespace std::string_view_literals;

bool is_webp(std::string_view file) { return file.starts_with("RIFF"sv) && file.substr(0, 12).ends_with("WEBP"sv); }

bool is_pnm(std::string_view file) {
  return file.size() > 2 && file[0] == 'P' && file[1] >= '1' && file[1] <= '6' &&
         (file[2] == '#' || " \t\r\n\v\f"sv.find(file[2]) != file.npos);
}

// TRUNNION_EXTRAS_PARTS for none of them.
TrunnionExtrasPart format_of(std::string_view file) {
  struct Magic {
    std::string_view bytes;
    TrunnionExtrasPart part;
  };
  constexpr Magic kMagics[] = {
      {"\xff\xd8\xff"sv, TRUNNION_EXTRAS_JPEG},
      {"\x89PNG\r\n\x1a\n"sv, TRUNNION_EXTRAS_PNG},
      {"II*\0"sv, TRUNNION_EXTRAS_TIFF},
      {"MM\0*"sv, TRUNNION_EXTRAS_TIFF},
      {"II+\0"sv, TRUNNION_EXTRAS_TIFF},
      {"MM\0+"sv, TRUNNION_EXTRAS_TIFF},
      {"\xff\x4f\xff\x51"sv, TRUNNION_EXTRAS_JPEG2000},
      {"\0\0\0\x0cjP  \r\n\x87\n"sv, TRUNNION_EXTRAS_JPEG2000},
      {"BM"sv, TRUNNION_EXTRAS_BMP},
  };
  for (const Magic& m : kMagics)
    if (file.starts_with(m.bytes)) return m.part;
  if (is_webp(file)) return TRUNNION_EXTRAS_WEBP;
  return is_pnm(file) ? TRUNNION_EXTRAS_PNM : TRUNNION_EXTRAS_PARTS;
}

}  // namespace

bool Canvas::begin(uint64_t height, uint64_t width) {
  if (height == 0 || width == 0 || height > kLongestSide || width > kLongestSide ||
      height * width > static_cast<uint64_t>(image_.max_pixels)) {
    fail("it is %" PRIu64 " pixels high and %" PRIu64 " wide; the sides may have 1 to %" PRIu64
         " pixels, and all of it %" PRId64,
         height, width, kLongestSide, image_.max_pixels);
    return false;
  }
  height_ = height;
  width_ = width;
  rows_ = image_.place(image_.context, static_cast<int64_t>(height), static_cast<int64_t>(width));
  if (!rows_) fail("there is no room for its %" PRIu64 " x %" PRIu64 " pixels", height, width);
  return rows_ != nullptr;
}

void Canvas::put(uint64_t y, uint64_t x, const uint8_t* from, Layout layout, uint64_t count) {
  uint8_t* to = rows_ + y * stride() + x * static_cast<uint64_t>(channels());
  const int step = layout == Layout::gray ? 1 : layout == Layout::rgb ? 3 : 4;
  if (channels() == step && image_.pixels != TRUNNION_PIXELS_BGR) {
    std::memcpy(to, from, count * static_cast<uint64_t>(step));
    return;
  }
  const int g = step == 1 ? 0 : 1, b = step == 1 ? 0 : 2;
  for (; count > 0; --count, from += step, to += channels()) {
    uint8_t rgb[] = {from[0], from[g], from[b]};
    if (layout == Layout::inks)
      for (uint8_t& v : rgb) v = without_ink(v, from[3]);
    if (image_.pixels == TRUNNION_PIXELS_GRAY)
      to[0] = luma(rgb[0], rgb[1], rgb[2]);
    else if (image_.pixels == TRUNNION_PIXELS_RGB)
      std::copy_n(rgb, 3, to);
    else
      std::reverse_copy(rgb, rgb + 3, to);
  }
}

void Canvas::note(const char* format, va_list arguments) {
  if (!error_.text[0]) std::vsnprintf(error_.text, sizeof(error_.text), format, arguments);
}

Decode Canvas::fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  note(format, arguments);
  va_end(arguments);
  return TRUNNION_EXTRAS_FAILED;
}

Decode decode_image(const TrunnionImage& image, TrunnionExtrasError& error) {
  const std::string_view file(reinterpret_cast<const char*>(image.bytes), image.size);
  Canvas canvas(image, error);
  const TrunnionExtrasPart part = format_of(file);
  error.part = part;
  if (part == TRUNNION_EXTRAS_PARTS)
    return canvas.fail("its first bytes are those of no format known here: BMP, JPEG, JPEG 2000, PNG, PNM, TIFF, WebP");
  switch (part) {
    case TRUNNION_EXTRAS_JPEG:
      if constexpr (TRUNNION_WITH_JPEG) return decode_jpeg(canvas);
      break;
    case TRUNNION_EXTRAS_PNG:
      if constexpr (TRUNNION_WITH_PNG) return decode_png(canvas);
      break;
    case TRUNNION_EXTRAS_WEBP:
      if constexpr (TRUNNION_WITH_WEBP) return decode_webp(canvas);
      break;
    case TRUNNION_EXTRAS_TIFF:
      if constexpr (TRUNNION_WITH_TIFF) return decode_tiff(canvas);
      break;
    case TRUNNION_EXTRAS_JPEG2000:
      if constexpr (TRUNNION_WITH_JPEG2000) return decode_jpeg2000(canvas);
      break;
    case TRUNNION_EXTRAS_BMP:
      return decode_bmp(canvas);
    default:
      return decode_pnm(canvas);
  }
  return TRUNNION_EXTRAS_LEFT_OUT;
}

}  // namespace trunnion::extras
