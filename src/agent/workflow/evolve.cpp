// SPDX-License-Identifier: Apache-2.0
// evolve: a population on islands. Each step takes a member of one island, shows it to the model
// with others and what failed last, and asks for a better one. The answer goes down a cascade
// (build, small test, whole judgement with measurement) and into the island's grid over speed and
// ratio.
#include <fmt/format.h>

#include "agent/answer_files.h"
#include "agent/feedback.h"
#include "agent/workflow/archive.h"
#include "agent/workflow/chat.h"

namespace szarena::agent {
namespace {

using data::Json;

struct Population {
  explicit Population(size_t islands) : archive(islands), last_failure(islands) {}
  Archive archive;
  std::vector<std::string> last_failure;  // of each island: what its last child failed at
  int steps = 0;                          // begun so far
  int steps_without_progress = 0;
  int answers_of_no_use = 0;  // in a row
};

std::string Label(size_t island, int step) {
  return fmt::format("island {} step {}", island + 1, step);
}

// The attempt as a member of its island.
void TakeIn(const store::Attempt& attempt, const FileTexts& files, Population& population,
            size_t island) {
  Elite elite{files, ScoreOf(attempt.verdict), attempt.verdict.ratio.value_or(0), attempt.number,
              FeedbackText(attempt.verdict)};
  const Elite* best = population.archive.Best();
  const bool better = !best || elite.score.ClearlyBetterThan(best->score);
  const bool kept = population.archive.Insert(island, std::move(elite));
  population.last_failure[island] = kept ? "" : FeedbackText(attempt.verdict);
  if (kept && better) population.steps_without_progress = 0;
}

std::string Member(const std::string& title, const Elite& elite) {
  return fmt::format("## {}\n\n{}\n\n{}", title, elite.feedback, FilesAsText(elite.files));
}

// What the model is shown in this step. The choices depend on seed and step alone.
std::string Question(const Play& play, const Population& population, size_t island, int step) {
  std::string text = play.prompt + "\n";
  const Archive& archive = population.archive;
  if (!archive.empty(island)) {
    std::mt19937_64 random(play.settings.seed * 1'000'003 + static_cast<uint64_t>(step));
    const Elite& parent = archive.Pick(island, random);
    text += Member("The program to improve", parent);
    const Elite& best = archive.BestOf(island);
    if (best.attempt != parent.attempt) text += Member("The fastest one so far", best);
    const Elite& other = archive.Pick(island, random);
    if (other.attempt != parent.attempt && other.attempt != best.attempt) {
      text += Member("Another one", other);
    }
  }
  if (const std::string& failure = population.last_failure[island]; !failure.empty()) {
    text += fmt::format("## What the last change failed at\n\n{}\n", failure);
  }
  return text;
}

// Build, then the small test, then the whole judgement: what fails early costs little.
Result<std::optional<AgentEnd>> Cascade(Play& play, Population& population, size_t island, int step,
                                        const FileTexts& files) {
  SZARENA_TRY(ToolResult result, PlaceFiles(files, play.toolbox));
  for (const char* tool : {"build", "test"}) {
    if (!result.ok) break;
    SZARENA_TRY(result, play.toolbox.Call(tool, Json::MakeObject()));
    const Json* failed = result.content.Find("failed");
    if (result.ok && failed && !failed->is_null()) result.ok = false;
  }
  if (!result.ok) {
    population.last_failure[island] = result.text;
    return std::optional<AgentEnd>();
  }
  const size_t before = play.toolbox.told_attempts().size();
  SZARENA_TRY(result, play.toolbox.Call("submit", Json::Of({{"label", Label(island, step)}})));
  const auto attempts = play.toolbox.told_attempts();
  if (attempts.size() == before) {
    return std::optional(AgentEnd{store::StopReason::kBudget, result.text});
  }
  TakeIn(attempts.back(), files, population, island);
  return std::optional<AgentEnd>();
}

}  // namespace

Result<AgentEnd> RunEvolve(Play& play) {
  Population population(static_cast<size_t>(play.settings.islands));
  while (true) {
    const int step = ++population.steps;
    const auto island = static_cast<size_t>((step - 1) % play.settings.islands);
    ++population.steps_without_progress;
    SZARENA_TRY_VOID(Note(play, "step", Json::Of({{"step", step}, {"island", island + 1}})));
    SZARENA_TRY(Chat chat, Chat::Begin(play, fmt::format("step {}", step), play.Piece("evolve"),
                                       Chat::Tools::kNone));
    SZARENA_TRY_VOID(chat.Say(Question(play, population, island, step)));
    SZARENA_TRY(const Turn turn, chat.Take());
    if (turn.end) return *turn.end;
    const FileTexts files =
        turn.fault.empty() ? FilesInAnswer(turn.text, play.default_file) : FileTexts{};
    if (files.empty()) {
      const std::string fault = turn.fault.empty() ? "the answer holds no file" : turn.fault;
      population.last_failure[island] = fault;
      if (++population.answers_of_no_use >= static_cast<int>(Chat::kFaultsInARow)) {
        return EndOf(play.toolbox, "answers of no use; the last: " + fault);
      }
      continue;
    }
    population.answers_of_no_use = 0;
    SZARENA_TRY(const auto end, Cascade(play, population, island, step, files));
    if (end) return *end;
    if (population.steps_without_progress >= play.settings.patience) {
      return AgentEnd{store::StopReason::kNoProgress,
                      fmt::format("{} steps in a row brought nothing better",
                                  population.steps_without_progress)};
    }
    if (step % play.settings.migrate_every == 0) {
      population.archive.Migrate();
      SZARENA_TRY_VOID(Note(play, "migration", Json::Of({{"step", step}})));
    }
  }
}

}  // namespace szarena::agent
