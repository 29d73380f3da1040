// SPDX-License-Identifier: Apache-2.0
// Messages by <message_passing> (WSE-3): every PE sends some, all at once, each to a PE of its own
// in every round or always to the same one; what a PE has got is weighed by the order of its
// messages where they all come from one sender.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "vector.h"

namespace szarena::csl_fuzz {
namespace {

constexpr int kMost = 32;  // elements of a message

std::vector<int> Permutation(Choices& c, int n) {
  std::vector<int> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (int i = n - 1; i > 0; --i)
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(c.Between(0, i))]);
  return order;
}

std::string Numbers(const std::vector<int>& values) {
  std::string text;
  for (const int v : values) text += fmt::format("{}{}", text.empty() ? "" : ", ", v);
  return fmt::format("[{}]u16{{ {} }}", values.size(), text);
}

}  // namespace

std::string MessagePart(Build& b, const std::string& p) {
  Choices& c = b.c;
  if (!b.wse3() || !b.take.Colors(14, 18)) return {};
  const int in = b.take.InputQueue(), out = b.take.OutputQueue(), send_id = b.take.LocalId(),
            recv_id = b.take.LocalId(), sent = b.take.LocalId(), got = b.take.LocalId();
  if (in < 0 || out < 0 || send_id < 0 || recv_id < 0 || sent < 0 || got < 0) return {};
  const int pes = b.width() * b.height(), rounds = c.Between(1, 4);
  const bool one_sender = c.Chance(50), unblocks = c.Chance(40);
  const Type type = c.Pick(std::vector<Type>{Int(16), Uint(16), Int(32), Uint(32), kF32});
  const auto word = [](int k, int r, int i) { return static_cast<Bits>(37 * k + 11 * r + i); };

  // Of every round and PE: to whom, how long.
  std::vector<int> to, lengths;
  std::vector<std::vector<Bits>> sums(static_cast<size_t>(pes), std::vector<Bits>(kMost, 0));
  std::vector<int> order = Permutation(c, pes);
  for (int r = 0; r < rounds; ++r) {
    if (!one_sender && r > 0) order = Permutation(c, pes);
    for (int k = 0; k < pes; ++k) {
      to.push_back(order[static_cast<size_t>(k)]);
      lengths.push_back(c.Between(1, c.Chance(30) ? kMost : 6));
      auto& sum = sums[static_cast<size_t>(to.back())];
      for (int i = 0; i < kMost; ++i) {
        Bits& s = sum[static_cast<size_t>(i)];
        s = (one_sender ? 2 * s : s) + (i < lengths.back() ? word(k, r, i) : 0);
      }
    }
  }

  std::string text = fmt::format(
      "const mp = @import_module(\"<message_passing>\", .{{ .input_queue_id = {}, "
      ".output_queue_id = {}, .send_task_id = {}, .recv_task_id = {}{} }});\n",
      in, out, send_id, recv_id, c.Chance(50) ? ", .enable_asserts = true" : "");
  text += fmt::format(
      "const {0}k: u16 = if (x == x) {1} * y + x else 0;\nconst {0}to = {2};\nconst {0}lengths = "
      "{3};\nvar {0}out = @zeros([{4}]{5});\nvar {0}in = @zeros([{4}]{5});\nexport var {0}sum = "
      "@zeros([{4}]{5});\nvar {0}sent: u16 = 0;\nvar {0}got: u16 = 0;\nconst {0}sent_id = "
      "@get_local_task_id({6});\nconst {0}got_id = @get_local_task_id({7});\n",
      p, b.width(), Numbers(to), Numbers(lengths), kMost, type.Name(), sent, got);
  const char* const rearm = "{{ @block({0}{1}_id);\n  @activate({0}{1}_id); }}\n";
  const std::string arm_sent = unblocks ? fmt::format(fmt::runtime(rearm), p, "sent") : "",
                    arm_got = unblocks ? fmt::format(fmt::runtime(rearm), p, "got") : "",
                    how = unblocks ? "unblock" : "activate";
  text += fmt::format(
      "fn {0}send() void {{\n  for (@range(u16, {1})) |i| {{ {0}out[i] = @as({2}, 37 * {0}k + 11 * "
      "{0}sent + i); }}\n  {3}  const at = {0}sent * {4} + {0}k;\n  mp.send_message({0}to[at] % "
      "{5}, {0}to[at] / {5}, &{0}out, {0}lengths[at], .{{ .{6} = {0}sent_id }});\n}}\n",
      p, kMost, type.Name(), arm_sent, pes, b.width(), how);
  text += fmt::format(
      "fn {0}receive() void {{\n  {1}  mp.recv_message(&{0}in, .{{ .{2} = "
      "{0}got_id }});\n}}\n",
      p, arm_got, how);
  text += fmt::format(
      "fn {0}end() void {{ if ({0}sent == {1} and {0}got == {1}) "
      "@activate(next_id); }}\n",
      p, rounds);
  text += fmt::format(
      "task {0}on_sent() void {{\n  {0}sent += 1;\n  if ({0}sent < {1}) {0}send() "
      "else {0}end();\n}}\n",
      p, rounds);
  text += fmt::format(
      "task {0}on_got() void {{\n  for (@range(u16, {1})) |i| {{\n    {0}sum[i] = {2}{0}sum[i] + "
      "{0}in[i];\n    {0}in[i] = @as({3}, 0);\n  }}\n  {0}got += 1;\n  if ({0}got < {4}) "
      "{0}receive() else {0}end();\n}}\n",
      p, kMost, one_sender ? fmt::format("@as({}, 2) * ", type.Name()) : "", type.Name(), rounds);
  text += fmt::format(
      "comptime {{\n  @bind_local_task({0}on_sent, {0}sent_id);\n  @bind_local_task({0}on_got, "
      "{0}got_id);\n}}\nfn start() void {{\n  mp.init();\n  {0}receive();\n  {0}send();\n}}\n",
      p);
  for (int k = 0; k < pes; ++k) {
    std::vector<Bits> values = sums[static_cast<size_t>(k)];
    for (Bits& v : values) v = Convert(Int(32), type, v);
    b.Expect(k % b.width(), k / b.width(), p + "sum", type, values);
  }
  return text;
}

}  // namespace szarena::csl_fuzz
