// WebP by libwebp; of an animation the first picture. Transparency is dropped.
#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>
#include <new>

#include "extras/image.h"

namespace trunnion::extras {
namespace {

Decode first_picture(Canvas& canvas) {
  const WebPData file{canvas.bytes(), canvas.size()};
  const std::unique_ptr<WebPAnimDecoder, decltype(&WebPAnimDecoderDelete)> decoder(WebPAnimDecoderNew(&file, nullptr),
                                                                                   &WebPAnimDecoderDelete);
  uint8_t* rgba = nullptr;
  int time = 0;
  if (!decoder || !WebPAnimDecoderGetNext(decoder.get(), &rgba, &time))
    return canvas.fail("libwebp: the first picture of the animation is broken or cut off");
  for (uint64_t y = 0; y < canvas.height(); ++y) canvas.put_row(y, rgba + y * canvas.width() * 4, Layout::rgbx);
  return TRUNNION_EXTRAS_OK;
}

const char* reason(VP8StatusCode code) {
  switch (code) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return "not enough memory";
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "the file ends too early";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "it uses a feature that libwebp does not know";
    default:
      return "its data are broken";
  }
}

}  // namespace

Decode decode_webp(Canvas& canvas) {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) return canvas.fail("libwebp has another version than the build's");
  const VP8StatusCode code = WebPGetFeatures(canvas.bytes(), canvas.size(), &config.input);
  if (code != VP8_STATUS_OK) return canvas.fail("libwebp: %s", reason(code));
  const int width = config.input.width, height = config.input.height;
  if (!canvas.begin(static_cast<uint64_t>(height), static_cast<uint64_t>(width))) return TRUNNION_EXTRAS_FAILED;
  if (config.input.has_animation) return first_picture(canvas);

  std::unique_ptr<uint8_t[]> rgb;  // before it becomes gray
  WebPDecBuffer& to = config.output;
  to.colorspace = canvas.pixels() == TRUNNION_PIXELS_BGR ? MODE_BGR : MODE_RGB;
  to.is_external_memory = 1;
  to.u.RGBA.stride = width * 3;
  to.u.RGBA.size = static_cast<size_t>(width) * static_cast<size_t>(height) * 3;
  to.u.RGBA.rgba = canvas.rows();
  if (canvas.channels() == 1) {
    rgb.reset(new (std::nothrow) uint8_t[to.u.RGBA.size]);
    if (!rgb) return canvas.fail("not enough memory");
    to.u.RGBA.rgba = rgb.get();
  }
  const VP8StatusCode decoded = WebPDecode(canvas.bytes(), canvas.size(), &config);
  WebPFreeDecBuffer(&to);
  if (decoded != VP8_STATUS_OK) return canvas.fail("libwebp: %s", reason(decoded));
  for (uint64_t y = 0; rgb && y < canvas.height(); ++y)
    canvas.put_row(y, rgb.get() + y * canvas.width() * 3, Layout::rgb);
  return TRUNNION_EXTRAS_OK;
}

}  // namespace trunnion::extras
