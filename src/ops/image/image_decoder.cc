// ImageDecoder (ai.onnx 20): a picture's file to its pixels, by libtrunnion_extras.so. A file that cannot be decoded is
// an error that says why.
#include "ops/extras_library.h"
#include "ops/op.h"
#include "ops/shape.h"

namespace trunnion::ops {
namespace {

// Pixels of the largest picture that Pillow, the reference, reads; beyond it a file is taken for an attack.
constexpr int64_t kMaxPixels = 178'956'970;

struct Pixels {
  int32_t layout;
  int64_t channels;
};

Result<Pixels> read(const ir::Node& n) {
  const std::string format = n.attr("pixel_format", "RGB");
  if (format == "RGB") return Pixels{TRUNNION_PIXELS_RGB, 3};
  if (format == "BGR") return Pixels{TRUNNION_PIXELS_BGR, 3};
  if (format == "Grayscale") return Pixels{TRUNNION_PIXELS_GRAY, 1};
  return invalid_argument("attribute pixel_format is '{}', expected RGB, BGR or Grayscale", format);
}

Status infer(const ir::Node& n, ir::Facts& f) {
  TRN_TRY(expect_rank(f, 0, 1));
  TRN_ASSIGN(const Pixels pixels, read(n));
  f.set(0, DType::u8, SymShape{Dim(), Dim(), Dim(pixels.channels)});
  return {};
}

class ImageDecoder final : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const ir::Node& n) {
    TRN_ASSIGN(const Pixels pixels, read(n));
    TRN_ASSIGN(const TrunnionExtras* extras,
               load_extras("image codecs (Debian packages libjpeg-dev, libpng-dev, libwebp-dev, libtiff-dev, "
                           "libopenjp2-7-dev)"));
    return std::unique_ptr<Kernel>(new ImageDecoder(pixels, extras));
  }

  Status run(KernelContext& ctx) const override {
    const TensorView& x = ctx.in(0);
    Place place{ctx, pixels_.channels, {}};
    const TrunnionImage image{.bytes = x.as<const uint8_t>(),
                              .size = static_cast<size_t>(x.count),
                              .pixels = pixels_.layout,
                              .max_pixels = kMaxPixels,
                              .place = allocate,
                              .context = &place};
    TrunnionExtrasError fault;
    switch (extras_->image_decode(&image, &fault)) {
      case TRUNNION_EXTRAS_OK:
        return {};
      case TRUNNION_EXTRAS_LEFT_OUT:
        return extras_left_out(fault.part);
      default:
        TRN_TRY(place.status);
        return invalid_argument("input 0 is no picture that can be decoded{}{}: {}", fault_format(fault.part),
                                x.count == 0 ? " (it is empty)" : "", fault.text);
    }
  }

 private:
  struct Place {
    KernelContext& ctx;
    int64_t channels;
    Status status;
  };

  ImageDecoder(Pixels pixels, const TrunnionExtras* extras) : pixels_(pixels), extras_(extras) {}

  static uint8_t* allocate(void* context, int64_t height, int64_t width) {
    Place& place = *static_cast<Place*>(context);
    const int64_t dims[] = {height, width, place.channels};
    const auto y = place.ctx.allocate_output(0, DType::u8, dims);
    if (y.ok()) return (*y)->as<uint8_t>();
    place.status = y.status();
    return nullptr;
  }

  static std::string_view fault_format(int part) {
    constexpr std::string_view kNames[] = {"",       " (JPEG)", " (PNG)", " (WebP)", " (TIFF)", " (JPEG 2000)",
                                           " (BMP)", " (PNM)",  ""};
    static_assert(std::size(kNames) == TRUNNION_EXTRAS_PARTS + 1);
    return kNames[part];
  }

  Pixels pixels_;
  const TrunnionExtras* extras_;
};

constexpr OpDef kDefs[] = {{"ImageDecoder", infer, cpu<ImageDecoder>(DType::u8), {.reviewed = 20, .dynamic = true}}};

}  // namespace

TRUNNION_OPS(image_decoder, kDefs);

}  // namespace trunnion::ops
