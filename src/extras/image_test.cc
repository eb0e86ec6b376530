#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "extras/extras.h"
#include "extras/samples_test.h"

namespace trunnion::extras {
namespace {

constexpr int64_t kNoLimit = int64_t{1} << 40;

struct Decoded {
  TrunnionExtrasResult result;
  TrunnionExtrasError error;
  int64_t height = -1, width = -1;
  Bytes pixels;
  std::string text() const { return error.text; }
};

Decoded decode(const Bytes& file, int32_t pixels = TRUNNION_PIXELS_RGB, int64_t most = kNoLimit) {
  Decoded d;
  struct Place {
    Decoded* d;
    int64_t channels;
  } place{&d, pixels == TRUNNION_PIXELS_GRAY ? 1 : 3};
  TrunnionImage image{file.data(), file.size(), pixels, most, nullptr, &place};
  image.place = [](void* context, int64_t height, int64_t width) {
    const Place& p = *static_cast<Place*>(context);
    p.d->height = height;
    p.d->width = width;
    p.d->pixels.assign(static_cast<size_t>(height * width * p.channels), 0xcd);
    return p.d->pixels.data();
  };
  d.result = trunnion_extras()->image_decode(&image, &d.error);
  return d;
}
Decoded decode(const std::string& text) { return decode(Bytes(text.begin(), text.end())); }

Bytes reversed(Bytes pixels) {
  for (size_t i = 0; i + 2 < pixels.size(); i += 3) std::swap(pixels[i], pixels[i + 2]);
  return pixels;
}
Bytes gray(const Bytes& pixels) {
  Bytes out;
  for (size_t i = 0; i + 2 < pixels.size(); i += 3)
    out.push_back(byte((pixels[i] * 19595 + pixels[i + 1] * 38470 + pixels[i + 2] * 7471 + 0x8000) >> 16));
  return out;
}

// The samples whose part is in this build.
std::vector<Sample> known() {
  std::vector<Sample> all;
  for (const Sample& s : samples())
    if (decode(s.file()).result != TRUNNION_EXTRAS_LEFT_OUT) all.push_back(s);
  return all;
}

TEST(Table, Version) {
  EXPECT_EQ(trunnion_extras()->version, uint32_t{TRUNNION_EXTRAS_VERSION});
  EXPECT_TRUE(trunnion_extras()->parts >> TRUNNION_EXTRAS_PNM & 1);
  EXPECT_EQ(trunnion_extras()->regex_compile != nullptr, (trunnion_extras()->parts >> TRUNNION_EXTRAS_RE2 & 1) != 0);
}

TEST(Image, SamplesInAllLayouts) {
  for (const Sample& s : known()) {
    const Decoded d = decode(s.file());
    EXPECT_EQ(d.result, TRUNNION_EXTRAS_OK) << s.name << ": " << d.text();
    EXPECT_EQ(d.pixels, s.pixels) << s.name;
    if (s.pixels.size() == kWidth * kHeight * 3) EXPECT_EQ(d.width * 10 + d.height, kWidth * 10 + kHeight) << s.name;
    EXPECT_EQ(decode(s.file(), TRUNNION_PIXELS_BGR).pixels, reversed(s.pixels)) << s.name;
    EXPECT_EQ(decode(s.file(), TRUNNION_PIXELS_GRAY).pixels, gray(s.pixels)) << s.name;
  }
}

TEST(Image, LeftOutPartsAreNamed) {
  for (const Sample& s : samples()) {
    const Decoded d = decode(s.file());
    if (d.result == TRUNNION_EXTRAS_LEFT_OUT) EXPECT_FALSE(trunnion_extras()->parts >> d.error.part & 1) << s.name;
  }
}

TEST(Image, PortableMaps) {
  const auto pixels = [](const std::string& file) {
    const Decoded d = decode(file);
    EXPECT_EQ(d.result, TRUNNION_EXTRAS_OK) << d.text();
    return decode(Bytes(file.begin(), file.end()), TRUNNION_PIXELS_GRAY).pixels;
  };
  EXPECT_EQ(pixels("P1\n# a comment\n3 2\n1 0 1\n010\n"), (Bytes{0, 255, 0, 255, 0, 255}));
  EXPECT_EQ(pixels("P2#c\n3 1 9 0 4 9"), (Bytes{0, 113, 255}));
  EXPECT_EQ(pixels("P3 1 1 1000 500 # half\n 500 500\n"), (Bytes{128}));  // 127.5 goes to the even
  EXPECT_EQ(pixels("P4 10 1\n\x55\x40"), (Bytes{255, 0, 255, 0, 255, 0, 255, 0, 255, 0}));
  EXPECT_EQ(pixels(std::string("P5 3 1 7\n\0\3\7", 12)), (Bytes{0, 109, 255}));
  EXPECT_EQ(pixels(std::string("P5 2 1 65535\n\x80\x80\xff\xff", 17)), (Bytes{128, 255}));
  EXPECT_EQ(decode(std::string("P6 1 1 100\n\0\x32\x64", 14)).pixels, (Bytes{0, 128, 255}));
  EXPECT_EQ(decode("P2 2 1 9 1 10").text(), "a sample is 10, the largest is 9");
  EXPECT_EQ(decode("P2 2 1 9 1 x").text(), "a sample is not a number");
  EXPECT_EQ(decode("P2 2 1 9 1").text(), "the file ends too early");
  EXPECT_EQ(decode("P5 2 1 255 a").text(), "the file ends too early");
  EXPECT_EQ(decode("P5 2 1 70000 ab").text(), "the largest sample is 70000, it must be 1 to 65535");
  EXPECT_EQ(decode("P5 2 99999999999 1 a").text(), "its header has something else where a number belongs");
}

TEST(Image, UnknownFormats) {
  for (const char* text : {"", "P", "P7 1 1", "GIF89a", "RIFF\1\1\1\1WAVE", "\x89PNG", "%PDF"}) {
    const Decoded d = decode(std::string(text));
    EXPECT_EQ(d.result, TRUNNION_EXTRAS_FAILED);
    EXPECT_NE(d.text().find("no format known here"), std::string::npos) << d.text();
    EXPECT_EQ(d.height, -1);
  }
  EXPECT_NE(decode(std::string("P5\0 1 1 1 1", 11)).text().find("no format known here"), std::string::npos);
}

TEST(Image, TooLargeIsRefusedBeforeMemoryIsTaken) {
  for (const Sample& s : known()) {
    const Decoded d = decode(s.file(), TRUNNION_PIXELS_RGB, 1);
    EXPECT_EQ(d.result, TRUNNION_EXTRAS_FAILED) << s.name;
    EXPECT_NE(d.text().find("pixels high"), std::string::npos) << s.name << ": " << d.text();
    EXPECT_EQ(d.height, -1);
  }
  EXPECT_NE(decode("P5 2000000 1 255 ").text().find("2000000 wide"), std::string::npos);
  EXPECT_NE(decode("P5 0 1 255 ").text().find("0 wide"), std::string::npos);
}

TEST(Image, NoRoomIsAnError) {
  const std::string file = "P2 1 1 255 7";
  TrunnionImage image{reinterpret_cast<const uint8_t*>(file.data()), file.size(), TRUNNION_PIXELS_RGB, kNoLimit};
  image.place = [](void*, int64_t, int64_t) -> uint8_t* { return nullptr; };
  TrunnionExtrasError error;
  EXPECT_EQ(trunnion_extras()->image_decode(&image, &error), TRUNNION_EXTRAS_FAILED);
  EXPECT_STREQ(error.text, "there is no room for its 1 x 1 pixels");
}

// A cut file is an error, or what was cut off did not matter. RLE of bmp may end where it likes.
TEST(Image, CutFiles) {
  for (const Sample& s : known()) {
    const Bytes file = s.file();
    for (size_t size = 0; size < file.size(); ++size) {
      const Decoded d = decode(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)));
      if (d.result == TRUNNION_EXTRAS_OK)
        EXPECT_EQ(d.pixels, s.pixels) << s.name << " cut to " << size << " of " << file.size();
      else
        EXPECT_NE(d.text(), "") << s.name << " cut to " << size;
    }
  }
}

// Every byte in turn gets other values: any answer is right, a crash or a read outside is not.
TEST(Image, BrokenFiles) {
  constexpr int64_t kMost = 1 << 16;
  for (const Sample& s : known()) {
    Bytes file = s.file();
    for (size_t at = 0; at < file.size(); ++at) {
      const uint8_t was = file[at];
      for (uint8_t value : {0, 1, 0x7f, 0x80, 0xff, was ^ 1, was ^ 0x10, was + 3}) {
        file[at] = value;
        const Decoded d = decode(file, TRUNNION_PIXELS_GRAY, kMost);
        if (d.result == TRUNNION_EXTRAS_FAILED) EXPECT_NE(d.text(), "") << s.name;
      }
      file[at] = was;
    }
  }
}

}  // namespace
}  // namespace trunnion::extras
