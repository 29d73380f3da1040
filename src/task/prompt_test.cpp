// SPDX-License-Identifier: Apache-2.0
#include "task/prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "task/references.h"
#include "task/testing/small_root.h"

namespace szarena::task {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kRoot = SZARENA_SOURCE_DIR;

// Lines of a piece that carry meaning.
std::vector<std::string> Lines(const std::string& path) {
  std::istringstream text(*ReadTextFile(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    if (line.size() > 20) lines.push_back(line);
  }
  EXPECT_FALSE(lines.empty()) << path;
  return lines;
}

TEST(PromptTest, TiersAddAndNeverLeakUpwards) {
  const auto names = *ListTasks(kRoot);
  for (const std::string& name : names) {
    Task task = *LoadTask(kRoot, name);
    for (Target target : kTargets) {
      std::string suffix = std::string(TargetName(target)) + ".md";
      std::vector<std::string> knowledgeable =
          Lines(kRoot + "/tasks/prompt/architecture_" + suffix);
      for (const auto& line : Lines(task.folder + "/parallelism.md")) knowledgeable.push_back(line);
      std::vector<std::string> expert = Lines(task.folder + "/expert_" + suffix);
      for (Tier tier : kTiers) {
        auto prompt = ComposePrompt(kRoot, task, target, tier);
        ASSERT_TRUE(prompt.has_value()) << prompt.error().ToString();
        for (const auto& line : Lines(task.folder + "/description.md")) {
          EXPECT_THAT(*prompt, HasSubstr(line));
        }
        for (const auto& line : knowledgeable) {
          EXPECT_EQ(prompt->find(line) != std::string::npos, tier >= Tier::kKnowledgeable)
              << name << " " << TierName(tier) << ": " << line;
        }
        for (const auto& line : expert) {
          EXPECT_EQ(prompt->find(line) != std::string::npos, tier == Tier::kExpert)
              << name << " " << TierName(tier) << ": " << line;
        }
      }
    }
  }
}

// Designs by their names: words of the hand-optimised designs that no lower tier may be told, in
// whatever sentence. (The line-by-line tests miss what is said in other words.)
TEST(PromptTest, LowerTiersNameNoDesignOfExperts) {
  constexpr std::string_view kTerms[] = {"look-back",
                                         "lookback",
                                         "look back",
                                         "ticket",
                                         "fused kernel",
                                         "fused single",
                                         "single kernel",
                                         "single pass",
                                         "single-pass",
                                         "one pass",
                                         "right-aligned",
                                         "right-align",
                                         "partial sums",
                                         "published sum",
                                         "predecessors",
                                         "vpmovmskb",
                                         "movmskps",
                                         "pdep",
                                         "gfni",

                                         "__match_any_sync",
                                         "affine instruction",
                                         "table of shuffles",
                                         "masked exchange",
                                         "1.5 * 2^23",
                                         "range filter",
                                         "switches the routers"};
  size_t prompts = 0;
  const auto names = *ListTasks(kRoot);
  for (const std::string& name : names) {
    const Task task = *LoadTask(kRoot, name);
    for (const Target target : kTargets) {
      for (const Tier tier : kTiers) {
        if (tier == Tier::kExpert) continue;
        std::string prompt = *ComposePrompt(kRoot, task, target, tier, Source::kNone);
        const auto references = *LoadReferences(kRoot, task, target, Source::kNone);
        for (const auto& reference : references) {
          prompt += reference.text;
        }
        for (char& c : prompt) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        for (const std::string_view term : kTerms) {
          const size_t at = prompt.find(term);
          EXPECT_EQ(at, std::string::npos)
              << name << " " << TargetName(target) << " " << TierName(tier) << ": '" << term
              << "' in: " << prompt.substr(at < 60 ? 0 : at - 60, 160);
        }
        ++prompts;
      }
    }
  }
  EXPECT_EQ(prompts, names.size() * std::size(kTargets) * 2);
}

// What every tier can read besides its prompt tells nothing of a higher one either.
TEST(PromptTest, ReferencesAndWorkflowsLeakNothing) {
  std::string everywhere;
  for (const char* workflow : {"single-shot", "iterative", "gated", "evolve", "team"}) {
    const auto words = LoadWorkflowWords(kRoot, workflow);
    ASSERT_TRUE(words.has_value()) << words.error().ToString();
    EXPECT_TRUE(words->contains("nudge"));
    for (const auto& [name, text] : *words) everywhere += text;
  }
  EXPECT_FALSE(LoadWorkflowWords(kRoot, "waterfall").has_value());
  const auto names = *ListTasks(kRoot);
  for (const std::string& name : names) {
    const Task task = *LoadTask(kRoot, name);
    for (Target target : kTargets) {
      std::string readable = everywhere;
      for (Source source : task.targets.at(target).sources) {
        const auto references = *LoadReferences(kRoot, task, target, source);
        for (const auto& reference : references) readable += reference.text;
      }
      const std::string suffix = std::string(TargetName(target)) + ".md";
      for (const std::string& piece :
           {kRoot + "/tasks/prompt/architecture_" + suffix, task.folder + "/parallelism.md",
            task.folder + "/expert_" + suffix}) {
        for (const auto& line : Lines(piece)) {
          if (line.starts_with('#')) continue;  // a heading tells nothing
          EXPECT_EQ(readable.find(line), std::string::npos) << name << " " << line;
        }
      }
    }
  }
}

TEST(PromptTest, EveryTierHoldsContractFormatAndRawBlocks) {
  for (auto [name, raw] : {std::pair{"szp", "raw block"}, {"szx", "exact block"}}) {
    Task task = *LoadTask(kRoot, name);
    std::string format = *ReadTextFile(task.format);
    EXPECT_THAT(format, HasSubstr(raw));
    std::string contract = *ReadTextFile(kRoot + "/tasks/contract/szarena_candidate.h");
    for (Tier tier : kTiers) {
      std::string prompt = *ComposePrompt(kRoot, task, Target::kCpu, tier);
      EXPECT_NE(prompt.find(format), std::string::npos);
      EXPECT_NE(prompt.find(contract), std::string::npos);
    }
  }
}

TEST(PromptTest, SourcesAreAddedOnlyWhereAsked) {
  Task task = *LoadTask(kRoot, "scan");
  std::string source = *ReadTextFile(task.folder + "/source/cpu/candidate.cpp");
  std::string none = *ComposePrompt(kRoot, task, Target::kCuda, Tier::kUser, Source::kNone);
  std::string cpu = *ComposePrompt(kRoot, task, Target::kCuda, Tier::kUser, Source::kCpu);
  EXPECT_EQ(none.find(source), std::string::npos);
  EXPECT_NE(cpu.find(source), std::string::npos);
  EXPECT_FALSE(ComposePrompt(kRoot, task, Target::kCuda, Tier::kUser, Source::kCuda).has_value());
}

TEST(PromptTest, AMissingPieceIsAnError) {
  SmallRoot root;
  root.Write("tasks/prompt/role.md", "role\n");
  root.Write("tasks/prompt/target_cpu.md", "target\n");
  root.Write("tasks/prompt/rules.md", "rules\n");
  Task task = *LoadTask(root.path(), "small");
  EXPECT_TRUE(ComposePrompt(root.path(), task, Target::kCpu, Tier::kUser).has_value());
  auto expert = ComposePrompt(root.path(), task, Target::kCpu, Tier::kExpert);
  ASSERT_FALSE(expert.has_value());
  EXPECT_THAT(expert.error().message, HasSubstr("architecture_cpu.md"));
  EXPECT_FALSE(ComposePrompt(root.path(), task, Target::kCuda, Tier::kUser).has_value());
}

TEST(PromptTest, FencesOutlastBackticksInside) {
  SmallRoot root;
  root.Write("tasks/prompt/role.md", "role\n");
  root.Write("tasks/prompt/target_cpu.md", "target\n");
  root.Write("tasks/prompt/rules.md", "rules\n");
  root.Write("tasks/contract/contract.h", "// ```` four\n");
  std::string prompt =
      *ComposePrompt(root.path(), *LoadTask(root.path(), "small"), Target::kCpu, Tier::kUser);
  EXPECT_THAT(prompt, HasSubstr("\n`````\n// ```` four\n`````\n"));
}

TEST(PromptTest, HashNamesTheBytes) {
  EXPECT_EQ(PromptHash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace szarena::task
