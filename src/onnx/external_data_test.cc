#include "onnx/external_data.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "onnx/tensor_data.h"
#include "onnx/test_model.h"

namespace trunnion::onnx {
namespace {

namespace fs = std::filesystem;

class ExternalDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "trunnion_external_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    fs::create_directory(root_ / "model");
    write(root_ / "model" / "w.bin", std::string(4096, 'p') + "abcdefgh");
    write(root_ / "secret.bin", "12345678");
  }
  void TearDown() override { fs::remove_all(root_); }

  static void write(const fs::path& path, std::string_view content) {
    std::ofstream(path, std::ios::binary) << content;
  }
  std::string folder() const { return (root_ / "model").string(); }

  static TensorProtoView tensor(std::vector<StringEntry> entries, int64_t count = 8) {
    TensorProtoView t;
    t.name = "W";
    t.data_type = static_cast<int32_t>(DType::u8);
    t.dims = {count};
    t.external = true;
    t.external_data = std::move(entries);
    return t;
  }
  std::string message_of(std::vector<StringEntry> entries) const {
    ExternalData external(folder());
    return decode_tensor(tensor(std::move(entries)), {nullptr, &external}).status().message();
  }

  fs::path root_;
};

TEST_F(ExternalDataTest, BorrowsFromTheMappedFile) {
  Result<Tensor> r = Status(Code::fail, "");
  {
    ExternalData external(folder());
    r = decode_tensor(tensor({{"location", "w.bin"}, {"offset", "4096"}, {"length", "8"}, {"checksum", "x"}}),
                      {nullptr, &external});
    ASSERT_TRUE(r.ok()) << r.status().message();
    const auto again = decode_tensor(tensor({{"location", "./w.bin"}, {"offset", "4096"}}), {nullptr, &external});
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->raw(), r->raw());  // one mapping for both spellings
    EXPECT_EQ(external.files().size(), 1u);
  }
  EXPECT_EQ(r->data<char>()[0], 'a');  // the tensor keeps the mapping
  EXPECT_EQ(r->data<char>()[7], 'h');
}

TEST_F(ExternalDataTest, NamesNumbersThatDoNotFit) {
  EXPECT_EQ(
      message_of({{"location", "w.bin"}, {"offset", "4097"}}),
      "tensor 'W': external data at offset 4097 with 8 bytes is out of bounds: file 'w.bin' has a size of 4104 bytes");
  EXPECT_EQ(message_of({{"location", "w.bin"}, {"length", "9"}}),
            "tensor 'W' needs 8 bytes, but its external data in 'w.bin' has length 9");
  EXPECT_NE(message_of({{"location", "w.bin"}, {"offset", "18446744073709551615"}}).find("out of bounds"),
            std::string::npos);
  EXPECT_EQ(message_of({{"location", "w.bin"}, {"offset", "-8x"}}),
            "tensor 'W': the external data's offset '-8x' is not a non-negative number");
  EXPECT_NE(message_of({{"location", "w.bin"}, {"length", ""}}).find("length ''"), std::string::npos);
  EXPECT_NE(message_of({{"location", "w.bin"}, {"offset", "99999999999999999999999"}}).find("not a non-negative"),
            std::string::npos);
  EXPECT_EQ(message_of({}), "tensor 'W': the external data has no location");
}

TEST_F(ExternalDataTest, StaysInTheFolder) {
  const std::string absolute = (root_ / "secret.bin").string();
  EXPECT_NE(message_of({{"location", absolute}}).find("absolute"), std::string::npos);
  EXPECT_NE(message_of({{"location", "../secret.bin"}}), "");
  fs::create_symlink("../secret.bin", root_ / "model" / "link.bin");
  EXPECT_NE(message_of({{"location", "link.bin"}}).find("outside"), std::string::npos);
  EXPECT_NE(message_of({{"location", std::string_view("w.bin\0/../x", 11)}}), "");
  const std::string missing = message_of({{"location", "none.bin"}});
  EXPECT_NE(missing.find("none.bin"), std::string::npos) << missing;
  EXPECT_TRUE(missing.starts_with("tensor 'W', external data: ")) << missing;
  EXPECT_NE(message_of({{"location", "."}}), "");
}

TEST_F(ExternalDataTest, AcceptsTheTargetFolderOfALinkedModel) {
  fs::create_symlink("../secret.bin", root_ / "model" / "link.bin");
  ExternalData external(folder(), {root_.string()});
  EXPECT_TRUE(decode_tensor(tensor({{"location", "link.bin"}}), {nullptr, &external}).ok());
}

TEST_F(ExternalDataTest, PrefersFilesInMemory) {
  ExternalData external("");
  external.add_memory_file("w.bin", as_bytes("ABCDEFGHIJ"), nullptr);
  const auto r = decode_tensor(tensor({{"location", "w.bin"}, {"offset", "1"}}), {nullptr, &external});
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(r->data<char>()[0], 'B');
  EXPECT_FALSE(decode_tensor(tensor({{"location", "w.bin"}, {"offset", "3"}}), {nullptr, &external}).ok());
  EXPECT_TRUE(external.files().empty());
}

TEST_F(ExternalDataTest, NeedsNoFileForAnEmptyTensor) {
  ExternalData external(folder());
  EXPECT_TRUE(decode_tensor(tensor({{"location", "none.bin"}}, 0), {nullptr, &external}).ok());
}

}  // namespace
}  // namespace trunnion::onnx
