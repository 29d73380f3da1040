// SPDX-License-Identifier: Apache-2.0
#include "task/scaffold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "task/prompt.h"
#include "task/testing/small_root.h"

namespace szarena::task {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kSource = SZARENA_SOURCE_DIR;

TEST(NewTaskTest, LoadsAtOnceAndComposesEveryTier) {
  SmallRoot root;
  fs::copy(kSource + "/tasks/template", root.path() + "/tasks/template",
           fs::copy_options::recursive);
  fs::copy(kSource + "/tasks/prompt", root.path() + "/tasks/prompt", fs::copy_options::recursive);
  fs::copy(kSource + "/tasks/contract", root.path() + "/tasks/contract",
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  auto folder = NewTask(root.path(), "median-filter");
  ASSERT_TRUE(folder.has_value()) << folder.error().ToString();
  auto task = LoadTask(root.path(), "median-filter");
  ASSERT_TRUE(task.has_value()) << task.error().ToString();
  EXPECT_THAT(task->summary, HasSubstr("median-filter"));
  for (Tier tier : kTiers) {
    auto prompt = ComposePrompt(root.path(), *task, Target::kCpu, tier);
    EXPECT_TRUE(prompt.has_value()) << prompt.error().ToString();
  }
  EXPECT_FALSE(NewTask(root.path(), "median-filter").has_value());
  for (const char* bad : {"", "A", "a/b", "..", "a b"}) {
    EXPECT_FALSE(NewTask(root.path(), bad).has_value()) << bad;
  }
}

TEST(NewCandidateTest, StubsAndSourcesForEveryTarget) {
  SmallRoot root;
  for (const char* name : {"szp", "scan"}) {
    Task task = *LoadTask(kSource, name);
    for (Target target : kTargets) {
      for (Source source : {Source::kNone, Source::kCpu}) {
        std::string to = root.path() + "/" + name + std::string(TargetName(target)) +
                         std::string(SourceName(source));
        auto made = NewCandidate(kSource, task, target, source, to);
        ASSERT_TRUE(made.has_value()) << made.error().ToString();
        EXPECT_FALSE(fs::is_empty(to));
        EXPECT_EQ(fs::exists(to + "/layout.csl"), target == Target::kCerebras);
        EXPECT_EQ(fs::exists(to + "/szarena_candidate.h"), target != Target::kCerebras);
        EXPECT_EQ(fs::exists(to + "/candidate.cpp"),
                  source == Source::kCpu || target == Target::kCpu);
        auto again = NewCandidate(kSource, task, target, source, to);
        ASSERT_FALSE(again.has_value());
        EXPECT_THAT(again.error().message, HasSubstr("not empty"));
      }
    }
  }
}

TEST(NewCandidateTest, NamesAreFilledIn) {
  SmallRoot root;
  std::string to = root.path() + "/c";
  ASSERT_TRUE(NewCandidate(kSource, *LoadTask(kSource, "scan"), Target::kCpu, Source::kNone, to));
  EXPECT_THAT(*ReadTextFile(to + "/candidate.cpp"), HasSubstr("task scan on CPU"));
}

}  // namespace
}  // namespace szarena::task
