// SPDX-License-Identifier: Apache-2.0
// csl_generate: generated CSL programs by seed, without a fuzzer.
//   csl_generate --seeds 0..300          checks programs of these seeds, and damaged ones; status 1
//   at the first fault csl_generate --seed 7 --print        shows the program of a seed (--damaged:
//   the damaged one) csl_generate --input FILE --print    shows the program of a fuzzer's input
//   csl_generate --corpus DIR --as KIND --seeds A..B   writes inputs for the fuzzing program of
//   that name
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include "check.h"

using namespace szarena::csl_fuzz;

namespace {

int Usage() {
  std::fputs(
      "usage: csl_generate (--seeds A..B | --seed N | --input FILE) [--print] [--damaged | "
      "--valid] [--all] [--corpus DIR [--as valid|damaged|compile|image]]\n",
      stderr);
  return 2;
}

// As the fuzzing programs do it: the first bytes of an input for a damaged program decide on the
// damage.
Program Make(Choices& damage, Choices& choices, bool damaged, std::string* how) {
  Program program = Generate(choices);
  return damaged ? Mutate(std::move(program), damage, how) : program;
}

// An input for one of the fuzzing programs.
std::string CorpusInput(uint64_t seed, const std::string& as) {
  Choices choices(seed);
  std::string bytes;
  if (as == "image") {
    for (const uint8_t b : ImageOf(Generate(choices))) bytes += static_cast<char>(b);
  } else if (as == "compile") {
    // One file is all of the program: a module of it that places itself.
    const Program program = Generate(choices);
    for (const File& file : program.files) {
      if (file.name == "part0.csl") bytes = file.text;
    }
    bytes +=
        "layout {\n  @set_rectangle(2, 1);\n  for (@range(u16, 2)) |i| { @set_tile_code(i, 0, "
        "\"input.csl\", .{ .x = i, .y = 0, .next_id = @get_local_task_id(26) }); }\n}\n"
        "task begin() void { start(); }\ncomptime {\n  @bind_local_task(begin, "
        "@get_local_task_id(25));\n  @activate(@get_local_task_id(25));\n}\n";
  } else {
    for (int i = 0; i < 4096; i += 8) {
      const uint64_t word = choices.Bits();
      for (int k = 56; k >= 0; k -= 8) bytes += static_cast<char>(word >> k & 0xff);
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t from = 0, to = 0;
  std::optional<std::string> input, corpus;
  std::string as = "valid";
  bool print = false, only_damaged = false, only_valid = false, all = false, native = false;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const auto value = [&]() -> std::string { return i + 1 < argc ? argv[++i] : ""; };
    if (arg == "--print")
      print = true;
    else if (arg == "--damaged")
      only_damaged = true;
    else if (arg == "--valid")
      only_valid = true;
    else if (arg == "--native")
      native = true;
    else if (arg == "--all")
      all = true;
    else if (arg == "--input")
      input = value();
    else if (arg == "--as")
      as = value();
    else if (arg == "--corpus")
      corpus = value();
    else if (arg == "--seed")
      to = (from = std::strtoull(value().c_str(), nullptr, 10)) + 1;
    else if (arg == "--seeds") {
      const std::string range = value();
      const size_t dots = range.find("..");
      if (dots == std::string::npos) return Usage();
      from = std::strtoull(range.c_str(), nullptr, 10);
      to = std::strtoull(range.c_str() + dots + 2, nullptr, 10);
    } else {
      return Usage();
    }
  }
  if (to <= from && !input) return Usage();
  if (corpus) {
    std::filesystem::create_directories(*corpus);
    for (uint64_t seed = from; seed < to; ++seed) {
      const std::string bytes = CorpusInput(seed, as);
      std::ofstream(fmt::format("{}/seed-{}", *corpus, seed), std::ios::binary) << bytes;
    }
    return 0;
  }
  if (native && !HaveNative()) {
    std::fputs(
        "csl_generate: this build has no native back end to compare with (install llvm-19-dev)\n",
        stderr);
    return 3;
  }
  int faults = 0;
  uint64_t valid = 0, refused = 0, ran = 0, cycles = 0;
  const auto run = [&](Choices& damage, Choices& choices, bool damaged, const std::string& name) {
    std::string how;
    const Program program = Make(damage, choices, damaged, &how);
    if (print)
      std::printf("%s%s%s%s", program.ToText().c_str(), damaged ? "// damage: " : "", how.c_str(),
                  damaged ? "\n" : "");
    std::fflush(stdout);
    const Verdict verdict = damaged ? CheckDamaged(program, native) : CheckValid(program, native);
    cycles += verdict.cycles;
    if (!damaged)
      ++valid;
    else if (verdict.compiled)
      ++ran;
    else
      ++refused;
    if (print) std::fputs(verdict.messages.c_str(), stdout);
    if (verdict.fault.empty()) return;
    ++faults;
    std::printf("%s%s: %s\n", name.c_str(), damaged ? " --damaged" : "", verdict.fault.c_str());
    if (!print) std::fputs(verdict.messages.substr(0, 600).c_str(), stdout);
  };
  if (input) {
    std::ifstream in(*input, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), {});
    const std::vector<uint8_t> data(bytes.begin(), bytes.end());
    const size_t head = only_damaged ? std::min<size_t>(data.size(), 32) : 0;
    Choices damage{std::span<const uint8_t>(data.data(), head)},
        choices{std::span<const uint8_t>(data.data() + head, data.size() - head)};
    run(damage, choices, only_damaged, *input);
  }
  for (uint64_t seed = from; seed < to && (all || faults == 0); ++seed) {
    if (!only_damaged) {
      Choices damage(uint64_t{0}), choices(seed);
      run(damage, choices, false, fmt::format("--seed {}", seed));
    }
    if (!only_valid) {
      Choices damage(seed ^ 0xdada), choices(seed);
      run(damage, choices, true, fmt::format("--seed {}", seed));
    }
  }
  std::printf(
      "%llu valid programs, %llu damaged (%llu refused, %llu run), %llu cycles, %d faults\n",
      static_cast<unsigned long long>(valid), static_cast<unsigned long long>(refused + ran),
      static_cast<unsigned long long>(refused), static_cast<unsigned long long>(ran),
      static_cast<unsigned long long>(cycles), faults);
  return faults == 0 ? 0 : 1;
}
