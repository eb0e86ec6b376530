// What the decoders share: the canvas they paint rows on, and the list of them.
#pragma once
#include <cstdarg>

#include "extras/extras.h"

namespace trunnion::extras {

using Decode = TrunnionExtrasResult;

// Layouts that decoders hand over, one byte a sample. rgbx: the fourth byte is not looked at. inks: cyan, magenta,
// yellow and black, 255 is the full ink.
enum class Layout { gray, rgb, rgbx, inks };

// The image under construction: checks its size, asks the caller for room once, and lays out pixels as they were asked
// for. Gray of a color is ITU-R 601 luma in 16-bit fixed point, as Pillow computes it.
class Canvas {
 public:
  Canvas(const TrunnionImage& image, TrunnionExtrasError& error) : image_(image), error_(error) {}

  const uint8_t* bytes() const { return image_.bytes; }
  size_t size() const { return image_.size; }
  int32_t pixels() const { return image_.pixels; }
  int channels() const { return image_.pixels == TRUNNION_PIXELS_GRAY ? 1 : 3; }

  // False, with a text, when the image is empty or too large or there is no room for it.
  bool begin(uint64_t height, uint64_t width);
  uint64_t height() const { return height_; }
  uint64_t width() const { return width_; }
  // All rows, for decoders that write the wanted layout themselves.
  uint8_t* rows() const { return rows_; }
  uint64_t stride() const { return width_ * static_cast<uint64_t>(channels()); }

  // `count` pixels of row y from column x on. No color management: inks become colors by the plain formula.
  void put(uint64_t y, uint64_t x, const uint8_t* pixels, Layout layout, uint64_t count);
  void put_row(uint64_t y, const uint8_t* pixels, Layout layout) { put(y, 0, pixels, layout, width_); }

  // Notes the text (cut to fit) unless there is one already.
  [[gnu::format(printf, 2, 3)]] Decode fail(const char* format, ...);
  void note(const char* format, va_list arguments);

 private:
  const TrunnionImage& image_;
  TrunnionExtrasError& error_;
  uint64_t height_ = 0, width_ = 0;
  uint8_t* rows_ = nullptr;
};

Decode decode_jpeg(Canvas& canvas);
Decode decode_png(Canvas& canvas);
Decode decode_webp(Canvas& canvas);
Decode decode_tiff(Canvas& canvas);
Decode decode_jpeg2000(Canvas& canvas);
Decode decode_bmp(Canvas& canvas);
Decode decode_pnm(Canvas& canvas);

Decode decode_image(const TrunnionImage& image, TrunnionExtrasError& error);

}  // namespace trunnion::extras
