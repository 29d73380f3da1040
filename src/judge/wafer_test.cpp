// SPDX-License-Identifier: Apache-2.0
// Every program in testdata/cerebras is judged on the simulated wafer; its expect.toml says how far
// it must come. Flags, and what a verdict tells of the wafer, are tested on changed copies of right
// programs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "data/toml.h"
#include "judge/cerebras.h"
#include "judge/evaluate.h"
#include "os/temp_dir.h"

namespace szarena::judge {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
const std::string kFolder = SZARENA_SOURCE_DIR "/src/judge/testdata/cerebras";

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    // Those with a host program of their own: tests/free_host_test.cpp.
    if (entry.is_directory() && !fs::exists(entry.path() / "run.py"))
      names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The task szp on small fields that need no package, on a grid of 4 x 3 PEs.
EvaluateOptions Options(const std::string& folder) {
  auto task = task::LoadTask(SZARENA_SOURCE_DIR, "szp");
  EXPECT_TRUE(task) << task.error().ToString();
  EvaluateOptions options;
  options.task = *SpecFromTask(*task);
  const uint32_t mode = options.task.modes.front();
  options.task.public_fields = {{"smooth 4100", "gen:smooth:seed=1:dims=4100", {1e-3, true}, mode}};
  options.task.timed_fields = {
      {"smooth 30000", "gen:smooth:seed=3:dims=30000", {1e-3, true}, mode}};
  options.target = "cerebras";
  options.candidate = folder;
  options.wafer.width = 4;
  options.wafer.height = 3;
  options.wafer.bytes = 24000;
  options.call_timeout = std::chrono::milliseconds(2000);
  return options;
}

Verdict Judge(const EvaluateOptions& options) {
  const auto evaluation = Evaluate(options);
  EXPECT_TRUE(evaluation) << evaluation.error().ToString();
  return evaluation ? evaluation->verdict : Verdict();
}

bool HasFlag(const Verdict& verdict, const std::string& name) {
  return std::any_of(verdict.flags.begin(), verdict.flags.end(),
                     [&](const Flag& flag) { return flag.name == name; });
}

// A copy of a program (one of `folder`, else of testdata) with one piece of a file replaced.
class Changed {
 public:
  Changed(const std::string& name, const std::string& from, const std::string& to,
          const std::string& where = "pe.csl", const std::string& folder = "")
      : dir_(*os::TempDir::Create("szarena-wafer-test-")) {
    for (const auto& entry :
         fs::directory_iterator(folder.empty() ? kFolder + "/" + name : folder)) {
      const std::string file = entry.path().filename();
      if (!file.ends_with(".csl")) continue;
      std::ifstream in(entry.path());
      std::stringstream text;
      text << in.rdbuf();
      std::string program = text.str();
      if (file == where) {
        const size_t at = program.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        if (at != std::string::npos) program.replace(at, from.size(), to);
      }
      std::ofstream(dir_.path() + "/" + file) << program;
    }
  }
  const std::string& path() const { return dir_.path(); }

