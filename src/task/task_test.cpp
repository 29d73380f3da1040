// SPDX-License-Identifier: Apache-2.0
#include "task/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "field/spec.h"
#include "task/listing.h"
#include "task/testing/small_root.h"

namespace szarena::task {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

const std::string kRoot = SZARENA_SOURCE_DIR;

TEST(NamesTest, ParseBack) {
  for (Target t : kTargets) EXPECT_EQ(*ParseTarget(TargetName(t)), t);
  for (Tier t : kTiers) EXPECT_EQ(*ParseTier(TierName(t)), t);
  for (Source s : kSources) EXPECT_EQ(*ParseSource(SourceName(s)), s);
  EXPECT_THAT(ParseTier("novice").error().message,
              HasSubstr("expected one of user, knowledgeable, expert"));
}

TEST(BoundTest, ParsesAndRefuses) {
  EXPECT_EQ(Bound::Parse("rel:1e-3")->value, 1e-3);
  EXPECT_TRUE(Bound::Parse("rel:1e-3")->relative);
  EXPECT_FALSE(Bound::Parse("abs:0.5")->relative);
  EXPECT_EQ(Bound::Parse("abs:0.5")->ToString(), "abs:0.5");
  for (const char* bad : {"", "rel:", "rel:0", "rel:-1", "abs:nan", "abs:inf", "1e-3", "rel:1x"}) {
    EXPECT_FALSE(Bound::Parse(bad).has_value()) << bad;
  }
}

TEST(RootTest, IsFoundFromTheTestProgram) { EXPECT_EQ(*FindRoot(), kRoot); }

TEST(RealTasksTest, AllLoad) {
  auto names = ListTasks(kRoot);
  ASSERT_TRUE(names.has_value()) << names.error().ToString();
  EXPECT_THAT(*names, ElementsAre("szp", "szx", "bitpack", "histogram", "leading-bytes", "lorenzo",
                                  "quantize", "scan"));
  for (const std::string& name : *names) {
    auto task = LoadTask(kRoot, name);
    ASSERT_TRUE(task.has_value()) << task.error().ToString();
    EXPECT_EQ(task->targets.size(), 3u);
    EXPECT_FALSE(task->summary.empty());
    EXPECT_GE(task->fields.size(), 4u);
    for (const PublicField& field : task->fields) {
      EXPECT_FALSE(field.bounds.empty()) << field.name;
      EXPECT_TRUE(field::FieldSpec::Parse(field.spec).has_value()) << field.spec;
    }
    bool compressor = name == "szp" || name == "szx";
    EXPECT_EQ(task->kind == Kind::kCompressor, compressor);
    EXPECT_EQ(task->has_inverse, compressor || name == "lorenzo" || name == "bitpack");
  }
}

TEST(RealTasksTest, JsonHasTheFixedSpellings) {
  data::Json json = TaskJson(*LoadTask(kRoot, "szp"));
  std::vector<std::string> keys;
  for (const auto& member : json.members()) keys.push_back(member.key);
  for (const char* key : {"name", "description", "targets", "tiers", "fields", "ratio_rule"}) {
    EXPECT_THAT(keys, testing::Contains(key));
  }
  const data::Json* cpu = json.FindPath({"targets", "cpu"});
  ASSERT_NE(cpu, nullptr);
  for (const char* key : {"contract", "baseline", "ladder"}) EXPECT_NE(cpu->Find(key), nullptr);
  EXPECT_EQ(json.FindPath({"ratio_rule", "min_of_reference"})->number(), 0.98);
  std::vector<std::string> tiers;
  for (const auto& tier : json.Find("tiers")->items()) tiers.push_back(*tier.string());
  EXPECT_THAT(tiers, ElementsAre("user", "knowledgeable", "expert"));
}

TEST(LoadTest, UnknownTaskNamesTheKnownOnes) {
  auto task = LoadTask(kRoot, "nope");
  ASSERT_FALSE(task.has_value());
  EXPECT_EQ(task.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(task.error().message, HasSubstr("expected one of szp, szx"));
  EXPECT_EQ(LoadTask(kRoot, "../szp").error().code, ErrorCode::kInvalidArgument);
}

TEST(LoadTest, SmallTask) {
  SmallRoot root;
  auto task = LoadTask(root.path(), "small");
  ASSERT_TRUE(task.has_value()) << task.error().ToString();
  EXPECT_EQ(task->fields[0].name, "f");
  EXPECT_TRUE(task->targets[Target::kCpu].baseline.empty());
}

TEST(LoadTest, BaselineAndLadderAreFoundByTheirFolders) {
  SmallRoot root;
  root.Write("tasks/small/baseline/cpu/a.cpp", "");
  root.Write("tasks/small/ladder/cpu/02-b/ladder.toml", "idea = \"second\"\nregression = true\n");
  root.Write("tasks/small/ladder/cpu/01-a/ladder.toml", "idea = \"first\"\n");
  TargetInfo info = LoadTask(root.path(), "small")->targets[Target::kCpu];
  EXPECT_EQ(info.baseline, root.path() + "/tasks/small/baseline/cpu");
  ASSERT_EQ(info.ladder.size(), 2u);
  EXPECT_THAT(info.ladder[0], HasSubstr("01-a"));
  std::filesystem::remove_all(info.baseline);
  EXPECT_EQ(LoadTask(root.path(), "small")->targets[Target::kCpu].baseline, info.ladder[1]);
  EXPECT_EQ(LoadLadderStep(info.ladder[0])->idea, "first");
  EXPECT_TRUE(LoadLadderStep(info.ladder[1])->regression);
}

TEST(LoadTest, FaultsNameFileAndKey) {
  struct Case {
    std::string from, to, reason;
  };
  for (const Case& c : {Case{"schema = 1", "schema = 2", "schema"},
                        {"kind = \"primitive\"", "kind = \"other\"", "unknown kind 'other'"},
                        {"summary =", "sumary =", "sumary"},
                        {"\"f32\"", "\"f16\"", "f16"},
                        {"rel:1e-3", "rel:0", "rel:0"},
                        {"gen:smooth:seed=1:dims=8", "gen:smooth", "dims"},
                        {"contract.h", "none.h", "none.h"},
                        {"tasks/contract/contract.h", "../contract.h", "not below"},
                        {"[\"none\"]", "[\"cpu\"]", "source/cpu"},
                        {"targets.cpu", "targets.gpu", "unknown target 'gpu'"},
                        {"schema = 1", "schema = ", "task.toml"}}) {
    SmallRoot root;
    root.Replace("tasks/small/task.toml", c.from, c.to);
    auto task = LoadTask(root.path(), "small");
    ASSERT_FALSE(task.has_value()) << c.to;
    EXPECT_THAT(task.error().ToString(), HasSubstr(c.reason));
    EXPECT_THAT(task.error().ToString(),
                testing::AnyOf(HasSubstr("task.toml"), HasSubstr("target")));
  }
}

}  // namespace
}  // namespace szarena::task
