// TIFF by libtiff, the first page: whatever its RGBA reader takes (1 to 16 bits, palettes, all compressions), turned
// the way its Orientation tag says, transparency dropped.
#include <tiffio.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "extras/image.h"

namespace trunnion::extras {
namespace {

constexpr tmsize_t kLargestAllocation = tmsize_t{1} << 30;  // a file may state any size for its tables and strips

struct File {
  Canvas& canvas;
  uint64_t at = 0;
};

tmsize_t on_read(thandle_t handle, void* to, tmsize_t bytes) {
  File& f = *static_cast<File*>(handle);
  const uint64_t left = f.at < f.canvas.size() ? f.canvas.size() - f.at : 0;
  const uint64_t n = std::min(left, static_cast<uint64_t>(std::max<tmsize_t>(bytes, 0)));
  if (n > 0) std::memcpy(to, f.canvas.bytes() + f.at, n);
  f.at += n;
  return static_cast<tmsize_t>(n);
}
tmsize_t on_write(thandle_t, void*, tmsize_t) { return 0; }
toff_t on_seek(thandle_t handle, toff_t offset, int from) {
  File& f = *static_cast<File*>(handle);
  f.at = offset + (from == SEEK_CUR ? f.at : from == SEEK_END ? f.canvas.size() : 0);
  return f.at;
}
int on_close(thandle_t) { return 0; }
toff_t on_size(thandle_t handle) { return static_cast<File*>(handle)->canvas.size(); }

int on_error(TIFF*, void* data, const char*, const char* format, va_list arguments) {
  char text[400];
  std::vsnprintf(text, sizeof(text), format, arguments);
  static_cast<File*>(data)->canvas.fail("libtiff: %s", text);
  return 1;  // handled: nothing goes to stderr
}
int on_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

TIFF* open(File& file) {
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  if (!options) return nullptr;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, kLargestAllocation);
  TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, &file);
  TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, nullptr);
  TIFF* tiff =
      TIFFClientOpenExt("image", "rm", &file, on_read, on_write, on_seek, on_close, on_size, nullptr, nullptr, options);
  TIFFOpenOptionsFree(options);
  return tiff;
}

// Row-major pixels as the file holds them; null when they cannot be read.
uint32_t* read(TIFF* tiff, uint32_t width, uint32_t height, Canvas& canvas) {
  // Colors of transparent pixels are wanted as they stand: alpha that the colors were "already multiplied" with.
  uint16_t extras = 0;
  const uint16_t* kinds = nullptr;
  if (TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &extras, &kinds) && extras == 1) {
    const uint16_t associated[] = {EXTRASAMPLE_ASSOCALPHA};
    TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, associated);
  }
  char fault[1024] = "";
  TIFFRGBAImage reader;
  if (!TIFFRGBAImageOK(tiff, fault) || !TIFFRGBAImageBegin(&reader, tiff, 1, fault)) {
    canvas.fail("libtiff: %s", fault);
    return nullptr;
  }
  reader.orientation = reader.req_orientation = ORIENTATION_TOPLEFT;
  auto* pixels = static_cast<uint32_t*>(std::calloc(uint64_t{width} * height, sizeof(uint32_t)));
  if (!pixels) canvas.fail("not enough memory");
  if (pixels && !TIFFRGBAImageGet(&reader, pixels, width, height)) {
    canvas.fail("libtiff: its pixels cannot be read");
    std::free(pixels);
    pixels = nullptr;
  }
  TIFFRGBAImageEnd(&reader);
  return pixels;
}

Decode paint(TIFF* tiff, Canvas& canvas) {
  uint32_t width = 0, height = 0;
  uint16_t orientation = ORIENTATION_TOPLEFT;
  if (!TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width) || !TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height))
    return canvas.fail("it has no width or no height");
  TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &orientation);
  if (orientation > ORIENTATION_LEFTBOT) orientation = ORIENTATION_TOPLEFT;
  const bool turned = orientation >= ORIENTATION_LEFTTOP;
  if (!canvas.begin(turned ? width : height, turned ? height : width)) return TRUNNION_EXTRAS_FAILED;
  const std::unique_ptr<uint32_t, decltype(&std::free)> pixels(read(tiff, width, height, canvas), &std::free);
  if (!pixels) return TRUNNION_EXTRAS_FAILED;

  // Where columns (or, when turned, rows) of the file run from the end of the shown side.
  const bool from_right = orientation == ORIENTATION_TOPRIGHT || orientation == ORIENTATION_BOTRIGHT ||
                          orientation == ORIENTATION_RIGHTTOP || orientation == ORIENTATION_RIGHTBOT;
  const bool from_bottom = orientation == ORIENTATION_BOTRIGHT || orientation == ORIENTATION_BOTLEFT ||
                           orientation == ORIENTATION_RIGHTBOT || orientation == ORIENTATION_LEFTBOT;
  for (uint64_t y = 0; y < canvas.height(); ++y) {
    const uint64_t v = from_bottom ? canvas.height() - 1 - y : y;
    for (uint64_t x = 0; x < canvas.width(); ++x) {
      const uint64_t u = from_right ? canvas.width() - 1 - x : x;
      const uint32_t p = pixels.get()[turned ? u * width + v : v * width + u];
      const uint8_t rgb[] = {static_cast<uint8_t>(TIFFGetR(p)), static_cast<uint8_t>(TIFFGetG(p)),
                             static_cast<uint8_t>(TIFFGetB(p))};
      canvas.put(y, x, rgb, Layout::rgb, 1);
    }
  }
  return TRUNNION_EXTRAS_OK;
}

}  // namespace

Decode decode_tiff(Canvas& canvas) {
  File file{canvas};
  TIFF* tiff = open(file);
  if (!tiff) return canvas.fail("libtiff: it has no directory of its pages");
  const Decode result = paint(tiff, canvas);
  TIFFClose(tiff);
  return result;
}

}  // namespace trunnion::extras
