// SPDX-License-Identifier: Apache-2.0
// A root folder with one small task, for tests; it goes with its scope.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/atomic_file.h"
#include "task/text_file.h"

namespace szarena::task {

class SmallRoot {
 public:
  SmallRoot() : path_(testing::TempDir() + "task-XXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
    Write("tasks/contract/contract.h", "int f(void);\n");
    Write(
        "tasks/small/task.toml",
        "schema = 1\nkind = \"primitive\"\nsummary = \"small\"\ndtypes = [\"f32\"]\n"
        "[targets.cpu]\ncontract = [\"tasks/contract/contract.h\"]\nsources = [\"none\"]\n"
        "[[fields]]\nname = \"f\"\nspec = \"gen:smooth:seed=1:dims=8\"\nbounds = [\"rel:1e-3\"]\n");
    Write("tasks/small/description.md", "description of small\n");
  }
  SmallRoot(const SmallRoot&) = delete;
  SmallRoot& operator=(const SmallRoot&) = delete;
  ~SmallRoot() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  void Write(const std::string& file, const std::string& text) {
    std::filesystem::path to = path_ + "/" + file;
    std::filesystem::create_directories(to.parent_path());
    EXPECT_TRUE(WriteFileAtomically(to.string(), text).has_value());
  }
  std::string Read(const std::string& file) { return *ReadTextFile(path_ + "/" + file); }
  void Replace(const std::string& file, const std::string& from, const std::string& to) {
    std::string text = Read(file);
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    Write(file, text.replace(at, from.size(), to));
  }

 private:
  std::string path_;
};

}  // namespace szarena::task
