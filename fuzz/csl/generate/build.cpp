// SPDX-License-Identifier: Apache-2.0
// Puts parts together to a program: the root PE file runs them one after the other.
#include "build.h"

#include <fmt/format.h>

#include <algorithm>

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
int Resources::ColorPair() {
  std::vector<int> even;
  for (const int color : colors_) {
    if (color % 2 == 0 && std::find(colors_.begin(), colors_.end(), color + 1) != colors_.end())
      even.push_back(color);
  }
  const int color = Take(even);
  if (color >= 0) Colors(color, color + 1);
  return color;
}
bool Resources::Colors(int first, int last) {
  for (int color = first; color <= last; ++color) {
    if (std::find(colors_.begin(), colors_.end(), color) == colors_.end()) return false;
  }
  const auto taken = [&](int id) { return first <= id && id <= last; };
  std::erase_if(colors_, taken);
  if (!wse3_) std::erase_if(ids_, taken);
  return true;
}
int Resources::LocalId() {
  const int id = Take(ids_);
  if (!wse3_) std::erase(colors_, id);
  return id;
}
int Resources::ControlId() { return Take(control_); }
int Resources::InputQueue() { return Take(in_); }
int Resources::OutputQueue() { return Take(out_); }
int Resources::QueuePair() {
  std::vector<int> both;
  for (const int q : in_) {
    if (std::find(out_.begin(), out_.end(), q) != out_.end()) both.push_back(q);
  }
  const int q = Take(both);
  std::erase(in_, q);
  std::erase(out_, q);
  return q;
}
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

namespace {

using Part = std::string (*)(Build&, const std::string&);
constexpr Part kParts[] = {ComputePart, VectorPart,  StreamPart,   StreamPart,  TaskPart,
                           FifoPart,    SwitchPart,  ComptimePart, LibraryPart, EndPart,
                           ChainPart,   TrafficPart, TrafficPart,  ChangePart,  CollectivePart,
                           MessagePart, SwapPart};

// The modules of the parts; true where one of them asks which PE it is on.
bool AddParts(Build& b, std::string& imports, std::string& stages) {
  const int parts = b.c.Between(1, 4);
  std::vector<std::string> texts, given;
  bool by_place = false;
  for (int i = 0; i < parts; ++i) {
    const std::string prefix = fmt::format("p{}_", i);
    const size_t params = b.part_params.size();
    std::string text = kParts[b.c.Below(std::size(kParts))](b, prefix);
    if (text.empty()) text = ComputePart(b, prefix);
    std::string& more = given.emplace_back();
    for (size_t k = params; k < b.part_params.size(); ++k)
      more += fmt::format(".{0} = {0}, ", b.part_params[k].first);
    by_place = by_place || text.find("(x ==") != std::string::npos;
    texts.push_back(std::move(text));
  }
  for (int i = 0; i < parts; ++i) {
    const std::string file = fmt::format("part{}.csl", i);
    b.program.files.push_back(
        {file, (by_place ? "param x: u16;\nparam y: u16;\n" : "") +
                   ("param next_id: local_task_id;\n" + texts[static_cast<size_t>(i)])});
    imports +=
        fmt::format("const part{0} = @import_module(\"{1}\", .{{ {2}{3}.next_id = next_id }});\n",
                    i, file, by_place ? ".x = x, .y = y, " : "", given[static_cast<size_t>(i)]);
    stages += fmt::format("    {} => part{}.start(),\n", i + 1, i);
  }
  return by_place;
}

std::string LayoutFile(const Build& b, const std::string& params) {
  const Program& program = b.program;
  std::string text;
  for (const auto& [name, value] : program.params) text += fmt::format("param {}: i16;\n", name);
  if (program.memcpy) {
    text += fmt::format(
        "const memcpy = @import_module(\"<memcpy/get_params>\", .{{ .width = {}, .height = {}{} "
        "}});\n",
        program.width, program.height, b.memcpy_params);
  }
  text += b.layout_head;
  text += fmt::format(
      "layout {{\n  @set_rectangle({0}, {1});\n  for (@range(u16, {0})) |x| {{\n    for "
      "(@range(u16, {1})) |y| {{\n",
      program.width, program.height);
  text += fmt::format("      @set_tile_code(x, y, \"pe.csl\", .{{ {} }});\n    }}\n  }}\n", params);
  if (program.memcpy) text += "  @export_name(\"begin\", fn () void);\n";
  return text + b.layout + "}\n";
}

}  // namespace

Program Generate(Choices& c) {
  Program program;
  program.wse3 = c.Chance(50);
  static const Format kHalves[] = {Format::kF16, Format::kF16, Format::kBf16, Format::kCb16};
  program.half = kHalves[c.Below(4)];
  program.memcpy = c.Chance(35);
  program.width = c.Between(1, 4);
  program.height = c.Between(1, 3);
  Build b{c, program, Resources(c, program.wse3, program.memcpy)};
  const int next = b.take.LocalId();

  std::string imports, stages, params, root;
  if (AddParts(b, imports, stages)) {
    root += "param x: u16;\nparam y: u16;\n";
    params += ".x = x, .y = y, ";
  }
  for (const auto& [name, value] : b.part_params) {
    root += fmt::format("param {}: comptime_struct;\n", name);
    params += fmt::format(".{} = {}, ", name, value);
  }
  if (c.Chance(30)) {
    // A param from the command line, through the layout, to a variable.
    const int value = c.Between(-100, 100);
    program.params.push_back({"given", value});
    root += "param given: i16;\nexport var root_given: i16 = given;\n";
    params += ".given = given, ";
    b.ExpectEverywhere("root_given", Int(16), {static_cast<Bits>(value) & 0xffff});
  }
  if (program.memcpy) {
    root +=
        "param memcpy_params: comptime_struct;\nconst sys_mod = "
        "@import_module(\"<memcpy/memcpy>\", memcpy_params);\n";
    params += ".memcpy_params = memcpy.get_params(x), ";
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
  root += "comptime {\n  @bind_local_task(advance, next_id);\n";
  root += program.memcpy ? "  @export_symbol(begin);\n" : "  @activate(next_id);\n";
  root += b.exports + "}\n" + b.globals;
  if (params.ends_with(", ")) params.resize(params.size() - 2);
  program.files.insert(program.files.begin(),
                       {File{"layout.csl", LayoutFile(b, params)}, File{"pe.csl", root}});
  return program;
}

}  // namespace szarena::csl_fuzz
