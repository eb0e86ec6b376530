// PBM, PGM and PPM, plain and binary (P1 to P6). Samples are scaled to 0 ... 255 and rounded.
#include <algorithm>
#include <cmath>
#include <vector>

#include "extras/image.h"

namespace trunnion::extras {
namespace {

bool is_blank(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

class Reader {
 public:
  explicit Reader(const Canvas& canvas) : at_(canvas.bytes() + 2), end_(canvas.bytes() + canvas.size()) {}

  bool at_end() const { return at_ == end_; }
  uint64_t left() const { return static_cast<uint64_t>(end_ - at_); }
  const uint8_t* take(uint64_t bytes) {
    const uint8_t* p = at_;
    at_ += bytes;
    return p;
  }
  // Blanks, and comments to the end of their line.
  void skip() {
    while (at_ < end_ && (is_blank(*at_) || *at_ == '#')) {
      if (*at_ == '#')
        while (at_ < end_ && *at_ != '\n' && *at_ != '\r') ++at_;
      else
        ++at_;
    }
  }
  // At most `digits` decimal digits, after blanks; -1 when there is none, or it is too large.
  int64_t number(int digits = 9) {
    skip();
    int64_t v = -1;
    for (; at_ < end_ && *at_ >= '0' && *at_ <= '9' && digits > 0; --digits) v = (v < 0 ? 0 : v * 10) + *at_++ - '0';
    return at_ < end_ && digits == 0 && *at_ >= '0' && *at_ <= '9' ? -1 : v;
  }
  // One plain bit; bits need no blanks between them.
  int64_t bit() {
    skip();
    return at_ < end_ && (*at_ == '0' || *at_ == '1') ? *at_++ - '0' : -1;
  }
  // The single blank before binary samples.
  bool blank() { return at_ < end_ && is_blank(*at_++); }

 private:
  const uint8_t *at_, *end_;
};

}  // namespace

Decode decode_pnm(Canvas& canvas) {
  const int kind = canvas.bytes()[1] - '0';
  const bool plain = kind <= 3, bits = kind % 3 == 1, color = kind % 3 == 0;
  Reader r(canvas);
  const int64_t width = r.number(), height = r.number(), most = bits ? 1 : r.number();
  if (width < 0 || height < 0 || most < 0)
    return canvas.fail(r.at_end() ? "the file ends too early" : "its header has something else where a number belongs");
  if (most < 1 || most > 65535) return canvas.fail("the largest sample is %d, it must be 1 to 65535", int(most));
  if (!plain && !r.blank()) return canvas.fail("the file ends too early");
  if (!canvas.begin(static_cast<uint64_t>(height), static_cast<uint64_t>(width))) return TRUNNION_EXTRAS_FAILED;

  std::vector<uint8_t> scaled(static_cast<size_t>(most) + 1);
  for (size_t i = 0; i < scaled.size(); ++i)
    scaled[i] = static_cast<uint8_t>(std::nearbyint(static_cast<double>(i) / static_cast<double>(most) * 255.0));
  const uint64_t samples = canvas.width() * (color ? 3 : 1), sample_bytes = most > 255 ? 2 : 1;
  const uint64_t row_bytes = bits ? (samples + 7) / 8 : samples * sample_bytes;
  if (!plain && r.left() / row_bytes < canvas.height()) return canvas.fail("the file ends too early");
  std::vector<uint8_t> row(samples);
  for (uint64_t y = 0; y < canvas.height(); ++y) {
    const uint8_t* from = plain ? nullptr : r.take(row_bytes);
    for (uint64_t i = 0; i < samples; ++i) {
      int64_t v = 0;
      if (plain)
        v = bits ? r.bit() : r.number(5);
      else if (bits)
        v = from[i / 8] >> (7 - i % 8) & 1;
      else
        v = sample_bytes == 1 ? from[i] : from[2 * i] << 8 | from[2 * i + 1];
      if (v < 0) return canvas.fail(r.at_end() ? "the file ends too early" : "a sample is not a number");
      if (v > most && plain) return canvas.fail("a sample is %d, the largest is %d", int(v), int(most));
      if (bits) v = 1 - v;  // 1 is black
      row[i] = scaled[static_cast<size_t>(std::min(v, most))];
    }
    canvas.put_row(y, row.data(), color ? Layout::rgb : Layout::gray);
  }
  return TRUNNION_EXTRAS_OK;
}

}  // namespace trunnion::extras
