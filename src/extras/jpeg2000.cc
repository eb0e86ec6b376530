// JPEG 2000 by OpenJPEG, files and bare codestreams. Samples of other depths than 8 bits are scaled, subsampled
// components repeated.
#include <openjpeg.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "extras/image.h"

namespace trunnion::extras {
namespace {

struct File {
  Canvas& canvas;
  uint64_t at = 0;
};

OPJ_SIZE_T on_read(void* to, OPJ_SIZE_T bytes, void* data) {
  File& f = *static_cast<File*>(data);
  const uint64_t n = std::min<uint64_t>(bytes, f.canvas.size() - f.at);
  if (n == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(to, f.canvas.bytes() + f.at, n);
  f.at += n;
  return n;
}
OPJ_OFF_T on_skip(OPJ_OFF_T bytes, void* data) {
  File& f = *static_cast<File*>(data);
  if (bytes < 0 || static_cast<uint64_t>(bytes) > f.canvas.size() - f.at) return -1;
  f.at += static_cast<uint64_t>(bytes);
  return bytes;
}
OPJ_BOOL on_seek(OPJ_OFF_T to, void* data) {
  File& f = *static_cast<File*>(data);
  if (to < 0 || static_cast<uint64_t>(to) > f.canvas.size()) return OPJ_FALSE;
  f.at = static_cast<uint64_t>(to);
  return OPJ_TRUE;
}

void on_error(const char* text, void* data) {
  const int length = static_cast<int>(std::strcspn(text, "\n"));
  static_cast<File*>(data)->canvas.fail("OpenJPEG: %.*s", length, text);
}
void on_message(const char*, void*) {}

template <auto kRelease>
struct Releaser {
  template <class T>
  void operator()(T* p) const {
    kRelease(p);
  }
};
using Stream = std::unique_ptr<opj_stream_t, Releaser<opj_stream_destroy>>;
using Codec = std::unique_ptr<opj_codec_t, Releaser<opj_destroy_codec>>;
using Image = std::unique_ptr<opj_image_t, Releaser<opj_image_destroy>>;

Stream open(File& file) {
  Stream stream(opj_stream_create(1 << 16, OPJ_TRUE));
  if (!stream) return stream;
  opj_stream_set_user_data(stream.get(), &file, nullptr);
  opj_stream_set_user_data_length(stream.get(), file.canvas.size());
  opj_stream_set_read_function(stream.get(), on_read);
  opj_stream_set_skip_function(stream.get(), on_skip);
  opj_stream_set_seek_function(stream.get(), on_seek);
  return stream;
}

// The size of the image, from the segment that every codestream begins with, before OpenJPEG sees it: that takes
// kilobytes for each tile that a header states. Tiles may be small, but not many and small.
Decode begin(Canvas& canvas) {
  constexpr uint8_t kStart[] = {0xff, 0x4f, 0xff, 0x51};
  constexpr uint64_t kFewTiles = 4096, kTilePixels = 1024;
  const uint8_t* end = canvas.bytes() + canvas.size();
  const uint8_t* at = std::search(canvas.bytes(), end, std::begin(kStart), std::end(kStart));
  if (end - at < 40) return canvas.fail(at == end ? "it has no codestream" : "the file ends too early");
  const auto number = [&](int i) {
    const uint8_t* p = at + 8 + 4 * i;
    return int64_t{p[0]} << 24 | p[1] << 16 | p[2] << 8 | p[3];
  };
  const auto sides = [&](int axis) {  // of the image, and its tiles
    const int64_t first = number(2 + axis), last = number(axis), tile = number(4 + axis), origin = number(6 + axis);
    const int64_t tiles = tile > 0 && origin <= first ? (last - origin + tile - 1) / tile : -1;
    return std::pair(static_cast<uint64_t>(std::max<int64_t>(last - first, 0)), tiles);
  };
  const auto [width, across] = sides(0);
  const auto [height, down] = sides(1);
  if (across < 0 || down < 0) return canvas.fail("its tiles have no size or do not cover it");
  if (!canvas.begin(height, width)) return TRUNNION_EXTRAS_FAILED;
  const auto tiles = static_cast<uint64_t>(across) * static_cast<uint64_t>(down);
  if (across > 0xffff || down > 0xffff || (tiles > kFewTiles && tiles > height * width / kTilePixels))
    return canvas.fail("it has %llu tiles, too many for its size", static_cast<unsigned long long>(tiles));
  return TRUNNION_EXTRAS_OK;
}

uint8_t sample(const opj_image_comp_t& c, uint64_t x, uint64_t y) {
  const uint64_t u = std::min<uint64_t>(x / c.dx, c.w - 1), v = std::min<uint64_t>(y / c.dy, c.h - 1);
  const int64_t most = (int64_t{1} << c.prec) - 1;
  const int64_t value = c.data[v * c.w + u] + (c.sgnd ? int64_t{1} << (c.prec - 1) : 0);
  return static_cast<uint8_t>((std::clamp<int64_t>(value, 0, most) * 255 + most / 2) / most);
}

uint8_t rounded(double v) { return static_cast<uint8_t>(std::lrint(std::clamp(v, 0.0, 255.0))); }

// Luma and chroma to red, green, blue.
void to_rgb(uint8_t* p) {
  const double y = p[0], cb = p[1] - 128.0, cr = p[2] - 128.0;
  p[0] = rounded(y + 1.402 * cr);
  p[1] = rounded(y - 0.344136 * cb - 0.714136 * cr);
  p[2] = rounded(y + 1.772 * cb);
}

Decode paint(const opj_image_t& image, Canvas& canvas) {
  if (image.color_space == OPJ_CLRSPC_EYCC)
    return canvas.fail("its colors are e-YCC; gray, sRGB, sYCC and CMYK are read");
  const bool inks = image.color_space == OPJ_CLRSPC_CMYK && image.numcomps == 4;
  const uint32_t count = inks ? 4 : image.numcomps >= 3 ? 3 : 1;
  for (uint32_t i = 0; i < count; ++i) {
    const opj_image_comp_t& c = image.comps[i];
    if (!c.data || c.w == 0 || c.h == 0 || c.dx == 0 || c.dy == 0 || c.prec < 1 || c.prec > 31)
      return canvas.fail("its component %u has no samples, or samples of %u bits", i, c.prec);
  }
  const bool chroma = count == 3 && (image.color_space == OPJ_CLRSPC_SYCC ||
                                     (image.color_space != OPJ_CLRSPC_SRGB && image.comps[1].dx > image.comps[0].dx));
  std::vector<uint8_t> row(canvas.width() * count);
  for (uint64_t y = 0; y < canvas.height(); ++y) {
    for (uint64_t x = 0; x < canvas.width(); ++x) {
      uint8_t* p = row.data() + x * count;
      for (uint32_t i = 0; i < count; ++i) p[i] = sample(image.comps[i], x, y);
      if (chroma) to_rgb(p);
    }
    canvas.put_row(y, row.data(), inks ? Layout::inks : count == 3 ? Layout::rgb : Layout::gray);
  }
  return TRUNNION_EXTRAS_OK;
}

}  // namespace

Decode decode_jpeg2000(Canvas& canvas) {
  if (begin(canvas) != TRUNNION_EXTRAS_OK) return TRUNNION_EXTRAS_FAILED;
  File file{canvas};
  const Stream stream = open(file);
  const Codec codec(opj_create_decompress(canvas.bytes()[0] == 0xff ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
  if (!stream || !codec) return canvas.fail("not enough memory");
  opj_set_error_handler(codec.get(), on_error, &file);
  opj_set_warning_handler(codec.get(), on_message, nullptr);
  opj_set_info_handler(codec.get(), on_message, nullptr);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* found = nullptr;
  const bool opened = opj_setup_decoder(codec.get(), &parameters) && opj_read_header(stream.get(), codec.get(), &found);
  const Image image(found);
  if (!opened || !image) return canvas.fail("OpenJPEG: its header is broken");
  if (image->numcomps < 1 || image->numcomps > 4)
    return canvas.fail("it has %u components; images of 1 to 4 are read", image->numcomps);
  if (image->x1 - image->x0 != canvas.width() || image->y1 - image->y0 != canvas.height())
    return canvas.fail("its headers contradict each other");
  if (!opj_decode(codec.get(), stream.get(), image.get()) || !opj_end_decompress(codec.get(), stream.get()))
    return canvas.fail("OpenJPEG: its data are broken or cut off");
  return paint(*image, canvas);
}

}  // namespace trunnion::extras
