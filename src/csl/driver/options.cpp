// SPDX-License-Identifier: Apache-2.0
#include "csl/driver/options.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "csl/sema/suggest.h"

namespace szarena::csl {
namespace {

Error Usage(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message), {}}; }

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<int64_t> Int(std::string_view text) {
  int64_t value = 0;
  int base = 10;
  bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.starts_with("0x")) base = 16, text.remove_prefix(2);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return negative ? -value : value;
}

Result<void> Pair(std::string_view flag, std::string_view value, int64_t min, int& first,
                  int& second) {
  auto parts = Split(value, ',');
  auto a = parts.size() == 2 ? Int(parts[0]) : std::nullopt,
       b = parts.size() == 2 ? Int(parts[1]) : std::nullopt;
  if (!a || !b || *a < min || *b < min || *a > 65535 || *b > 65535) {
    return tl::unexpected(Usage(fmt::format(
        "{}={} must be two numbers of at least {}, as in {}=8,3", flag, value, min, flag)));
  }
  first = static_cast<int>(*a);
  second = static_cast<int>(*b);
  return {};
}

// NAME:INT,NAME:INT
Result<void> NamedInts(std::string_view flag, std::string_view value,
                       std::vector<std::pair<std::string, int64_t>>& list) {
  for (std::string_view part : Split(value, ',')) {
    if (part.empty()) continue;
    size_t colon = part.find(':');
    auto number = colon == std::string_view::npos ? std::nullopt : Int(part.substr(colon + 1));
    if (!number || colon == 0) {
      return tl::unexpected(Usage(
          fmt::format("'{}' in {} must be NAME:INTEGER, as in {}=M:4,N:6", part, flag, flag)));
    }
    for (const auto& [name, old] : list) {
      if (name == part.substr(0, colon))
        return tl::unexpected(Usage(fmt::format("'{}' is given twice in {}", name, flag)));
    }
    list.emplace_back(part.substr(0, colon), *number);
  }
  return {};
}

Result<int> Number(std::string_view flag, std::string_view value, int64_t min, int64_t max) {
  auto number = Int(value);
  if (!number || *number < min || *number > max) {
    return tl::unexpected(
        Usage(fmt::format("{}={} must be an integer from {} to {}", flag, value, min, max)));
  }
  return static_cast<int>(*number);
}

template <typename T>
Result<void> Choose(std::string_view flag, std::string_view value,
                    std::initializer_list<std::pair<std::string_view, T>> choices, T& out) {
  std::string all;
  for (const auto& [name, choice] : choices) {
    if (value == name) {
      out = choice;
      return {};
    }
    all += (all.empty() ? "" : ", ") + std::string(name);
  }
  return tl::unexpected(Usage(fmt::format("{}={} must be one of {}", flag, value, all)));
}

struct Flag {
  std::string_view name;
  std::string_view
      value;  // placeholder; empty: a switch; in brackets: only behind '=', and not needed
  std::string_view help;
  Result<void> (*set)(Options&, std::string_view value);
};

Result<void> SetSmall(int& to, std::string_view flag, std::string_view value, int64_t max) {
  SZARENA_TRY(to, Number(flag, value, 0, max));
  return {};
}

