// SPDX-License-Identifier: Apache-2.0
// Tasks as data: what tasks/<task>/task.toml says (tasks/README.md documents the file).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace szarena::task {

enum class Target : uint8_t { kCpu, kCuda, kCerebras };
enum class Tier : uint8_t { kUser, kKnowledgeable, kExpert };
enum class Source : uint8_t { kNone, kCpu, kCuda };

inline constexpr std::array kTargets = {Target::kCpu, Target::kCuda, Target::kCerebras};
inline constexpr std::array kTiers = {Tier::kUser, Tier::kKnowledgeable, Tier::kExpert};
inline constexpr std::array kSources = {Source::kNone, Source::kCpu, Source::kCuda};

std::string_view TargetName(Target target);  // "cpu", "cuda", "cerebras"
std::string_view TierName(Tier tier);        // "user", "knowledgeable", "expert"
std::string_view SourceName(Source source);  // "none", "cpu", "cuda"
Result<Target> ParseTarget(std::string_view name);
Result<Tier> ParseTier(std::string_view name);
Result<Source> ParseSource(std::string_view name);

// Compressors have compress and decompress; primitives have run and perhaps inverse.
enum class Kind : uint8_t { kCompressor, kPrimitive };

// What a primitive is fed with, made from a public field.
enum class Input : uint8_t {
  kField,        // the field's values
  kCodes,        // i32: quantize's codes of the field (0 where a value needs raw)
  kDifferences,  // i32: 1-D lorenzo of the codes
  kBins,         // i32: differences + bins / 2
  kSizes,        // u32: bytes of each block's payload in SZp's plain mode, one element a block
  kWords,        // u32 or u64: the bits of the field's values
};
std::string_view InputName(Input input);

// SZARENA_MODE_... of tasks/contract/szarena_candidate.h.
enum class Mode : uint8_t {
  kNone = 0,
  kFixed = 1,
  kPlain = 2,
  kOutlier = 3,
  kRandomAccess = 4,
  kSequential = 5,
};
std::string_view ModeName(Mode mode);  // "none", "fixed", …, "random-access", "sequential"
Result<Mode> ParseMode(std::string_view name);

// "rel:1e-3" (of the range of the finite values) or "abs:0.5".
struct Bound {
  double value = 0;
  bool relative = true;

  std::string ToString() const;
  static Result<Bound> Parse(std::string_view text);
};

// A field that agents may know and that feedback is given on. Hidden data are the judge's own.
struct PublicField {
  std::string name;
  std::string spec;  // a FieldSpec (field/spec.h); also says the element type
  std::vector<Bound> bounds;
  bool timed = false;  // measured too; else for correctness only
};

// What `ratio-ok` asks for, against the reference's stream for the same data, mode and bound.
struct RatioRule {
  double min_of_reference = 0.98;  // candidate's ratio >= this times the reference's
  double raw_block_margin = 0.01;  // share of all blocks that may be raw beyond the reference's
};

struct TargetInfo {
  std::vector<std::string> contract;  // header files or a skeleton, given verbatim
  std::vector<Source> sources;        // what a session may start from
  std::string baseline;  // directory of a candidate (the ladder's last step where it has no own);
                         // empty: none
  std::vector<std::string> ladder;  // directories of candidates, first step first
};

// All paths are absolute. The format's file is read when a prompt is composed, not before.
struct Task {
  std::string name;
  Kind kind = Kind::kCompressor;
  std::string summary;      // one line
  std::string description;  // Markdown: what is wanted, for every tier
  std::string format;  // the byte-exact specification; empty where the contract's table says all
  std::vector<Mode> modes;          // the first is the one that is ranked; {kNone} for primitives
  std::vector<std::string> dtypes;  // "f32", "f64"
  Input input = Input::kField;
  bool has_inverse = true;                            // always for compressors
  uint32_t block_size = 0, pad_blocks = 0, bins = 0;  // as in szarena_problem
  RatioRule ratio_rule;                               // compressors only
  std::vector<PublicField> fields;
  std::map<Target, TargetInfo> targets;
  std::string folder;  // tasks/<task>
};

// The folder that holds tasks/ and docs/: the first one above this program's file that has
// tasks/contract, or that has share/szarena/tasks/contract.
Result<std::string> FindRoot();

// Names of the tasks under `root`, compressors first, then by name.
Result<std::vector<std::string>> ListTasks(const std::string& root);
Result<Task> LoadTask(const std::string& root, std::string_view name);

// One step of a ladder: <directory>/ladder.toml.
struct LadderStep {
  std::string idea;         // one line
  bool regression = false;  // a step that is meant to be slower than the one before
};
Result<LadderStep> LoadLadderStep(const std::string& directory);

}  // namespace szarena::task
