// SPDX-License-Identifier: Apache-2.0
// Puts parts together to a program: the root PE file runs them one after the other.
#include "build.h"

#include <fmt/format.h>

#include "code_gen.h"

namespace szarena::csl_fuzz {

Resources::Resources(Choices& choices, bool wse3, bool memcpy) : c_(choices), wse3_(wse3) {
  for (int i = 0; i < (memcpy ? 21 : 24); ++i) colors_.push_back(i);
  for (int i = 8; i < 27; ++i) ids_.push_back(i);
  for (int i = 40; i < 64; ++i) control_.push_back(i);
  for (int i = memcpy ? 2 : 0; i < 8; ++i) in_.push_back(i);
  for (int i = memcpy ? 1 : 0; i < (wse3 ? 8 : 6); ++i) out_.push_back(i);
  for (auto& file : dsr_) {
    for (int i = 1; i < 12; ++i) file.push_back(i);
  }
  for (int i = 0; i < 4; ++i) xdsr_.push_back(i);
}

int Resources::Take(std::vector<int>& from, bool with_switches) {
  static const std::set<int> kWithSwitches = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 20, 21};
  std::vector<size_t> fit;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!with_switches || kWithSwitches.contains(from[i])) fit.push_back(i);
  }
  if (fit.empty()) return -1;
  const size_t at = c_.Pick(fit);
  const int taken = from[at];
  from.erase(from.begin() + static_cast<std::ptrdiff_t>(at));
  return taken;
}

// On WSE-2 a colour's number is the id of its data task.
int Resources::Color(bool with_switches) {
  const int color = Take(colors_, wse3_ && with_switches);
  if (!wse3_) std::erase(ids_, color);
  return color;
}
int Resources::LocalId() {
  const int id = Take(ids_);
  if (!wse3_) std::erase(colors_, id);
  return id;
}
int Resources::ControlId() { return Take(control_); }
int Resources::InputQueue() { return Take(in_); }
int Resources::OutputQueue() { return Take(out_); }
int Resources::Dsr(int file) { return Take(dsr_[file]); }
int Resources::Xdsr() { return Take(xdsr_); }

void Build::ExpectEverywhere(const std::string& symbol, Type type,
                             const std::vector<Bits>& values) {
  for (int y = 0; y < height(); ++y) {
    for (int x = 0; x < width(); ++x) Expect(x, y, symbol, type, values);
  }
}

std::string ComputePart(Build& b, const std::string& p) {
  CodeGen gen(b.c, b.program.half, p);
  const std::string code = gen.Module();
  for (const CodeGen::Result& r : gen.Results()) b.ExpectEverywhere(r.name, r.type, r.values);
  return code +
         fmt::format("fn start() void {{\n  {0}run();\n  {0}show();\n  @activate(next_id);\n}}\n",
                     p);
}

std::string Program::ToText() const {
  std::string text = fmt::format("// --arch={} --fp16-format={}{}\n", wse3 ? "wse3" : "wse2",
                                 Half(half).Name(), memcpy ? " --memcpy --channels=1" : "");
  for (const auto& [name, value] : params) text += fmt::format("// --params={}:{}\n", name, value);
  for (const HostCommand& h : host) {
    static const char* const kNames[] = {"copy in", "copy out", "launch", "stream in",
                                         "stream out"};
    text += fmt::format("// host: {} {} of {} x {} PEs at ({}, {}), {} elements each\n",
                        kNames[static_cast<size_t>(h.kind)], h.name, h.width, h.height, h.x, h.y,
                        h.count);
  }
  for (const File& file : files) text += fmt::format("//--- {}\n{}", file.name, file.text);
  return text;
}

Program Generate(Choices& c) {
  Program program;
  program.wse3 = c.Chance(50);
  static const Format kHalves[] = {Format::kF16, Format::kF16, Format::kBf16, Format::kCb16};
  program.half = kHalves[c.Below(4)];
  program.memcpy = c.Chance(35);
  program.width = c.Between(1, 4);
  program.height = c.Between(1, 3);
  Build b{c, program, Resources(c, program.wse3, program.memcpy), "", "", "", "", 0};
  const int next = b.take.LocalId();

  using Part = std::string (*)(Build&, const std::string&);
  static const Part kParts[] = {ComputePart, VectorPart, StreamPart, StreamPart,
                                TaskPart,    FifoPart,   SwitchPart, ComptimePart, LibraryPart, EndPart};
  const int parts = c.Between(1, 4);
  std::string imports, stages;
  for (int i = 0; i < parts; ++i) {
    const std::string prefix = fmt::format("p{}_", i), file = fmt::format("part{}.csl", i);
    std::string text = kParts[c.Below(std::size(kParts))](b, prefix);
    if (text.empty()) text = ComputePart(b, prefix);
    program.files.push_back(
        {file, "param x: u16;\nparam y: u16;\nparam next_id: local_task_id;\n" + text});
    imports += fmt::format(
        "const part{0} = @import_module(\"{1}\", .{{ .x = x, .y = y, .next_id = next_id }});\n", i,
        file);
    stages += fmt::format("    {} => part{}.start(),\n", i + 1, i);
  }
  std::string root = "param x: u16;\nparam y: u16;\n";
  std::string start = fmt::format("  @activate(next_id);\n");
  if (program.memcpy) {
    root +=
        "param memcpy_params: comptime_struct;\nconst sys_mod = "
        "@import_module(\"<memcpy/memcpy>\", memcpy_params);\n";
    program.host.emplace_back().name = "begin";
    program.host.back().width = program.width;
    program.host.back().height = program.height;
    HostPart(b);
  }
  root += fmt::format("const next_id = @get_local_task_id({});\n", next) + imports +
          "var stage: u16 = 0;\n";
  root += fmt::format(
      "task advance() void {{\n  stage += 1;\n  switch (stage) {{\n{}    else => {{ {} }},\n  "
      "}}\n}}\n",
      stages, program.memcpy ? "sys_mod.unblock_cmd_stream();" : "");
  if (program.memcpy) root += "fn begin() void { @activate(next_id); }\n";
  root += "comptime {\n  @bind_local_task(advance, next_id);\n" +
          (program.memcpy ? "  @export_symbol(begin);\n" : start) + b.exports + "}\n" + b.globals;

  std::string layout;
  if (program.memcpy) {
    layout += fmt::format(
        "const memcpy = @import_module(\"<memcpy/get_params>\", .{{ .width = {}, .height = {}{} "
        "}});\n",
        program.width, program.height, b.memcpy_params);
  }
  layout += fmt::format("layout {{\n  @set_rectangle({}, {});\n", program.width, program.height);
  layout += fmt::format("  for (@range(u16, {})) |x| {{\n    for (@range(u16, {})) |y| {{\n",
                        program.width, program.height);
  layout += fmt::format(
      "      @set_tile_code(x, y, \"pe.csl\", .{{ .x = x, .y = y{} }});\n    }}\n  }}\n",
      program.memcpy ? ", .memcpy_params = memcpy.get_params(x)" : "");
  if (program.memcpy) layout += "  @export_name(\"begin\", fn () void);\n";
  layout += b.layout + "}\n";
  program.files.insert(program.files.begin(), {File{"layout.csl", layout}, File{"pe.csl", root}});
  return program;
}

}  // namespace szarena::csl_fuzz