const Flag kFlags[] = {
    {"-o", "DIR", "output directory (default: out)",
     [](Options& o, std::string_view v) -> Result<void> {
       if (v.empty()) return tl::unexpected(Usage("-o needs the name of a directory"));
       o.output = v;
       return {};
     }},
    {"--arch", "ARCH", "wse2 (default) or wse3",
     [](Options& o, std::string_view v) {
       return Choose<bytecode::Arch>(
           "--arch", v, {{"wse2", bytecode::Arch::kWse2}, {"wse3", bytecode::Arch::kWse3}}, o.arch);
     }},
    {"--fabric-dims", "W,H", "size of the fabric (default: the smallest that fits)",
     [](Options& o, std::string_view v) {
       return Pair("--fabric-dims", v, 1, o.fabric_width, o.fabric_height);
     }},
    {"--fabric-offsets", "X,Y", "place of the program's rectangle on the fabric",
     [](Options& o, std::string_view v) {
       return Pair("--fabric-offsets", v, 0, o.offset_x, o.offset_y);
     }},
    {"--params", "NAME:INT,…", "values for params of the layout file",
     [](Options& o, std::string_view v) { return NamedInts("--params", v, o.params); }},
    {"--colors", "NAME:ID,…", "values for colours of the layout file",
     [](Options& o, std::string_view v) { return NamedInts("--colors", v, o.colors); }},
    {"--memcpy", "", "the host copies and launches by the memcpy library",
     [](Options& o, std::string_view) -> Result<void> {
       o.memcpy = true;
       return {};
     }},
    {"--channels", "N", "host channels, 0 to 16",
     [](Options& o, std::string_view v) { return SetSmall(o.channels, "--channels", v, 16); }},
    {"--width-west-buf", "N", "columns of buffers west of the rectangle",
     [](Options& o, std::string_view v) {
       return SetSmall(o.west_buffer, "--width-west-buf", v, 1000);
     }},
    {"--width-east-buf", "N", "columns of buffers east of the rectangle",
     [](Options& o, std::string_view v) {
       return SetSmall(o.east_buffer, "--width-east-buf", v, 1000);
     }},
    {"--import-path", "DIR", "look for imported files here too (repeatable; then CSL_IMPORT_PATH)",
     [](Options& o, std::string_view v) -> Result<void> {
       o.import_paths.emplace_back(v);
       return {};
     }},
    {"--only-below", "DIR",
     "read no file outside of DIR, wherever paths and links lead (libraries aside)",
     [](Options& o, std::string_view v) -> Result<void> {
       if (v.empty()) return tl::unexpected(Usage("--only-below needs the name of a directory"));
       o.only_below = v;
       return {};
     }},
    {"--fp16-format", "FORMAT", "the 16-bit float of run time: f16 (default), cb16 or bf16",
     [](Options& o, std::string_view v) {
       using F = bytecode::FloatFormat;
       return Choose<F>("--fp16-format", v,
                        {{"f16", F::kF16}, {"cb16", F::kCb16}, {"bf16", F::kBf16}}, o.fp16);
     }},
    {"--max-inlined-iterations", "N", "limit of one inline loop (default 50; 0: none)",
     [](Options& o, std::string_view v) -> Result<void> {
       SZARENA_TRY(int number, Number("--max-inlined-iterations", v, 0, INT32_MAX));
       o.max_inlined_iterations = static_cast<uint64_t>(number);
       return {};
     }},
    {"--comptime-func-depth-limit", "N", "limit of nested calls at compile time (default 400)",
     [](Options& o, std::string_view v) -> Result<void> {
       SZARENA_TRY(int number, Number("--comptime-func-depth-limit", v, 1, 1'000'000));
       o.comptime_depth = static_cast<uint64_t>(number);
       return {};
     }},
    {"--warnings-as-errors", "", "warnings are errors: nothing is written",
     [](Options& o, std::string_view) -> Result<void> {
       o.warnings_as_errors = true;
       return {};
     }},
    {"--pedantic", "", "warn of what is accepted and not documented by the SDK",
     [](Options& o, std::string_view) -> Result<void> {
       o.pedantic = true;
       return {};
     }},
    {"--output-json", "[PATH]", "write params and colours to PATH, too (default: DIR.json)",
     [](Options& o, std::string_view v) -> Result<void> {
       o.output_json = true;
       o.output_json_path = v;
       return {};
     }},
    {"--out-routes", "", "print the routes of every PE",
     [](Options& o, std::string_view) -> Result<void> {
       o.out_routes = true;
       return {};
     }},
    {"--max-parallelism", "N", "accepted: one thread compiles",
     [](Options&, std::string_view v) -> Result<void> {
       SZARENA_TRY_VOID(Number("--max-parallelism", v, 0, INT32_MAX));
       return {};
     }},
    {"-g0", "", "accepted: messages of the simulator name source lines in any case",
     [](Options&, std::string_view) -> Result<void> { return {}; }},
    {"--max-errors", "N", "stop showing errors after N (default 100; 0: show all)",
     [](Options& o, std::string_view v) -> Result<void> {
       SZARENA_TRY(int number, Number("--max-errors", v, 0, INT32_MAX));
       o.max_errors = static_cast<size_t>(number);
       return {};
     }},
    {"--link-section-start-address-bytes", "NAME:ADDRESS,…",
     "where linker sections start in the memory of a PE",
     [](Options& o, std::string_view v) {
       return NamedInts("--link-section-start-address-bytes", v, o.section_addresses);
     }},
    {"--emit", "WHAT", "program (default); ast, source or bytecode: print it and write nothing",
     [](Options& o, std::string_view v) {
       using E = Options::Emit;
       return Choose<E>("--emit", v,
                        {{"program", E::kProgram},
                         {"ast", E::kAst},
                         {"source", E::kSource},
                         {"bytecode", E::kBytecode}},
                        o.emit);
     }},
    {"--print-cost-model", "", "print the cycle costs with their sources",
     [](Options& o, std::string_view) -> Result<void> {
       o.print_cost_model = true;
       return {};
     }},
    {"--json", "", "messages as JSON on standard output",
     [](Options& o, std::string_view) -> Result<void> {
       o.json = true;
       return {};
     }},
    {"--verbose", "", "say what was made",
     [](Options& o, std::string_view) -> Result<void> {
       o.verbose = true;
       return {};
     }},
    {"--help", "", "this text",
     [](Options& o, std::string_view) -> Result<void> {
       o.help = true;
       return {};
     }},
    {"--version", "", "the version",
     [](Options& o, std::string_view) -> Result<void> {
       o.version = true;
       return {};
     }},
};

