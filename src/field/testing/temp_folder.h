// SPDX-License-Identifier: Apache-2.0
// A fresh folder that goes with its scope, for tests.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace szarena::field {

class TempFolder {
 public:
  TempFolder() : path_(testing::TempDir() + "field-XXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

}  // namespace szarena::field