 private:
  os::TempDir dir_;
};

class WaferProgram : public testing::TestWithParam<std::string> {};

TEST_P(WaferProgram, EndsAtTheRightStage) {
  const std::string folder = kFolder + "/" + GetParam();
  const auto expected = data::ReadTomlFile(folder + "/expect.toml");
  ASSERT_TRUE(expected) << expected.error().ToString();
  for (const bool wse3 : {false, true}) {
    EvaluateOptions options = Options(folder);
    options.wafer.wse3 = wse3;
    const Verdict verdict = Judge(options);
    ASSERT_TRUE(verdict.Reached());
    EXPECT_EQ(StageName(*verdict.Reached()), *expected->Find("stage")->string())
        << verdict.feedback;
    if (verdict.Failed()) {
      EXPECT_FALSE(verdict.at(*verdict.Failed()).detail.empty());
    }
    // Whatever happens, the verdict survives being stored.
    const auto back = VerdictFromJson(VerdictToJson(verdict), "verdict");
    ASSERT_TRUE(back) << back.error().ToString();
    EXPECT_EQ(back->wafer, verdict.wafer);
    if (testing::Test::HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, WaferProgram, testing::ValuesIn(Names()),
                         [](const auto& name) { return name.param; });

TEST(Wafer, ARightProgramIsMeasuredAndTellsWhatItDid) {
  const Verdict verdict = Judge(Options(kFolder + "/right_scalar"));
  ASSERT_TRUE(verdict.ranked()) << verdict.feedback;
  EXPECT_TRUE(verdict.flags.empty());
  EXPECT_DOUBLE_EQ(*verdict.ratio, *verdict.reference_ratio);
  ASSERT_TRUE(verdict.wafer);
  EXPECT_EQ(verdict.wafer->variant, "resident");
  EXPECT_EQ(verdict.wafer->width, 4);
  EXPECT_THAT(verdict.wafer->model_error, HasSubstr("held out"));
  for (size_t d = 0; d < 2; ++d) {
    const auto& activity = verdict.wafer->directions[d];
    ASSERT_TRUE(activity);
    EXPECT_EQ(activity->elements, 6144u);
    EXPECT_EQ(activity->pes_active, 12u);
    EXPECT_GT(activity->scalar_instructions, 6144u * 20);
    EXPECT_GT(activity->busy_cycles, activity->idle_cycles);
    EXPECT_GT(activity->copy_in_seconds, 0);
    const auto& throughput = verdict.directions[d].candidate;
    ASSERT_TRUE(throughput && throughput->kernel && throughput->host);
    EXPECT_EQ(throughput->basis, Basis::kEstimated);
    EXPECT_FALSE(throughput->device);
    EXPECT_GT(throughput->kernel->median, throughput->host->median);
  }
  // One variation's figure follows from its cycles.
  const double gbs =
      24000.0 / (static_cast<double>(verdict.wafer->directions[0]->launch_cycles) / 850e6) * 1e-9;
  EXPECT_LE(verdict.directions[0].candidate->kernel->q1 * 0.9, gbs);
  EXPECT_GE(verdict.directions[0].candidate->kernel->q3 * 1.1, gbs);
}

TEST(Wafer, TheSecondGeometryIsJudgedToo) {
  // Right on 4 x 3 PEs with chunk_blocks 4 only.
  const Changed program("right_scalar",
                        "(blocks + chunk_blocks - 1) / chunk_blocks * chunk_blocks / 4",
                        "(blocks + 3) / 4");
  const Verdict verdict = Judge(Options(program.path()));
  ASSERT_TRUE(verdict.Failed());
  EXPECT_GE(*verdict.Failed(), Stage::kBoundHeld);
  EXPECT_THAT(verdict.feedback, HasSubstr("hidden: "));
}

TEST(Wafer, OnePeAtWork) {
  const Changed program(
      "right_scalar", "fn compress() void {",
      "const place = @import_module(\"<layout>\");\nfn compress() void {\n"
      "  if (place.get_x_coord() + place.get_y_coord() != 0) {\n"
      "    output_word_count[0] = 0;\n    sys_mod.unblock_cmd_stream();\n    return;\n  }");
  const Verdict verdict = Judge(Options(program.path()));
  EXPECT_FALSE(verdict.decodable());
  EXPECT_TRUE(HasFlag(verdict, "one-pe")) << verdict.feedback;
}

TEST(Wafer, PassingThrough) {
  EXPECT_TRUE(HasFlag(Judge(Options(kFolder + "/passes_the_input_through")), "passthrough-like"));
  EXPECT_TRUE(HasFlag(Judge(Options(kFolder + "/stores_everything_raw")), "passthrough-like"));
}

TEST(Wafer, MoreOverheadThanWork) {
  const Changed program(
      "right_scalar", "fn compress() void {",
      "var turns: u32 = 0;\nfn compress() void {\n  while (turns < 200000) turns += 1;");
  const Verdict verdict = Judge(Options(program.path()));
  EXPECT_TRUE(verdict.ranked()) << verdict.feedback;
  EXPECT_TRUE(HasFlag(verdict, "overhead-dominated")) << verdict.feedback;
}

TEST(Wafer, DeadlocksComeWithTheReportOfTheFabric) {
  const Verdict verdict = Judge(Options(kFolder + "/waits_for_a_neighbour"));
  EXPECT_THAT(verdict.feedback, HasSubstr("pe.csl"));
  EXPECT_THAT(verdict.feedback, HasSubstr("waits"));
}

TEST(Wafer, AProgramThatComputesWithPoisonIsFound) {
  // The first word behind the payload changes what is in it.
  const Changed program(
      "right_scalar", "const scale = 0.5 / bound;",
      "const scale = 0.5 / bound;\n  if (n < max_elems_per_pe and (@bitcast(u32, input[n]) & 1) != "
      "0) {\n    output_word_count[0] = 0;\n    sys_mod.unblock_cmd_stream();\n    return;\n  }");
  const Verdict verdict = Judge(Options(program.path()));
  EXPECT_FALSE(verdict.correct());
}

TEST(Wafer, ChangingWhatTheJudgeSetIsFound) {
  const Changed program("right_scalar", "output_word_count[0] = @as(u32, at);",
                        "output_word_count[0] = @as(u32, at);\n  n_local[0] = 0;");
  const Verdict verdict = Judge(Options(program.path()));
  ASSERT_EQ(verdict.Failed(), Stage::kOutputProduced) << verdict.feedback;
  EXPECT_THAT(verdict.at(Stage::kOutputProduced).detail,
              HasSubstr("PE (0, 0): n_local is 0, the judge had set 2048"));
}

TEST(Wafer, AWrongTimedOutputIsNotCorrect) {
  // Only the timed geometry has these params together.
  const Changed program("right_scalar", "fn decompress() void {\n",
                        "fn decompress() void {\n  decompress_right();\n  if (max_elems_per_pe == "
                        "512 and chunk_blocks == 4 and n_local[0] > 0) input[0] += 1.0;\n"
                        "  sys_mod.unblock_cmd_stream();\n}\nfn decompress_right() void {\n");
  const Changed once("right_scalar", "  }\n  sys_mod.unblock_cmd_stream();\n}\n\ncomptime",
                     "  }\n}\n\ncomptime", "pe.csl", program.path());
  const Verdict verdict = Judge(Options(once.path()));
  ASSERT_EQ(verdict.Failed(), Stage::kMeasured) << verdict.feedback;
  EXPECT_EQ(verdict.timed_fault, Stage::kDecodable);
  EXPECT_FALSE(verdict.decodable());
  EXPECT_FALSE(verdict.correct());
}

TEST(Wafer, ExportedPointersStay) {
  // A change of what the judge set would go unseen.
  const Changed program("right_scalar", "output_word_count[0] = @as(u32, at);",
                        "output_word_count[0] = @as(u32, at);\n  keep[0] = n_local[0];\n"
                        "  n_local[0] = 7;\n  n_local_ptr = &keep;");
  std::ofstream(program.path() + "/pe.csl", std::ios::app) << "\nvar keep = @zeros([1]u32);\n";
  const Verdict verdict = Judge(Options(program.path()));
  ASSERT_EQ(verdict.Failed(), Stage::kOutputProduced) << verdict.feedback;
  EXPECT_THAT(verdict.at(Stage::kOutputProduced).detail,
              HasSubstr("compress changed an exported pointer: PE (0, 0): 'n_local' points to 0x"));
}

TEST(Wafer, TheVariantIsThatOfTheDeclaredParams) {
  const auto variant = [](const std::string& layout) {
    target::Candidate candidate;
    candidate.files.push_back({"layout.csl", layout});
    return VariantOf(WaferOptions::Variant::kAuto, candidate);
  };
  EXPECT_EQ(variant("param width: u16;\n// no param in_color_id: u16;\n"),
            WaferOptions::Variant::kResident);
  EXPECT_EQ(variant("const s = \"param in_color_id\"; const in_color_id = 1;"),
            WaferOptions::Variant::kResident);
  EXPECT_EQ(variant("param width: u16;\nparam // west\n  in_color_id: u16;\n"),
            WaferOptions::Variant::kStreaming);
}

TEST(Wafer, NothingIsDoneBetweenLoadAndLaunch) {
  for (const char* name : {"works_before_the_launch", "works_before_the_launch_in_step"}) {
    const Verdict verdict = Judge(Options(kFolder + "/" + name));
    ASSERT_EQ(verdict.Failed(), Stage::kStarted) << verdict.feedback;
    const std::string detail = verdict.at(Stage::kStarted).detail;
    EXPECT_THAT(detail, HasSubstr("the machine is not at rest 250000 cycles after load"));
    EXPECT_THAT(detail, HasSubstr("PE (0, 0): "));
    EXPECT_THAT(detail, HasSubstr("pe.csl:"));
  }
}

// What is done at load time ends, waiting for a wavelet is rest, and neither counts as work.
TEST(Wafer, LoadTimeCodeThatComesToRestIsFine) {
  const Verdict plain = Judge(Options(kFolder + "/right_scalar"));
  const Changed program(
      "right_scalar", "comptime {",
      "const silent = @get_color(6);\nconst silent_in = @get_input_queue(5);\n"
      "const ready_id = @get_local_task_id(9);\nvar table = @zeros([64]u16);\nvar word = "
      "@zeros([1]u32);\n"
      "const word_dsd = @get_dsd(mem1d_dsd, .{ .base_address = &word, .extent = 1 });\n"
      "const silent_dsd = @get_dsd(fabin_dsd, .{ .extent = 1, .fabric_color = silent, .input_queue "
      "= silent_in });\n"
      "task ready() void {\n  for (@range(u16, 100)) |k| {\n    for (@range(u16, 64)) |i| table[i] "
      "= i * k;\n  }\n"
      "  @mov32(word_dsd, silent_dsd, .{ .async = true });\n}\n"
      "comptime {\n  @bind_local_task(ready, ready_id);\n  @activate(ready_id);\n"
      "  @set_local_color_config(silent, .{ .routes = .{ .rx = .{WEST}, .tx = .{RAMP} } });\n"
      "  @initialize_queue(silent_in, .{ .color = silent });");
  const Verdict verdict = Judge(Options(program.path()));
  ASSERT_TRUE(verdict.ranked()) << verdict.feedback;
  const auto& before = plain.wafer->directions[0];
  const auto& after = verdict.wafer->directions[0];
  ASSERT_TRUE(before && after);
  // The timed data are drawn anew, which changes little; the loops would add half as much again.
  EXPECT_NEAR(static_cast<double>(after->scalar_instructions) /
                  static_cast<double>(before->scalar_instructions),
              1, 0.25);
}

TEST(Wafer, WorkWithoutEndAfterUnblockingDoesNotFinish) {
  const Changed program(
      "right_scalar", "fn compress() void {",
      "var turns: u32 = 0;\nfn compress() void {\n  sys_mod.unblock_cmd_stream();\n"
      "  while (turns < 2000000000) turns += 1;");
  const Verdict verdict = Judge(Options(program.path()));
  ASSERT_EQ(verdict.Failed(), Stage::kFinished) << verdict.feedback;
}

TEST(Wafer, AWrongCountIsTheCompressorsFault) {
  const std::string line = "output_word_count[0] = @as(u32, at);";
  const Changed short_by_one("right_scalar", line,
                             "output_word_count[0] = if (at > 0) @as(u32, at) - 1 else 0;");
  const Changed zero("right_scalar", line, "output_word_count[0] = 0;");
  for (const auto& [program, text] : {std::pair(&short_by_one, "the payload written there has "),
                                      std::pair(&zero, "is 0, with ")}) {
    const Verdict verdict = Judge(Options(program->path()));
    ASSERT_EQ(verdict.Failed(), Stage::kOutputProduced) << verdict.feedback;
    EXPECT_THAT(verdict.feedback, HasSubstr("compress: PE (0, 0): output_word_count is "));
    EXPECT_THAT(verdict.feedback, HasSubstr(text));
    EXPECT_THAT(verdict.feedback, testing::Not(HasSubstr("decompress")));
  }
}

TEST(Wafer, TheRectangleIsThatOfTheParams) {
  const Changed program("right_scalar", "@set_rectangle(width, height)",
                        "@set_rectangle(width, height - 1)", "layout.csl");
  const Changed fewer("right_scalar", "for (@range(u16, height))", "for (@range(u16, height - 1))",
                      "layout.csl", program.path());
  const Verdict verdict = Judge(Options(fewer.path()));
  ASSERT_EQ(verdict.Failed(), Stage::kBuilt) << verdict.feedback;
  EXPECT_THAT(verdict.feedback, HasSubstr("4 x 2 PEs, the params ask for 4 x 3"));
}

TEST(Wafer, OnlyTheCandidatesOwnFilesAreSeen) {
  for (const char* path :
       {"/proc/self/environ", "/src/../proc/self/environ", "../no_such_file.csl"}) {
    const Changed program(
        "right_scalar", "param memcpy_params",
        fmt::format("const other = @import_module(\"{}\");\nparam memcpy_params", path));
    const Verdict verdict = Judge(Options(program.path()));
    ASSERT_EQ(verdict.Failed(), Stage::kBuilt) << verdict.feedback;
    EXPECT_THAT(verdict.feedback, HasSubstr("outside of the folder that may be read"));
  }
}

TEST(Wafer, SymbolsHaveTheTypesOfTheContract) {
  struct Wrong {
    std::string name, array, was, is;
  };
  for (const auto& [name, array, was, is] :
       {Wrong{"output", "input", "f32", "i32"}, Wrong{"n_local", "n_local", "u32", "i32"},
        Wrong{"eb_f32", "eb_f32", "f32", "u32"}}) {
    // The layout and the PE's code have to agree, or the compiler says so.
    const std::string exported = fmt::format("\"{}\", [*]", name);
    const std::string pointer = fmt::format("var {}_ptr: [*]", name);
    const Changed layout("right_scalar", exported + was, exported + is, "layout.csl");
    const Changed both("right_scalar", fmt::format("{}{} = &{}", pointer, was, array),
                       fmt::format("{}{} = @ptrcast([*]{}, &{})", pointer, is, is, array), "pe.csl",
                       layout.path());
    const Verdict verdict = Judge(Options(both.path()));
    ASSERT_EQ(verdict.Failed(), Stage::kStarted) << verdict.feedback;
    EXPECT_THAT(verdict.feedback,
                HasSubstr(fmt::format("'{}' is exported as '[*]{}', the contract wants '[*]{}'",
                                      name, is, was)));
  }
}

TEST(Wafer, NaNsKeepTheirPayload) {
  const Changed program(
      "right_scalar", "@bitcast(u32, input[first + i]) else 0;",
      "(if (input[first + i] == input[first + i]) @bitcast(u32, input[first + i]) else 0x7fc0abcd) "
      "else 0;");
  const Verdict verdict = Judge(Options(program.path()));
  ASSERT_EQ(verdict.Failed(), Stage::kBoundHeld) << verdict.feedback;
  EXPECT_THAT(verdict.feedback, HasSubstr("bit for bit"));
}

// Of a task with the fields of szp, on 4 x 4 PEs.
EvaluateOptions OptionsOf(const std::string& task_name, const std::string& folder) {
  EvaluateOptions options = Options(folder);
  auto task = task::LoadTask(SZARENA_SOURCE_DIR, task_name);
  EXPECT_TRUE(task) << task.error().ToString();
  const auto fields = options.task.public_fields;
  const auto timed = options.task.timed_fields;
  options.task = *SpecFromTask(*task);
  options.task.public_fields = fields;
  options.task.timed_fields = timed;
  for (auto* list : {&options.task.public_fields, &options.task.timed_fields}) {
    for (FieldCase& field : *list) field.mode = options.task.modes.front();
  }
  options.wafer.width = options.wafer.height = 4;
  return options;
}

// Judges a changed program of a task on 4 x 4 PEs, and expects the stage that refuses it and the
// evidence.
void ExpectRefused(const std::string& task_name, const Changed& program, Stage stage,
                   const std::string& evidence) {
  const Verdict verdict = Judge(OptionsOf(task_name, program.path()));
  ASSERT_EQ(verdict.Failed(), stage) << verdict.feedback;
  EXPECT_THAT(verdict.at(stage).detail, HasSubstr(evidence));
}

std::string Baseline(const std::string& task) {
  return std::string(SZARENA_SOURCE_DIR "/tasks/") + task + "/baseline/cerebras";
}

TEST(Wafer, TiesAreDecidedByWhatTheDifferenceLost) {
  const std::string evidence = "hidden: values beside the bound";
  ExpectRefused("szp",
                Changed("right_scalar", "if (!(size == bound)) return false;",
                        "if (!(size == bound)) return false else return true;"),
                Stage::kBoundHeld, evidence);
  for (const char* task : {"szx", "quantize"}) {
    ExpectRefused(task,
                  Changed("", "if (!(magnitude == ebq)) return false;", "return magnitude == ebq;",
                          "exact.csl", Baseline(task)),
                  task == std::string("szx") ? Stage::kBoundHeld : Stage::kDecodable, evidence);
  }
}

TEST(Wafer, DecodersReadPayloadsOfOtherEncoders) {
  ExpectRefused(
      "szp",
      Changed("right_scalar",
              "    const rate = @as(u16, output_words[block >> 2] >> ((block & 3) * 8) & 0xff);",
              "    var rate = @as(u16, output_words[block >> 2] >> ((block & 3) * 8) & 0xff);\n"
              "    if (rate == 31) rate = 30;"),
      Stage::kDecodable, "on another encoder's payload");
}

TEST(Wafer, CountsAndSumsAreWide) {
  for (const std::string end : {"east", "south"}) {
    ExpectRefused(
        "histogram",
        Changed("", fmt::format("if (ends.{}) @addc16(table", end),
                fmt::format("if (ends.{}) @add16(table", end), "pe.csl", Baseline("histogram")),
        Stage::kDecodable, "hidden: one bin with most of the values");
  }
  ExpectRefused("scan",
                Changed("", "return (@as(u64, p[i + 1]) << 32) | @as(u64, p[i]);",
                        "return @as(u64, p[i]);", "pe.csl", Baseline("scan")),
                Stage::kDecodable, "hidden: integers of every width");
  ExpectRefused("scan",
                Changed("", "base32[2 * s + 1] = @as(u32, sum >> 32);", "base32[2 * s + 1] = 0;",
                        "pe.csl", Baseline("scan")),
                Stage::kDecodable, "hidden: integers of every width");
  ExpectRefused(
      "bitpack",
      Changed("", "if (rate <= narrow_bits) {",
              "if (rate >= 31) { } else if (rate <= narrow_bits) {", "pe.csl", Baseline("bitpack")),
      Stage::kBoundHeld, "hidden: integers of every width");
}

TEST(Wafer, AHistogramHasRoomForItsCountsHoweverLittleIsTimed) {
  EvaluateOptions options = OptionsOf("histogram", Baseline("histogram"));
  options.wafer.bytes = 2000;
  const Verdict verdict = Judge(options);
  EXPECT_EQ(verdict.Failed(), std::nullopt) << verdict.feedback;
  EXPECT_TRUE(verdict.ranked());
}

TEST(Wafer, MoreBytesThanThereIsRoomForAreNotCut) {
  for (const char* name : {"right_scalar", "right_streaming"}) {
    EvaluateOptions options = Options(kFolder + "/" + name);
    options.wafer.bytes = uint64_t{1} << 40;
    const auto evaluation = Evaluate(options);
    ASSERT_FALSE(evaluation);
    EXPECT_EQ(evaluation.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(evaluation.error().message, HasSubstr("have no room on 4 x 3 PEs"));
  }
}

TEST(Wafer, StreamingFailuresNameRowAndWord) {
  const Changed program("right_streaming", "block << 12", "block << 12 | 0x800");
  const Verdict verdict = Judge(Options(program.path()));
  ASSERT_EQ(verdict.Failed(), Stage::kOutputProduced) << verdict.feedback;
  EXPECT_THAT(verdict.feedback, HasSubstr("compress: row 0: word 0 (0x"));
}

TEST(Wafer, StreamsInAnyOrderOfBlocksAndNoneTwice) {
  const Changed twice("right_streaming", "  block += 1;\n  next();",
                      "  if (again) block += 1;\n  again = !again;\n  next();");
  {
    std::ofstream(twice.path() + "/pe.csl", std::ios::app) << "\nvar again = true;\n";
  }
  const Verdict verdict = Judge(Options(twice.path()));
  ASSERT_EQ(verdict.Failed(), Stage::kOutputProduced) << verdict.feedback;
  EXPECT_THAT(verdict.at(Stage::kOutputProduced).detail, HasSubstr("a second time"));
}

// The SDK's place is taken by our own programs, which have the same command lines, in a folder of
// their own.
class WithSdk : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"cslc", "cs_python"}) {
      if (!fs::exists(std::string(SZARENA_BIN_DIR) + "/" + name))
        GTEST_SKIP() << name << " is not built";
    }
    before_ = getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  }
  void TearDown() override {
    if (!before_.empty()) setenv("PATH", before_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  static void SetPath(const std::string& path) {
    setenv("PATH", path.c_str(), 1);
  }  // NOLINT(concurrency-mt-unsafe)
  std::string before_;
};

TEST_F(WithSdk, ResidentProgramsAreJudgedThroughItsCommandLines) {
  const auto sdk = os::TempDir::Create("szarena-sdk-test-");
  ASSERT_TRUE(sdk);
  fs::create_directory(sdk->path() + "/bin");
  for (const char* name : {"cslc", "cs_python"}) {
    std::ofstream script(sdk->path() + "/bin/" + name);
    script << "#!/bin/sh\nexec " << SZARENA_BIN_DIR << "/" << name << " \"$@\"\n";
    script.close();
    fs::permissions(sdk->path() + "/bin/" + name, fs::perms::owner_all);
  }
  SetPath(sdk->path() + "/bin:" + before_);
  EvaluateOptions options = Options(kFolder + "/right_scalar");
  options.wafer.toolchain = WaferOptions::Toolchain::kSdk;
  const Verdict right = Judge(options);
  EXPECT_TRUE(right.ranked()) << right.feedback;
  ASSERT_TRUE(right.wafer);
  EXPECT_EQ(right.wafer->toolchain, "sdk");
  EXPECT_FALSE(right.wafer->directions[0]);
  EXPECT_FALSE(right.directions[0].candidate);
  options.candidate = kFolder + "/stores_everything_raw";
  EXPECT_EQ(Judge(options).Failed(), Stage::kRatioOk);
  options.candidate = kFolder + "/does_not_compile";
  EXPECT_EQ(Judge(options).Failed(), Stage::kBuilt);
  options.candidate = kFolder + "/right_streaming";
  EXPECT_EQ(Evaluate(options).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(WithSdk, WithoutItTheEnvironmentLacksSomething) {
  SetPath("/nowhere");
  EvaluateOptions options = Options(kFolder + "/right_scalar");
  options.wafer.toolchain = WaferOptions::Toolchain::kSdk;
  const auto evaluation = Evaluate(options);
  ASSERT_FALSE(evaluation);
  EXPECT_EQ(evaluation.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(evaluation.error().message, HasSubstr("SDK"));
}

TEST(Wafer, MissingTargetsAndFolders) {
  EvaluateOptions options = Options(kFolder + "/no_such_program");
  const auto missing = Evaluate(options);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace szarena::judge
