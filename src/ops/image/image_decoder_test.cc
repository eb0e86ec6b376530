// What the kernel adds to the decoders, which src/extras/image_test.cc tests: layouts, errors, shapes.
#include "ops/extras_library.h"
#include "ops/test_tensors.h"

namespace trunnion::ops::test {
namespace {

class ImageDecoder : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto extras = load_extras("image codecs"); !extras.ok()) GTEST_SKIP() << extras.status().message();
  }
};

OpRun node(const std::string& file, const char* format = "RGB") {
  const std::vector<uint8_t> bytes(file.begin(), file.end());
  return {.op = "ImageDecoder",
          .inputs = {tensor<uint8_t>({static_cast<int64_t>(bytes.size())}, bytes)},
          .attrs = {{"pixel_format", std::string(format)}}};
}

using Bytes = std::vector<uint8_t>;

TEST_F(ImageDecoder, PixelFormats) {
  const std::string file = "P6 1 2 255\n\x01\x02\x03\x64\xc8\xff";
  Value y = output(node(file));
  EXPECT_EQ(values<uint8_t>(y), (Bytes{1, 2, 3, 100, 200, 255}));
  EXPECT_EQ(shape(y), (Ints{2, 1, 3}));
  EXPECT_EQ(values<uint8_t>(output(node(file, "BGR"))), (Bytes{3, 2, 1, 255, 200, 100}));
  y = output(node(file, "Grayscale"));
  EXPECT_EQ(values<uint8_t>(y), (Bytes{2, 176}));  // 0.299, 0.587 and 0.114 of red, green and blue
  EXPECT_EQ(shape(y), (Ints{2, 1, 1}));
  EXPECT_EQ(values<uint8_t>(output(node("P5 2 1 255\n\x07\x08"))), (Bytes{7, 7, 7, 8, 8, 8}));
}

TEST_F(ImageDecoder, WhatCannotBeDecodedIsAnError) {
  const auto text = [](const std::string& file) { return failure(node(file)); };
  EXPECT_NE(text("GIF89a").find("no format known here"), std::string::npos);
  EXPECT_NE(text("").find("it is empty"), std::string::npos);
  EXPECT_NE(text("P5 2 2 255 abc").find("(PNM): the file ends too early"), std::string::npos) << text("P5 2 2 255 abc");
  EXPECT_NE(text("P5 1000000 1000000 255 a").find("1000000 pixels high"), std::string::npos);
}

TEST(ImageDecoderInference, Shapes) {
  EXPECT_EQ(inferred(node("a"), {fact({symbol("N")}, DType::u8)}), "{?,?,3}");
  EXPECT_EQ(inferred(node("a", "Grayscale"), {fact({7}, DType::u8)}), "{?,?,1}");
  EXPECT_NE(inferred(node("a"), {fact({7, 7}, DType::u8)}).find("rank 2"), std::string::npos);
  EXPECT_NE(inferred(node("a", "RGBA"), {fact({7}, DType::u8)}).find("'RGBA', expected RGB, BGR or Grayscale"),
            std::string::npos);
}

}  // namespace
}  // namespace trunnion::ops::test
