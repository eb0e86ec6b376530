// BMP, all of it but embedded JPEG and PNG: palettes, 16, 24 and 32 bits with any masks, run lengths. Alpha is dropped.
#include <algorithm>
#include <bit>
#include <memory>
#include <new>

#include "extras/image.h"

namespace trunnion::extras {
namespace {

constexpr uint64_t kFileHeader = 14, kOldHeader = 12, kHeader = 40;
enum Compression : uint32_t { kNone, kRuns8, kRuns4, kMasks, kMasksAlpha = 6 };

uint32_t number(const uint8_t* bytes, int count) {
  uint32_t v = 0;
  for (int i = count; i-- > 0;) v = v << 8 | bytes[i];
  return v;
}

struct Header {
  uint64_t data = 0;              // offset of the pixels
  int64_t width = 0, height = 0;  // negative height: the upper row stands first
  uint32_t bits = 0, compression = kNone;
  uint32_t masks[3] = {};  // red, green, blue
  uint8_t palette[256][3] = {};
};

// Null when all is well.
const char* read_header(const Canvas& canvas, Header* h) {
  const uint8_t* b = canvas.bytes();
  const uint64_t size = canvas.size();
  constexpr const char* kShort = "the file ends too early";
  if (size < kFileHeader + kOldHeader) return kShort;
  h->data = number(b + 10, 4);
  const uint64_t header = number(b + kFileHeader, 4);
  const bool old = header == kOldHeader;
  if (!old && header < kHeader) return "its header has a size that no version of the format has";
  if (size < kFileHeader + header) return kShort;
  const uint8_t* d = b + kFileHeader;
  const auto side = [](uint32_t v) { return int64_t{static_cast<int32_t>(v)}; };
  h->width = old ? number(d + 4, 2) : side(number(d + 4, 4));
  h->height = old ? number(d + 6, 2) : side(number(d + 8, 4));
  h->bits = number(d + (old ? 10 : 14), 2);
  h->compression = old ? kNone : number(d + 16, 4);
  uint64_t palette = kFileHeader + header;
  if (h->compression == kMasks || h->compression == kMasksAlpha) {
    if (size < kFileHeader + kHeader + 12) return kShort;
    for (int i = 0; i < 3; ++i) h->masks[i] = number(d + kHeader + 4 * static_cast<uint64_t>(i), 4);
    if (header == kHeader) palette += h->compression == kMasks ? 12 : 16;
  } else if (h->bits == 16) {
    for (int i = 0; i < 3; ++i) h->masks[i] = 31u << (10 - 5 * i);
  } else {
    for (int i = 0; i < 3; ++i) h->masks[i] = 255u << (16 - 8 * i);
  }
  if (h->bits > 8) return nullptr;
  const uint64_t entry = old ? 3 : 4, used = old ? 0 : number(d + 32, 4);
  const uint64_t colors = std::min<uint64_t>(used ? used : uint64_t{1} << h->bits, 256);
  for (uint64_t i = 0; i < colors && palette + (i + 1) * entry <= size; ++i)
    for (int k = 0; k < 3; ++k) h->palette[i][k] = b[palette + i * entry + 2 - static_cast<uint64_t>(k)];
  return nullptr;
}

bool is_known(const Header& h) {
  switch (h.compression) {
    case kNone:
      return h.bits == 1 || h.bits == 2 || h.bits == 4 || h.bits == 8 || h.bits == 16 || h.bits == 24 || h.bits == 32;
    case kRuns8:
      return h.bits == 8 && h.height > 0;
    case kRuns4:
      return h.bits == 4 && h.height > 0;
    default:
      return (h.compression == kMasks || h.compression == kMasksAlpha) && (h.bits == 16 || h.bits == 32);
  }
}

// One row of packed pixels to red, green, blue.
void unpack(const Header& h, const uint8_t* from, uint64_t width, uint8_t* to) {
  for (uint64_t x = 0; x < width; ++x, to += 3) {
    if (h.bits <= 8) {
      const uint64_t at = x * h.bits;
      const unsigned shift = 8 - h.bits - static_cast<unsigned>(at % 8);
      std::copy_n(h.palette[from[at / 8] >> shift & ((1u << h.bits) - 1)], 3, to);
      continue;
    }
    const uint32_t bytes = h.bits / 8;
    const uint32_t v = number(from + x * bytes, static_cast<int>(bytes));
    for (int i = 0; i < 3; ++i) {
      if (h.masks[i] == 0) {
        to[i] = 0;
        continue;
      }
      const int shift = std::countr_zero(h.masks[i]);
      const uint64_t most = h.masks[i] >> shift;
      to[i] = static_cast<uint8_t>(((v & h.masks[i]) >> shift) * uint64_t{255} / most);
    }
  }
}

// Run lengths to one index a byte, the lowest row first. What they skip stays 0. False when the file ends in between.
bool expand(const Header& h, const uint8_t* from, const uint8_t* end, uint64_t width, uint64_t height, uint8_t* to) {
  uint64_t x = 0, y = 0;
  const auto put = [&](uint8_t index) {
    if (x < width && y < height) to[y * width + x] = index;
    ++x;
  };
  const bool nibbles = h.bits == 4;
  while (y < height) {
    if (end - from < 2) return false;
    const unsigned count = from[0], code = from[1];
    from += 2;
    if (count > 0) {
      for (unsigned i = 0; i < count; ++i)
        put(static_cast<uint8_t>(!nibbles ? code : i % 2 == 0 ? code >> 4 : code & 15u));
    } else if (code == 0) {
      x = 0;
      ++y;
    } else if (code == 1) {
      return true;
    } else if (code == 2) {
      if (end - from < 2) return false;
      x += from[0];
      y += from[1];
      from += 2;
    } else {
      const unsigned bytes = nibbles ? (code + 1) / 2 : code, padded = (bytes + 1) / 2 * 2;
      if (end - from < static_cast<int64_t>(bytes)) return false;
      for (unsigned i = 0; i < code; ++i)
        put(static_cast<uint8_t>(!nibbles ? from[i] : i % 2 == 0 ? from[i / 2] >> 4 : from[i / 2] & 15u));
      from += std::min<int64_t>(padded, end - from);
    }
  }
  return true;
}

}  // namespace

Decode decode_bmp(Canvas& canvas) {
  Header h;
  if (const char* fault = read_header(canvas, &h)) return canvas.fail("%s", fault);
  if (!is_known(h)) return canvas.fail("%u bits a pixel with compression %u are not supported", h.bits, h.compression);
  const bool from_top = h.height < 0;
  if (!canvas.begin(static_cast<uint64_t>(from_top ? -h.height : h.height),
                    static_cast<uint64_t>(std::max<int64_t>(h.width, 0))))
    return TRUNNION_EXTRAS_FAILED;
  const uint64_t width = canvas.width(), height = canvas.height();
  if (h.data > canvas.size()) return canvas.fail("the file ends too early");
  const uint8_t* from = canvas.bytes() + h.data;
  uint64_t stride = (width * h.bits + 31) / 32 * 4;
  const bool runs = h.compression == kRuns8 || h.compression == kRuns4;
  const std::unique_ptr<uint8_t[]> row(new (std::nothrow) uint8_t[width * 3]);
  const std::unique_ptr<uint8_t[]> indexes(runs ? new (std::nothrow) uint8_t[width * height]() : nullptr);
  if (!row || (runs && !indexes)) return canvas.fail("not enough memory");
  if (runs) {
    if (!expand(h, from, canvas.bytes() + canvas.size(), width, height, indexes.get()))
      return canvas.fail("the file ends too early");
    from = indexes.get();
    stride = width;
    h.bits = 8;
  } else if (canvas.size() - h.data < stride * (height - 1) + (width * h.bits + 7) / 8) {
    return canvas.fail("the file ends too early");
  }
  for (uint64_t y = 0; y < height; ++y) {
    unpack(h, from + y * stride, width, row.get());
    canvas.put_row(from_top ? y : height - 1 - y, row.get(), Layout::rgb);
  }
  return TRUNNION_EXTRAS_OK;
}

}  // namespace trunnion::extras
