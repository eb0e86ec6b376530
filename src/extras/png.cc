// PNG by libpng: palettes and 1 to 4 bits are expanded, of 16 bits the upper 8 count, transparency is dropped.
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <memory>
#include <new>

#include "extras/image.h"

namespace trunnion::extras {
namespace {

// libpng reports errors by a call that must not return: out of it by longjmp, past frames without destructors.
struct Reader {
  explicit Reader(Canvas& c) : canvas(c) {}
  Canvas& canvas;
  png_structp png = nullptr;
  png_infop info = nullptr;
  size_t at = 0;
  std::unique_ptr<uint8_t[]> samples;  // all of an interlaced image, else one row
  std::jmp_buf out;
};

[[noreturn]] void on_error(png_structp png, png_const_charp text) {
  Reader& r = *static_cast<Reader*>(png_get_error_ptr(png));
  r.canvas.fail("libpng: %s", text);
  std::longjmp(r.out, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep to, size_t bytes) {
  Reader& r = *static_cast<Reader*>(png_get_io_ptr(png));
  if (bytes > r.canvas.size() - r.at) png_error(png, "the file ends too early");
  std::memcpy(to, r.canvas.bytes() + r.at, bytes);
  r.at += bytes;
}

bool read(Reader& r) {
  if (setjmp(r.out)) return false;
  png_set_read_fn(r.png, &r, on_read);
  png_read_info(r.png, r.info);
  if (!r.canvas.begin(png_get_image_height(r.png, r.info), png_get_image_width(r.png, r.info))) return false;
  const int color = png_get_color_type(r.png, r.info);
  if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(r.png);
  if (color == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(r.png);
  png_set_strip_16(r.png);
  png_set_strip_alpha(r.png);
  const int passes = png_set_interlace_handling(r.png);
  png_read_update_info(r.png, r.info);
  const Layout layout = png_get_channels(r.png, r.info) == 1 ? Layout::gray : Layout::rgb;
  const size_t row_bytes = png_get_rowbytes(r.png, r.info);
  const uint64_t rows = r.canvas.height();
  r.samples.reset(new (std::nothrow) uint8_t[passes > 1 ? row_bytes * rows : row_bytes]);
  if (!r.samples) png_error(r.png, "not enough memory");
  for (int pass = 0; pass < passes; ++pass) {
    for (uint64_t y = 0; y < rows; ++y) {
      uint8_t* row = r.samples.get() + (passes > 1 ? y * row_bytes : 0);
      png_read_row(r.png, row, nullptr);
      if (pass == passes - 1) r.canvas.put_row(y, row, layout);
    }
  }
  return true;
}

}  // namespace

Decode decode_png(Canvas& canvas) {
  Reader r(canvas);
  r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, on_error, on_warning);
  if (r.png) r.info = png_create_info_struct(r.png);
  const bool done = r.info && read(r);
  if (!r.info) canvas.fail("libpng cannot start: other version, or not enough memory");
  png_destroy_read_struct(&r.png, &r.info, nullptr);
  return done ? TRUNNION_EXTRAS_OK : TRUNNION_EXTRAS_FAILED;
}

}  // namespace trunnion::extras
