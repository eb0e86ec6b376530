#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace trunnion {
namespace {

class MappedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/trunnion_test_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = os::canonical(name).value();
  }
  void TearDown() override { ASSERT_EQ(std::system(("rm -rf " + folder_).c_str()), 0); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, std::string_view text) const {
    FILE* file = fopen(path(name).c_str(), "wb");
    ASSERT_NE(file, nullptr);
    ASSERT_EQ(fwrite(text.data(), 1, text.size(), file), text.size());
    fclose(file);
  }
  static std::string text_of(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.size()};
  }
  // The message of a refusal; empty when it was accepted.
  std::string refusal(std::string_view relative) const { return resolve_inside(folder_, relative).status().message(); }

  std::string folder_;
};

TEST_F(MappedFileTest, BothModesShowTheContent) {
  std::string content(10000, 'x');
  content[9999] = 'y';
  write("model.onnx", content);
  for (OpenMode mode : {OpenMode::map, OpenMode::copy}) {
    auto file = MappedFile::open(path("model.onnx"), mode);
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ((*file)->size(), 10000u);
    EXPECT_EQ(text_of(**file), content);
    EXPECT_EQ((*file)->path(), path("model.onnx"));
    EXPECT_EQ((*file)->identity().size, 10000u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*file)->bytes().data()) % 64, 0u);
    EXPECT_FALSE((*file)->changed());
    (*file)->drop_pages(0, 10000);
    EXPECT_EQ(text_of(**file), content);
    (*file)->drop_pages(0, 99999);  // outside: nothing happens
    EXPECT_TRUE((*file)->drop_pages((*file)->bytes().subspan(1)));
    EXPECT_TRUE((*file)->drop_pages((*file)->bytes().last(1)));
    const std::byte other[1] = {};
    EXPECT_FALSE((*file)->drop_pages(other));
    EXPECT_FALSE((*file)->drop_pages({}));
    EXPECT_FALSE((*file)->drop_pages({(*file)->bytes().data(), (*file)->size() + 1}));
  }
}

TEST_F(MappedFileTest, EmptyFileHasNoBytes) {
  write("empty", "");
  for (OpenMode mode : {OpenMode::map, OpenMode::copy}) {
    auto file = MappedFile::open(path("empty"), mode);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ((*file)->size(), 0u);
    EXPECT_TRUE((*file)->bytes().empty());
    EXPECT_TRUE((*file)->range(0, 0).ok());
    EXPECT_FALSE((*file)->range(0, 1).ok());
  }
}

TEST_F(MappedFileTest, RefusesWhatIsNoRegularFile) {
  auto refused = [](const std::string& p) { return MappedFile::open(p).status(); };
  Status missing = refused(path("missing"));
  EXPECT_EQ(missing.code(), Code::no_such_file);
  EXPECT_EQ(missing.message(), "cannot open '" + path("missing") + "': No such file or directory");
  Status folder = refused(folder_);
  EXPECT_EQ(folder.code(), Code::invalid_argument);
  EXPECT_NE(folder.message().find("it is a directory"), std::string::npos);
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_NE(refused(path("pipe")).message().find("it is a pipe"), std::string::npos);
  EXPECT_NE(refused("/dev/zero").message().find("it is a device"), std::string::npos);
  EXPECT_NE(refused("").message().find("empty"), std::string::npos);
  EXPECT_NE(refused(std::string("/etc/passwd\0.onnx", 17)).message().find("NUL"), std::string::npos);
  write("file", "abc");
  EXPECT_EQ(refused(path("file/below")).code(), Code::no_such_file);
}

TEST_F(MappedFileTest, RangesAreChecked) {
  write("weights", "0123456789");
  auto file = MappedFile::open(path("weights")).value();
  auto middle = file->range(3, 4);
  ASSERT_TRUE(middle.ok());
  EXPECT_EQ(static_cast<char>((*middle)[0]), '3');
  EXPECT_EQ(middle->size(), 4u);
  EXPECT_TRUE(file->range(10, 0).ok());
  Status outside = file->range(3, 8).status();
  EXPECT_EQ(outside.message(), "'" + path("weights") + "' has 10 bytes; 8 bytes at offset 3 are outside of it");
  EXPECT_FALSE(file->range(11, 0).ok());
  EXPECT_FALSE(file->range(5, UINT64_MAX).ok());
  EXPECT_FALSE(file->range(UINT64_MAX, UINT64_MAX).ok());
}

