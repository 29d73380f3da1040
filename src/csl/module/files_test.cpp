// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "csl/module/files.h"

namespace szarena::csl {
namespace {

namespace fs = std::filesystem;

class FilesTest : public ::testing::Test {
 protected:
  FilesTest()
      : root_(fs::temp_directory_path() / ("csl_files_test_" + std::to_string(::getpid()))) {
    Write("main.csl", "const a = 1;");
    Write("sub/pe.csl", "const b = 2;");
    Write("sub/deep/x.csl", "const c = 3;");
    Write("libs/mine.csl", "const d = 4;");
    Write("libs/pe.csl", "const wrong = 4;");
  }
  ~FilesTest() override { fs::remove_all(root_); }
  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  std::string At(const std::string& name) const { return (root_ / name).string(); }

  fs::path root_;
  SourceMap sources;
  NameTable names;
  DiagSink diags;
};

TEST_F(FilesTest, PathsAreRelativeToTheImportingFile) {
  Files files(sources, names, diags, {});
  const Ast* main = files.Load(At("main.csl"), {}, {});
  ASSERT_NE(main, nullptr);
  const Ast* pe = files.Load("sub/pe.csl", main->source(), {});
  ASSERT_NE(pe, nullptr);
  const Ast* x = files.Load("deep/x.csl", pe->source(), {});
  ASSERT_NE(x, nullptr);
  EXPECT_EQ(sources.File(x->source()).path, At("sub/deep/x.csl"));
  EXPECT_EQ(files.Load("../pe.csl", x->source(), {}), pe) << "the same file is parsed once";
  EXPECT_FALSE(files.IsLibrary(pe->source()));
}

TEST_F(FilesTest, ImportDirectoriesComeAfterTheNeighbours) {
  Files files(sources, names, diags, {At("libs")});
  const Ast* pe = files.Load(At("sub/pe.csl"), {}, {});
  EXPECT_EQ(files.Load("pe.csl", pe->source(), {}), pe);
  EXPECT_NE(files.Load("mine.csl", pe->source(), {}), nullptr);
  EXPECT_NE(files.Load("<mine>", pe->source(), {}), nullptr);
  EXPECT_FALSE(diags.HasErrors());
}

// Public programs of SDK 1.0 name all files as seen from their layout file (docs/csl/decisions.md).
TEST_F(FilesTest, TheFolderOfTheLayoutFileComesBetweenNeighboursAndImportDirectories) {
  Files files(sources, names, diags, {At("libs")});
  const Ast* main = files.Load(At("main.csl"), {}, {});
  ASSERT_NE(main, nullptr);
  const Ast* x = files.Load("sub/deep/x.csl", main->source(), {});
  ASSERT_NE(x, nullptr);
  const Ast* pe = files.Load("sub/pe.csl", x->source(), {});
  ASSERT_NE(pe, nullptr);
  EXPECT_EQ(sources.File(pe->source()).path, At("sub/pe.csl"));
  Write("pe.csl", "const e = 5;");
  const Ast* outer = files.Load("pe.csl", x->source(), {});
  ASSERT_NE(outer, nullptr);
  EXPECT_EQ(sources.File(outer->source()).path, At("pe.csl")) << "before the import directories";
  EXPECT_EQ(files.Load("pe.csl", pe->source(), {}), pe) << "a neighbour comes first";
  EXPECT_EQ(files.Load("none.csl", x->source(), {}), nullptr);
  EXPECT_NE(diags.all().at(0).message.find(At("none.csl")), std::string::npos);
}

TEST_F(FilesTest, LibrariesAreEmbeddedAndFindTheirNeighbours) {
  Files files(sources, names, diags, {});
  const Ast* library = files.Load("<tile_config>", {}, {});
  ASSERT_NE(library, nullptr);
  EXPECT_TRUE(files.IsLibrary(library->source()));
  const Ast* inner = files.Load("tile_config/teardown.csl", library->source(), {});
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(inner, files.Load("<tile_config/teardown>", {}, {}));
}

TEST_F(FilesTest, NothingOutsideOfAFolderIsRead) {
  fs::create_symlink(At("libs/mine.csl"), root_ / "sub/link.csl");
  fs::create_symlink(At("libs"), root_ / "sub/folder");
  Files files(sources, names, diags, {At("libs")}, At("sub"));
  const Ast* pe = files.Load(At("sub/pe.csl"), {}, {});
  ASSERT_NE(pe, nullptr);
  EXPECT_NE(files.Load("deep/x.csl", pe->source(), {}), nullptr);
  EXPECT_NE(files.Load("deep/../pe.csl", pe->source(), {}), nullptr);
  EXPECT_NE(files.Load("<tile_config>", pe->source(), {}), nullptr);
  ASSERT_FALSE(diags.HasErrors());
  for (const std::string& path :
       {At("main.csl"), std::string("../main.csl"), std::string("deep/../../main.csl"),
        std::string("link.csl"), std::string("folder/mine.csl"), std::string("mine.csl"),
        std::string("<mine>"), std::string("/proc/self/environ"),
        std::string("../no_such_file.csl"), At("sub2/x.csl")}) {
    for (const bool as_text : {false, true}) {
      DiagSink found;
      Files others(sources, names, found, {At("libs")}, At("sub"));
      const SourceId from = others.Load(At("sub/pe.csl"), {}, {})->source();
      EXPECT_TRUE(as_text ? !others.ReadText(path, from, {})
                          : others.Load(path, from, {}) == nullptr)
          << path;
      ASSERT_EQ(found.all().size(), 1u) << path;
      EXPECT_EQ(found.all()[0].kind, DiagKind::kFileUnreadable) << path;
    }
  }
}

TEST_F(FilesTest, WhatCannotBeReadIsSaid) {
  Files files(sources, names, diags, {At("libs")});
  EXPECT_EQ(files.Load("no.csl", {}, {}), nullptr);
  EXPECT_EQ(files.Load("<no>", {}, {}), nullptr);
  EXPECT_EQ(files.Load(At("sub"), {}, {}), nullptr);
  ASSERT_EQ(diags.all().size(), 3u);
  EXPECT_EQ(diags.all()[0].kind, DiagKind::kFileNotFound);
  EXPECT_NE((diags.all()[0].message + diags.all()[0].remedy).find(At("libs/no.csl")),
            std::string::npos);
  EXPECT_EQ(diags.all()[1].kind, DiagKind::kLibraryNotFound);
  EXPECT_EQ(diags.all()[2].kind, DiagKind::kFileUnreadable);
}

TEST_F(FilesTest, DataFilesAreGivenAsTheyAre) {
  Write("data.json", std::string("[1,\0 2]", 7));
  Files files(sources, names, diags, {});
  const Ast* main = files.Load(At("main.csl"), {}, {});
  EXPECT_EQ(files.ReadText("data.json", main->source(), {}), std::string("[1,\0 2]", 7));
}

}  // namespace
}  // namespace szarena::csl
