// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace szarena {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class AtomicFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "atomic-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(AtomicFileTest, AppearsOnlyOnCommit) {
  fs::path path = folder_ / "out";
  auto file = AtomicFile::Create(path);
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE(file->Append("hello").has_value());
  EXPECT_FALSE(fs::exists(path));
  ASSERT_TRUE(file->Commit().has_value());
  EXPECT_EQ(ReadAll(path), "hello");
}

TEST_F(AtomicFileTest, AbandonedWriteKeepsTheOldFile) {
  fs::path path = folder_ / "out";
  ASSERT_TRUE(WriteFileAtomically(path, "old").has_value());
  {
    auto file = AtomicFile::Create(path);
    ASSERT_TRUE(file->Append("new").has_value());
  }
  EXPECT_EQ(ReadAll(path), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(AtomicFileTest, AReplacedFileKeepsItsPermissions) {
  fs::path path = folder_ / "out";
  ASSERT_TRUE(WriteFileAtomically(path, "old").has_value());
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(WriteFileAtomically(path, "new").has_value());
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(AtomicFileTest, MissingFolderIsNamed) {
  auto result = WriteFileAtomically(folder_ / "no" / "out", "x");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kIo);
  EXPECT_NE(result.error().message.find("no/out"), std::string::npos);
}

TEST(AtomicFileDevice, DevicesAreNotReplaced) {
  auto result = WriteFileAtomically("/dev/null", "x");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace szarena
