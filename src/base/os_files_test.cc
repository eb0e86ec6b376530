// Locks between processes, folders, and the times that tell whether a file has changed.
#include "base/os_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/os.h"

namespace trunnion::os {
namespace {

class FilesAndLocks : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "trunnion_os_files_" + std::to_string(process_id());
    ASSERT_TRUE(make_folder(folder_).ok());
  }
  void TearDown() override { EXPECT_TRUE(remove_folder(folder_).ok()); }
  std::string folder_;
};

TEST_F(FilesAndLocks, ALockHasOneHolder) {
  const std::string path = folder_ + "/a.lock";
  {
    auto held = FileLock::try_take(path);
    ASSERT_TRUE(held.ok() && *held);
    const auto second = FileLock::try_take(path);
    ASSERT_TRUE(second.ok());
    EXPECT_FALSE(*second);
    EXPECT_EQ(file_kind(path), FileKind::regular);
    const FileLock moved = *std::move(*held);
    const auto third = FileLock::try_take(path);
    ASSERT_TRUE(third.ok());
    EXPECT_FALSE(*third);
  }
  EXPECT_EQ(file_kind(path), FileKind::none);
  const auto again = FileLock::try_take(path);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(*again);
  EXPECT_FALSE(FileLock::try_take(folder_ + "/none/a.lock").ok());
}

TEST_F(FilesAndLocks, Folders) {
  const std::string inner = folder_ + "/inner";
  ASSERT_TRUE(make_folder(inner).ok());
  std::ofstream(inner + "/file") << "abc";
  const auto files = list_folder(inner);
  ASSERT_TRUE(files.ok());
  ASSERT_EQ(files->size(), 1u);
  EXPECT_EQ((*files)[0].name, "file");
  EXPECT_EQ((*files)[0].size, 3u);
  const auto folders = list_subfolders(folder_);
  ASSERT_TRUE(folders.ok());
  EXPECT_EQ(*folders, std::vector<std::string>{"inner"});
  EXPECT_FALSE(remove_folder(folder_).ok());  // a folder stands in the way
  EXPECT_TRUE(remove_folder(inner).ok());
  EXPECT_FALSE(list_folder(inner).ok());
}

TEST_F(FilesAndLocks, TimesOfChange) {
  const std::string path = folder_ + "/file";
  std::ofstream(path) << "abc";
  const auto before = changed_ns(path);
  ASSERT_TRUE(before.ok());
  EXPECT_LT(std::abs(wall_ns() - *before), 60'000'000'000);
  const timespec old[] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), old, 0), 0);
  EXPECT_EQ(file_identity(path)->modified_ns, 1'000'000'000'000);
  EXPECT_GE(*changed_ns(path), *before);
  EXPECT_FALSE(changed_ns(folder_ + "/none").ok());

  constexpr int64_t kSecond = 1'000'000'000;
  EXPECT_FALSE(change_would_show(5 * kSecond + 1, 5 * kSecond + 1));
  EXPECT_FALSE(change_would_show(5 * kSecond + 1, 5 * kSecond + 10'000'000));
  EXPECT_TRUE(change_would_show(5 * kSecond + 1, 5 * kSecond + 20'000'001));
  EXPECT_FALSE(change_would_show(5 * kSecond, 6 * kSecond));
  EXPECT_TRUE(change_would_show(5 * kSecond, 7 * kSecond));
  EXPECT_FALSE(change_would_show(9 * kSecond, 5 * kSecond));
}

}  // namespace
}  // namespace trunnion::os