// Flags of the SDK that ask for something that is not made here: a warning.
constexpr std::string_view kIgnored[] = {"--dump-dsr-alloc-graph"};

}  // namespace

Result<Options> ParseOptions(const std::vector<std::string>& args) {
  Options options;
  for (size_t i = 0; i < args.size(); ++i) {
    std::string_view word = args[i];
    if (word == "-h") word = "--help";
    if (!word.starts_with('-') || word == "-") {
      if (!options.input.empty()) {
        return tl::unexpected(
            Usage(fmt::format("two input files: '{}' and '{}'; cslc takes the layout file only",
                              options.input, word)));
      }
      options.input = word;
      continue;
    }
    size_t equals = word.find('=');
    std::string_view name = word.substr(0, equals);
    const Flag* flag = nullptr;
    for (const Flag& known : kFlags) {
      if (known.name == name) flag = &known;
    }
    if (flag == nullptr) {
      bool ignored = false;
      for (std::string_view known : kIgnored) ignored |= known == name;
      if (!ignored) {
        std::vector<std::string> names;
        for (const Flag& known : kFlags) names.emplace_back(known.name);
        return tl::unexpected(Usage(fmt::format("unknown flag '{}'{}; 'cslc --help' lists them",
                                                name, DidYouMean(name, names))));
      }
      options.warnings.push_back(fmt::format("flag '{}' has no meaning here and is ignored", name));
      continue;
    }
    std::string_view value;
    if (flag->value.empty()) {
      if (equals != std::string_view::npos)
        return tl::unexpected(Usage(fmt::format("{} takes no value", name)));
    } else if (flag->value.starts_with('[')) {
      if (equals != std::string_view::npos && equals + 1 == word.size())
        return tl::unexpected(Usage(fmt::format("{}= needs the name of a file", name)));
      if (equals != std::string_view::npos) value = word.substr(equals + 1);
    } else if (equals != std::string_view::npos) {
      value = word.substr(equals + 1);
    } else if (i + 1 < args.size()) {
      value = args[++i];
    } else {
      return tl::unexpected(Usage(fmt::format("{} needs a value: {}={}", name, name, flag->value)));
    }
    SZARENA_TRY_VOID(flag->set(options, value));
  }
  bool needs_input = !options.help && !options.version && !options.print_cost_model;
  if (needs_input && options.input.empty())
    return tl::unexpected(
        Usage("no input file; usage: cslc LAYOUT.csl [FLAGS], 'cslc --help' lists the flags"));
  return options;
}

std::string OptionsHelp() {
  std::string text =
      "usage: cslc LAYOUT.csl [FLAGS]\n\n"
      "Compiles a CSL program for WSE-2 or WSE-3: the layout file, the code it places on the PEs "
      "and the libraries they import.\n"
      "Writes DIR/program.szcsl for the simulator, DIR/out.json and DIR/out_rpc.json for host "
      "scripts.\n\n";
  for (const Flag& flag : kFlags) {
    std::string left = fmt::format("  {}{}{}", flag.name,
                                   flag.value.empty()            ? ""
                                   : flag.name == "-o"           ? " "
                                   : flag.value.starts_with('[') ? ""
                                                                 : "=",
                                   flag.value.starts_with('[') ? "[=PATH]" : flag.value);
    text += fmt::format("{:<40} {}\n", left, flag.help);
  }
  return text +
         "\nExit status: 0 done, 2 the program or the command line has errors, 3 a file cannot be "
         "written, 4 a fault of cslc itself.\n";
}

}  // namespace szarena::csl