TEST_F(MappedFileTest, NoticesChanges) {
  write("model", "first content");
  auto mapped = MappedFile::open(path("model")).value();
  auto copied = MappedFile::open(path("model"), OpenMode::copy).value();
  // Replacing by rename leaves both readers with what they opened.
  write("next", "other content");
  ASSERT_EQ(rename(path("next").c_str(), path("model").c_str()), 0);
  EXPECT_TRUE(mapped->changed());
  EXPECT_TRUE(copied->changed());
  EXPECT_EQ(text_of(*mapped), "first content");
  EXPECT_EQ(text_of(*copied), "first content");

  auto again = MappedFile::open(path("model"), OpenMode::copy).value();
  ASSERT_EQ(truncate(path("model").c_str(), 3), 0);
  EXPECT_TRUE(again->changed());
  EXPECT_EQ(text_of(*again), "other content");
  ASSERT_EQ(unlink(path("model").c_str()), 0);
  EXPECT_TRUE(again->changed());
}

TEST_F(MappedFileTest, ResolvesNamesInsideTheFolder) {
  ASSERT_TRUE(os::make_folder(path("sub")).ok());
  write("weights.bin", "w");
  write("sub/more.bin", "m");
  write("..odd", "o");
  EXPECT_EQ(resolve_inside(folder_, "weights.bin").value(), path("weights.bin"));
  EXPECT_EQ(resolve_inside(folder_, "./sub/../weights.bin").value(), path("weights.bin"));
  EXPECT_EQ(resolve_inside(folder_ + "/sub", "more.bin").value(), path("sub/more.bin"));
  EXPECT_EQ(resolve_inside(folder_, "..odd").value(), path("..odd"));
  EXPECT_EQ(resolve_inside("/", "etc").value(), os::canonical("/etc").value());
}

TEST_F(MappedFileTest, RefusesNamesThatLeadOutside) {
  ASSERT_TRUE(os::make_folder(path("model")).ok());
  ASSERT_TRUE(os::make_folder(path("model_secret")).ok());
  write("model_secret/key", "k");
  folder_ += "/model";
  EXPECT_NE(refusal("/etc/passwd").find("is absolute"), std::string::npos);
  EXPECT_NE(refusal("\\\\server\\share").find("is absolute"), std::string::npos);
  EXPECT_NE(refusal("").find("empty"), std::string::npos);
  EXPECT_NE(refusal(std::string_view("a\0b", 3)).find("NUL"), std::string::npos);
  EXPECT_NE(refusal("../model_secret/key").find("leaves the folder"), std::string::npos);
  EXPECT_NE(refusal("sub/../../model_secret/key").find("leaves the folder"), std::string::npos);
  EXPECT_NE(refusal("..").find("leaves the folder"), std::string::npos);
  EXPECT_NE(refusal("../model/x").find("leaves the folder"), std::string::npos);
  EXPECT_NE(refusal("."), "");
  EXPECT_EQ(resolve_inside(folder_, "absent").status().code(), Code::no_such_file);
  // The folder's name being a beginning of the other's must not help.
  ASSERT_EQ(symlink("../model_secret/key", path("link").c_str()), 0);
  ASSERT_EQ(symlink("/etc", path("etc").c_str()), 0);
  EXPECT_NE(refusal("link").find("outside of the folder"), std::string::npos);
  EXPECT_NE(refusal("etc/passwd").find("outside of the folder"), std::string::npos);
  // Links that stay inside are fine, and so is a folder that the caller allows.
  write("data", "d");
  ASSERT_EQ(symlink("data", path("inner").c_str()), 0);
  EXPECT_EQ(refusal("inner"), "");
  std::string allowed[] = {folder_ + "_secret"};
  EXPECT_TRUE(resolve_inside(folder_, "link", allowed).ok());
  folder_.resize(folder_.size() - 6);
}

}  // namespace
}  // namespace trunnion
