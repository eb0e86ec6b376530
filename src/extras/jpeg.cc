// JPEG by libjpeg-turbo: slow integer DCT and smooth chroma upsampling (its defaults), as the specification asks.
#include <csetjmp>
#include <cstdio>
// jpeglib.h wants <cstdio> before it.
#include <jpeglib.h>

#include "extras/image.h"

namespace trunnion::extras {
namespace {

constexpr int kMostScans = 500;  // a small progressive file may ask for days of work

// libjpeg reports errors by a call that must not return: out of it by longjmp, past frames without destructors.
struct Reader {
  explicit Reader(Canvas& c) : canvas(c) {}
  Canvas& canvas;
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf out;
};

Reader& reader(j_common_ptr info) { return *static_cast<Reader*>(info->client_data); }

[[noreturn]] void on_error(j_common_ptr info) {
  char text[JMSG_LENGTH_MAX];
  info->err->format_message(info, text);
  reader(info).canvas.fail("libjpeg: %s", text);
  std::longjmp(reader(info).out, 1);
}

void on_message(j_common_ptr, int) {}  // warnings: what could be decoded is the image

void on_output(j_common_ptr) {}

boolean on_end(j_decompress_ptr info) {
  Reader& r = reader(reinterpret_cast<j_common_ptr>(info));
  r.canvas.fail("the file ends too early");
  std::longjmp(r.out, 1);
}

void on_progress(j_common_ptr info) {
  Reader& r = reader(info);
  if (r.info.input_scan_number <= kMostScans) return;
  r.canvas.fail("it has more than %d scans", kMostScans);
  std::longjmp(r.out, 1);
}

bool read(Reader& r) {
  if (setjmp(r.out)) return false;
  jpeg_create_decompress(&r.info);
  r.info.progress = &r.progress;
  jpeg_mem_src(&r.info, r.canvas.bytes(), static_cast<unsigned long>(r.canvas.size()));
  r.info.src->fill_input_buffer = on_end;
  jpeg_read_header(&r.info, TRUE);
  if (!r.canvas.begin(r.info.image_height, r.info.image_width)) return false;
  const bool inks = r.info.jpeg_color_space == JCS_CMYK || r.info.jpeg_color_space == JCS_YCCK;
  const bool gray = r.info.jpeg_color_space == JCS_GRAYSCALE;
  r.info.out_color_space = inks ? JCS_CMYK : gray ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&r.info);
  const auto row_bytes = static_cast<JDIMENSION>(r.info.output_components) * r.info.output_width;
  JSAMPARRAY row = r.info.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&r.info), JPOOL_IMAGE, row_bytes, 1);
  while (r.info.output_scanline < r.info.output_height) {
    const uint64_t y = r.info.output_scanline;
    jpeg_read_scanlines(&r.info, row, 1);
    for (JDIMENSION i = 0; inks && i < row_bytes; ++i) row[0][i] = static_cast<JSAMPLE>(~row[0][i]);  // Adobe's habit
    r.canvas.put_row(y, row[0], inks ? Layout::inks : gray ? Layout::gray : Layout::rgb);
  }
  return true;
}

}  // namespace

Decode decode_jpeg(Canvas& canvas) {
  Reader r(canvas);
  r.info = {};
  r.info.err = jpeg_std_error(&r.errors);
  r.info.client_data = &r;
  r.errors.error_exit = on_error;
  r.errors.emit_message = on_message;
  r.errors.output_message = on_output;
  r.progress = {};
  r.progress.progress_monitor = on_progress;
  const bool done = read(r);
  jpeg_destroy_decompress(&r.info);
  return done ? TRUNNION_EXTRAS_OK : TRUNNION_EXTRAS_FAILED;
}

}  // namespace trunnion::extras
