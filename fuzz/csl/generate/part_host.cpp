// SPDX-License-Identifier: Apache-2.0
// A host beside the program: arrays copied in and out in both orders and widths, functions launched
// with arguments, streams.
#include <fmt/format.h>

#include "vector.h"

namespace szarena::csl_fuzz {
namespace {

// The host's index of element k of PE (x, y) of the command's region.
size_t HostIndex(const HostCommand& h, int x, int y, uint32_t k) {
  const auto w = static_cast<size_t>(h.width), ht = static_cast<size_t>(h.height),
             l = static_cast<size_t>(h.count);
  const auto ux = static_cast<size_t>(x), uy = static_cast<size_t>(y);
  if (h.column_major) return (k * w + ux) * ht + uy;
  return (uy * w + ux) * l + k;
}

void Region(Build& b, HostCommand& h) {
  h.x = b.c.Between(0, b.width() - 1);
  h.y = b.c.Between(0, b.height() - 1);
  h.width = b.c.Between(1, b.width() - h.x);
  h.height = b.c.Between(1, b.height() - h.y);
}

// An array on every PE and a function that works on it.
void Copies(Build& b) {
  Choices& c = b.c;
  const Type type =
      c.Chance(50) ? (c.Chance(50) ? kF32 : Uint(32)) : (c.Chance(50) ? b.HalfType() : Int(16));
  const auto n = static_cast<uint32_t>(c.Between(1, 8));
  b.globals +=
      fmt::format("var h_data = @zeros([{0}]{1});\nvar h_ptr: [*]{1} = &h_data;\n", n, type.Name());
  b.globals += fmt::format(
      "fn h_work(a: {0}, b: i16) void {{\n  for (@range(u16, {1})) |i| {{ h_data[i] = h_data[i] * "
      "a + @as({0}, b); }}\n  sys_mod.unblock_cmd_stream();\n}}\n",
      type.Name(), n);
  b.exports += "  @export_symbol(h_ptr, \"h_data\");\n  @export_symbol(h_work);\n";
  b.layout += fmt::format(
      "  @export_name(\"h_data\", [*]{0}, true);\n  @export_name(\"h_work\", fn ({0}, i16) "
      "void);\n",
      type.Name());
  std::vector<std::vector<Bits>> model(static_cast<size_t>(b.width() * b.height()),
                                       std::vector<Bits>(n, 0));
  const auto at = [&](const HostCommand& h, int x, int y) -> std::vector<Bits>& {
    return model[static_cast<size_t>((h.y + y) * b.width() + h.x + x)];
  };
  const int commands = c.Between(1, 6);
  for (int i = 0; i < commands; ++i) {
    HostCommand h;
    h.name = "h_data";
    h.half = type.bits == 16;
    h.column_major = c.Chance(50);
    h.count = static_cast<uint32_t>(c.Between(1, static_cast<int>(n)));
    switch (c.Below(4)) {
      case 0:
      case 1: {
        h.kind = HostCommand::Kind::kCopyIn;
        Region(b, h);
        h.broadcast = c.Chance(30) ? c.Between(1, 2) : 0;
        if (h.broadcast != 0) h.column_major = false;
        HostCommand shape = h;  // of the host's array
        if (h.broadcast == 1) shape.height = 1;
        if (h.broadcast == 2) shape.width = 1;
        h.words.resize(static_cast<size_t>(shape.width * shape.height) * h.count);
        for (uint32_t& w : h.words) w = static_cast<uint32_t>(SmallValue(c, type));
        for (int y = 0; y < h.height; ++y) {
          for (int x = 0; x < h.width; ++x) {
            for (uint32_t k = 0; k < h.count; ++k)
              at(h, x, y)[k] =
                  h.words[HostIndex(shape, h.broadcast == 2 ? 0 : x, h.broadcast == 1 ? 0 : y, k)];
          }
        }
        break;
      }
      case 2: {
        h.kind = HostCommand::Kind::kLaunch;
        h.name = "h_work";
        const Bits a = SmallValue(c, type), add = SmallValue(c, Int(16));
        std::string numpy = type == kF32 ? "float32" : type == Uint(32) ? "uint32" : "int16";
        if (type.kind == Kind::kFloat && type != kF32) {  // numpy has no bf16, no cb16: bits
          numpy = type.format == Format::kF16 ? "float16" : "";
        }
        h.arguments = {{a, numpy}, {add, "int16"}};
        for (auto& values : model) {
          for (Bits& v : values)
            v = Apply(Op::kAdd, type, Apply(Op::kMul, type, v, a), Convert(Int(16), type, add));
        }
        break;
      }
      default: {
        h.kind = HostCommand::Kind::kCopyOut;
        Region(b, h);
        h.words.resize(static_cast<size_t>(h.width * h.height) * h.count);
        for (int y = 0; y < h.height; ++y) {
          for (int x = 0; x < h.width; ++x) {
            for (uint32_t k = 0; k < h.count; ++k)
              h.words[HostIndex(h, x, y, k)] = static_cast<uint32_t>(at(h, x, y)[k]);
          }
        }
        break;
      }
    }
    b.program.host.push_back(std::move(h));
  }
  for (int y = 0; y < b.height(); ++y) {
    for (int x = 0; x < b.width(); ++x)
      b.Expect(x, y, "h_data", type, model[static_cast<size_t>(y * b.width() + x)]);
  }
}

// Words of a stream, each changed by a data task and sent back.
void Streams(Build& b) {
  Choices& c = b.c;
  const int in_color = b.take.Color(), out_color = b.take.Color(), in = b.take.InputQueue(),
            out = b.take.OutputQueue();
  if (in_color < 0 || out_color < 0 || in < 0 || out < 0) return;
  b.memcpy_params += fmt::format(", .MEMCPYH2D_1 = @get_color({}), .MEMCPYD2H_1 = @get_color({})",
                                 in_color, out_color);
  const uint32_t add = c.Below(1000);
  b.globals += fmt::format(
      "const h_out = @get_dsd(fabout_dsd, .{{ .extent = 1, .fabric_color = sys_mod.MEMCPYD2H_1, "
      ".output_queue = @get_output_queue({}) }});\n",
      out);
  b.globals += fmt::format("task h_got(v: u32) void {{ @mov32(h_out, v * 3 + {}); }}\n", add);
  b.globals += fmt::format(
      "comptime {{\n  if (@is_arch(\"wse3\")) {{\n    @bind_data_task(h_got, "
      "@get_data_task_id(@get_input_queue({0})));\n    @initialize_queue(@get_input_queue({0}), "
      ".{{ .color = "
      "sys_mod.MEMCPYH2D_1 }});\n    @initialize_queue(@get_output_queue({1}), .{{ .color = "
      "sys_mod.MEMCPYD2H_1 }});\n  }} else {{\n    @bind_data_task(h_got, "
      "@get_data_task_id(sys_mod.MEMCPYH2D_1));\n  }}\n}}\n",
      in, out);
  HostCommand h;
  Region(b, h);
  h.count = static_cast<uint32_t>(c.Between(1, 9));
  h.column_major = c.Chance(50);
  h.kind = HostCommand::Kind::kStreamIn;
  h.name = "MEMCPYH2D_1";
  h.words.resize(static_cast<size_t>(h.width * h.height) * h.count);
  for (uint32_t& w : h.words) w = static_cast<uint32_t>(c.Bits());
  b.program.host.push_back(h);
  h.kind = HostCommand::Kind::kStreamOut;
  h.name = "MEMCPYD2H_1";
  for (uint32_t& w : h.words) w = w * 3 + add;
  b.program.host.push_back(std::move(h));
}

}  // namespace

void HostPart(Build& b) {
  if (b.c.Chance(70)) Copies(b);
  if (b.c.Chance(40)) Streams(b);
}

}  // namespace szarena::csl_fuzz
